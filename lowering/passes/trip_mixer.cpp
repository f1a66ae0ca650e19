#include "lowering/passes/trip_mixer.h"

#include <algorithm>

#include "analysis/regions/mixed_trips.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

namespace {

constexpr int kDepthOfTrip = 8;  // operations on top of each other

}  // namespace

TripMixer::TripMixer(const ir::Function& f, const std::optional<analysis::LaunchShape>& launch) : f_(f) {
  const analysis::UniformityResult uniformity = analysis::AnalyzeUniformity(f, launch);
  mixed_ = analysis::FindMixedTrips(
      f, [this](ir::BlockId block) { return IsBoundary(block); },
      [&](ir::BlockId block) { return !uniformity.BranchUniformAt(block, ir::Level::kWarp); });
  any_ = std::ranges::find(mixed_, true) != mixed_.end();
}

bool TripMixer::MayMix(ir::InstId id) const {
  if (!any_ || id.index >= f_.insts.size()) return any_;
  const ir::Inst& inst = f_.at_inst(id);
  const std::optional<ir::BlockId> active = WhereNamed(inst.operands.back(), kDepthOfTrip);
  return !active || !StayTogether(*active, inst.block);
}

bool TripMixer::IsBoundary(ir::BlockId block) const {
  const Opcode op = f_.at_inst(f_.at_block(block).insts.front()).op;
  return ir::IsBarrier(op) || ir::IsCollective(op);
}

// The block of the active mask that contains all lanes of a membermask.
std::optional<ir::BlockId> TripMixer::WhereNamed(ir::ValueId mask, int depth) const {
  const ir::InstId id = f_.at_value(mask).def;
  if (!id.valid() || depth == 0) return {};
  const ir::Inst& def = f_.at_inst(id);
  if (def.op == Opcode::kActiveMask) return def.block;
  const bool votes = def.op == Opcode::kBallot || def.op == Opcode::kMatchAny || def.op == Opcode::kMatchAll;
  if (votes && ir::HasMembermask(def.op, def.attrs.flags)) return WhereNamed(def.operands.back(), depth - 1);
  if (def.op != Opcode::kAnd) return {};
  const std::optional<ir::BlockId> left = WhereNamed(def.operands[0], depth - 1);
  return left ? left : WhereNamed(def.operands[1], depth - 1);
}

// Lanes that were active together come to the collective together: between the two they mix no trips.
bool TripMixer::StayTogether(ir::BlockId active, ir::BlockId collective) const {
  std::vector<bool> seen(f_.blocks.size());
  std::vector<ir::BlockId> work{active};
  seen[active.index] = seen[collective.index] = true;
  while (!work.empty()) {
    const ir::BlockId block = work.back();
    work.pop_back();
    if (mixed_[block.index]) return false;
    // The blocks up to the next boundaries have no mark of their own.
    for (const ir::Edge& edge : f_.successors(block)) {
      if (!seen[edge.to.index]) work.push_back(edge.to);
      seen[edge.to.index] = true;
    }
  }
  return true;
}

}  // namespace ptx2cpu::lowering
