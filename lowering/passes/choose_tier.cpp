// Chooses between regions that run to their end (tiers T0, T1; T4, whose blocks suspend between regions) and
// resumable warps (T2) or lanes (T3).
//
// T0 and T1 suffice if every decision whether a barrier or collective is reached is uniform, early
// exits and masked arms aside: the passes that build regions run on a copy, and what they could only
// leave to a check at run time counts. A loop that may wait for another thread needs blocks that suspend
// (defer_waits.cpp) or, like a collective whose members may be in the other arm of a branch, lanes.
#include <algorithm>
#include <utility>

#include "analysis/regions/spin_loops.h"
#include "analysis/values/uniformity.h"
#include "lowering/passes.h"
#include "lowering/passes/arm_members.h"
#include "lowering/passes/diagnose.h"
#include "lowering/passes/trip_mixer.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::Resumes;

class Decision {
 public:
  Decision(const ir::Module& module, const ir::Function& f, const PassOptions& options)
      : module_(module), f_(f), options_(options) {}

  TierChoice Run() {
    TryDeferringWaits();
    bool boundaries = waits_;
    for (ir::BlockId block : ir::ReversePostOrder(f_)) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (ir::IsBarrier(inst.op)) CheckBarrier(inst);
        boundaries |= ir::IsBarrier(inst.op) || ir::IsCollective(inst.op);
      }
    }
    if (boundaries && !Needs(Resumes::kLanes)) TryRegions();
    TierChoice choice;
    // Waits are deferred only where regions run to their end otherwise.
    for (TierReason& reason : reasons_) {
      if (waits_ && Needs(Resumes::kWarps)) reason.needs = Resumes::kLanes;
    }
    for (const TierReason& reason : reasons_) choice.resumes = std::max(choice.resumes, reason.needs);
    std::ranges::stable_sort(reasons_, [](const TierReason& a, const TierReason& b) {
      return std::pair(b.needs, a.at.ptx_line) < std::pair(a.needs, b.at.ptx_line);
    });
    choice.reasons = std::move(reasons_);
    return choice;
  }

 private:
  bool Needs(Resumes tier) const {
    return std::ranges::any_of(reasons_, [&](const TierReason& r) { return r.needs >= tier; });
  }
  void Add(Resumes needs, std::string what, ir::Position at) {
    reasons_.push_back({needs, std::move(what), at});
  }

  bool IsConstant(const ir::Function& f, ir::ValueId value) const {
    ir::InstId def = f.at_value(value).def;
    return def.valid() && f.at_inst(def).op == Opcode::kConst;
  }

  void CheckBarrier(const ir::Inst& inst) {
    const size_t id = inst.op == Opcode::kBarrierBlock || inst.op == Opcode::kBarrierArrive ? 0 : 1;
    const bool aligned = (inst.attrs.flags & ir::kAligned) != 0;
    all_aligned_ &= aligned;
    // A barrier that is not aligned may be reached by the lanes of a warp from different places.
    const Resumes least = aligned ? Resumes::kWarps : Resumes::kLanes;
    if (ir::IsClusterBarrier(inst.op)) {
      Add(least, "a barrier of the cluster", inst.at);
    } else if (inst.op == Opcode::kBarrierArrive) {
      Add(least, "an arrival that lets the warp pass a barrier others wait at", inst.at);
    } else if (inst.operands.size() > id + 1) {
      Add(least, "a barrier for part of the block (with a thread count)", inst.at);
    } else if (!IsConstant(f_, inst.operands[id])) {
      Add(least, "a barrier whose number is computed", inst.at);
    }
  }

  // Loops that may wait: the block suspends, if its threads can come to a barrier meanwhile.
  void TryDeferringWaits() {
    const auto loops = analysis::FindSpinLoops(f_);
    if (loops.empty()) return;
    ir::Module module;  // for messages only
    ir::Function copy = f_;
    waits_ = DeferWaits(module, copy, options_).has_value();
    for (const analysis::SpinLoop& loop : loops) {
      Add(waits_ ? Resumes::kBlocks : Resumes::kLanes, "a loop that may wait for another thread's store",
          loop.at);
    }
    if (waits_) deferred_ = std::move(copy);
  }

  // While a warp has yielded, the others of its block are held up where its region ends: right where they
  // would wait for it anyway.
  void CheckYields(const ir::Function& f) {
    const analysis::RegionMap map = analysis::FindRegions(f, ir::Level::kBlock);
    for (ir::BlockId block : ir::ReversePostOrder(f)) {
      const ir::Inst& first = f.at_inst(f.at_block(block).insts.front());
      if (first.op != Opcode::kYieldWarp) continue;
      const uint32_t region = map.region_of[block.index];
      const bool known = region < map.regions.size();
      if (known && std::ranges::all_of(map.regions[region].next,
                                       [&](ir::BlockId next) { return MeetsBeforeEffects(f, next); }))
        continue;
      Add(Resumes::kLanes,
          "a warp that may wait for others, before a place where warps do not wait for each other", first.at);
    }
  }

  // From the boundary on, nothing that another thread could observe happens before all threads of the block
  // meet.
  static bool MeetsBeforeEffects(const ir::Function& f, ir::BlockId boundary) {
    std::vector<bool> seen(f.blocks.size());
    std::vector<ir::BlockId> work{boundary};
    seen[boundary.index] = true;
    while (!work.empty()) {
      const ir::BlockId block = work.back();
      work.pop_back();
      bool meets = false;
      for (ir::InstId id : f.at_block(block).insts) {
        const ir::Inst& inst = f.at_inst(id);
        meets |= ir::IsBlockBarrier(inst.op);
        const ir::Effect effect = ir::Info(inst.op).effect;
        const bool silent = effect == ir::Effect::kPure || effect == ir::Effect::kReads ||
                            effect == ir::Effect::kTerminator ||
                            (effect == ir::Effect::kCollective && !ir::WritesMemory(inst.op));
        if (!meets && !silent && !ir::IsYield(inst.op)) return false;
      }
      if (meets) continue;
      for (const ir::Edge& edge : f.successors(block)) {
        if (!seen[edge.to.index]) work.push_back(edge.to);
        seen[edge.to.index] = true;
      }
    }
    return true;
  }

  // What building regions leaves to be checked at run time.
  void TryRegions() {
    ir::Module module;  // for messages only
    module.name = module_.name;
    ir::Function copy = deferred_ ? *deferred_ : f_;
    Status status = InsertExtraBarriers(module, copy, options_);
    if (status) status = MaskDivergentArms(module, copy, options_);
    if (!status) return Add(Resumes::kLanes, status.error().message, {status.error().at.line, 0, 0});
    const analysis::UniformityResult uniformity = analysis::AnalyzeUniformity(copy, options_.launch);
    const ArmMembers members(copy, options_.launch.value_or(analysis::PromisedShape(copy)));
    const TripMixer trips(f_, options_.launch);
    CheckYields(copy);
    for (ir::BlockId block : ir::ReversePostOrder(copy)) {
      for (ir::InstId id : copy.at_block(block).insts) {
        const ir::Inst& inst = copy.at_inst(id);
        CheckAgreement(copy, uniformity, inst);
        if (ir::HasMembermask(inst.op, inst.attrs.flags) &&
            !uniformity.UniformAt(inst.operands.back(), ir::Level::kWarp) && trips.MayMix(id)) {
          Add(Resumes::kLanes,
              "a warp collective that lanes may reach in different trips of a loop, with masks of their own",
              inst.at);
        }
      }
      const ir::Inst& end = copy.terminator(block);
      if (end.op != Opcode::kCondBr || (end.attrs.flags & ir::kDivergent) == 0) continue;
      if (const ir::Inst* collective = members.CollectiveOfOthers(block)) {
        Add(Resumes::kLanes,
            "a warp collective in one arm of a divergent branch whose members may be in the other",
            collective->at);
      }
    }
  }

  void CheckAgreement(const ir::Function& f, const analysis::UniformityResult& uniformity,
                      const ir::Inst& inst) {
    if (inst.op != Opcode::kAgree && inst.op != Opcode::kAgreeIndex) return;
    const ir::Level level = f.at_block(inst.block).level;
    if (uniformity.UniformAt(inst.operands[0], level)) return;
    if (level == ir::Level::kWarp) {
      Add(Resumes::kLanes, "a branch that lanes of a warp may take differently, around a warp collective",
          inst.at);
    } else {
      // Lanes may leave a loop at different trips and meet before the barrier: warps do not take such a
      // branch together.
      const bool together = uniformity.UniformAt(inst.operands[0], ir::Level::kWarp);
      Add(all_aligned_ && together ? Resumes::kWarps : Resumes::kLanes,
          "a branch that warps of a block may take differently, around a block barrier", inst.at);
    }
  }

  const ir::Module& module_;
  const ir::Function& f_;
  const PassOptions& options_;
  bool all_aligned_ = true, waits_ = false;
  std::optional<ir::Function> deferred_;  // with waits deferred
  std::vector<TierReason> reasons_;
};

}  // namespace

TierChoice DecideTier(const ir::Module& module, const ir::Function& f, const PassOptions& options) {
  if (f.resumes == Resumes::kLanes) {
    return {Resumes::kLanes,
            {{Resumes::kLanes,
              "recursion or a function pointer that leads to a barrier, a warp operation or an exit", f.at}}};
  }
  switch (options.tier) {
    case Tier::kFlat:
    case Tier::kWarp:
      return {};
    case Tier::kResumable:
      return {Resumes::kWarps, {}};
    case Tier::kLanes:
      return {Resumes::kLanes, {}};
    case Tier::kAuto:
      break;
  }
  return Decision(module, f, options).Run();
}

Status ChooseTier(ir::Module& module, ir::Function& f, const PassOptions& options) {
  const bool forced = options.tier != Tier::kAuto && options.tier != Tier::kLanes;
  if (forced && f.resumes == Resumes::kLanes) {
    return Unsupported(module, f.at,
                       "recursion or a function pointer that leads to a barrier, a warp operation or an exit",
                       "only the lanes tier (--exec=lanes, or auto) runs this kernel");
  }
  if (options.tier == Tier::kResumable) {
    const auto spins = analysis::FindSpinLoops(f);
    if (!spins.empty()) {
      return Unsupported(
          module, spins.front().at,
          "a loop that may wait for another thread's store, in a warp that suspends at barriers only",
          "the lanes tier (--exec=lanes, or auto) runs this kernel");
    }
  }
  f.resumes = DecideTier(module, f, options).resumes;
  return {};
}

}  // namespace ptx2cpu::lowering
