#include "lowering/passes/waiting_places.h"

#include <algorithm>

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Level;
using ir::Opcode;

namespace {
const ir::Inst& First(const ir::Function& f, BlockId block) {
  return f.at_inst(f.at_block(block).insts.front());
}
}  // namespace

bool IsBoundary(const ir::Function& f, BlockId block) {
  return ir::IsBarrier(First(f, block).op) || ir::IsCollective(First(f, block).op);
}

BlockId TargetOf(const ir::Function& f, const analysis::SpinLoop& loop) {
  return f.successors(loop.back.from)[loop.back.edge].to;
}

std::vector<BlockId> ReachedFrom(const ir::Function& f, const std::vector<BlockId>& starts,
                                 const std::function<bool(BlockId)>& end) {
  std::vector<bool> seen(f.blocks.size());
  std::vector<BlockId> blocks;
  const auto reach = [&](BlockId block) {
    if (!seen[block.index]) blocks.push_back(block);
    seen[block.index] = true;
  };
  std::ranges::for_each(starts, reach);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (end(blocks[i])) continue;
    for (const ir::Edge& edge : f.successors(blocks[i])) reach(edge.to);
  }
  return blocks;
}

std::optional<Waiting> WaitingPlaces::Of(const analysis::SpinLoop& loop) const {
  Waiting waiting{.loop = loop, .target = TargetOf(f_, loop)};
  if (const std::optional<Level> level = LevelOfBoundaries(loop.back.from, waiting.target)) {
    waiting.level = *level;
    return waiting;
  }
  const std::vector<BlockId> next = BoundariesAfter(waiting.target);
  if (next.empty()) return waiting;
  if (next.size() > 1) return {};
  const std::optional<Level> level = LevelOfMeeting(next[0]);
  if (!level || !f_.at_block(next[0]).params.empty()) return {};
  waiting.level = *level;
  waiting.barrier = next[0];
  return waiting;
}

// The highest level of the boundaries in a loop.
std::optional<Level> WaitingPlaces::LevelOfBoundaries(BlockId latch, BlockId head) const {
  std::vector<bool> inside(f_.blocks.size());
  std::vector<BlockId> blocks;
  auto reach = [&](BlockId block) {
    if (!inside[block.index]) blocks.push_back(block);
    inside[block.index] = true;
  };
  reach(head);
  reach(latch);
  for (size_t i = 1; i < blocks.size(); ++i) std::ranges::for_each(predecessors_[blocks[i].index], reach);
  std::optional<Level> level;
  for (BlockId block : blocks) {
    if (!IsBoundary(f_, block)) continue;
    const Level own = ir::IsBarrier(First(f_, block).op) ? Level::kBlock : Level::kWarp;
    level = level ? std::max(*level, own) : own;
  }
  return level;
}

std::vector<BlockId> WaitingPlaces::BoundariesAfter(BlockId from) const {
  std::vector<BlockId> blocks = ReachedFrom(f_, {from}, [&](BlockId block) { return IsBoundary(f_, block); });
  std::erase_if(blocks, [&](BlockId block) { return !IsBoundary(f_, block); });
  return blocks;
}

// The level whose threads all meet at the boundary, if they do.
std::optional<Level> WaitingPlaces::LevelOfMeeting(BlockId boundary) const {
  const ir::Inst& inst = First(f_, boundary);
  if (ir::IsBlockBarrier(inst.op)) {
    const bool reduces = !inst.results.empty();
    const bool all = inst.op != Opcode::kBarrierArrive && inst.operands.size() == (reduces ? 2 : 1);
    return all ? std::optional(Level::kBlock) : std::nullopt;
  }
  if (!ir::HasMembermask(inst.op, inst.attrs.flags)) return {};
  const ir::InstId mask = f_.at_value(inst.operands.back()).def;
  const bool all = mask.valid() && f_.at_inst(mask).op == Opcode::kConst &&
                   (f_.at_inst(mask).attrs.bits & 0xffffffff) == 0xffffffff;
  return all ? std::optional(Level::kWarp) : std::nullopt;
}

}  // namespace ptx2cpu::lowering
