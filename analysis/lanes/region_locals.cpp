#include "analysis/lanes/region_locals.h"

#include <algorithm>
#include <vector>

#include "analysis/graph/reached_blocks.h"
#include "analysis/lanes/repeated_lanes.h"

namespace ptx2cpu::analysis {
namespace {

using ir::BlockId;
using ir::Opcode;
using ir::Space;

bool IsPointer(const ir::Inst& inst) {
  return inst.attrs.space == Space::kLocal &&
         (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric);
}

bool AccessesLocals(const ir::Function& f, const ir::Block& block) {
  return std::ranges::any_of(block.insts, [&](ir::InstId id) {
    const ir::Inst& inst = f.at_inst(id);
    return inst.attrs.space == Space::kLocal && inst.op != Opcode::kSymbol;
  });
}

}  // namespace

bool LocalsAreOfOneRegion(const ir::Function& f) {
  if (f.resumes != ir::Resumes::kNever) return false;
  std::vector<BlockId> loops;
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (!f.blocks[b].removed && f.terminator({b}).op == Opcode::kForLanes) loops.push_back({b});
  }
  if (loops.size() == 1) return true;
  std::vector<bool> accesses(f.blocks.size());
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    accesses[b] = !f.blocks[b].removed && AccessesLocals(f, f.blocks[b]);
  const auto all = std::ranges::count(accesses, true);
  ReachedBlocks turn(f);
  size_t regions = 0;
  BlockId region;
  for (BlockId loop : loops) {
    const auto inside = std::ranges::count_if(turn.From(f.terminator(loop).edges[0].to),
                                              [&](BlockId block) { return accesses[block.index]; });
    if (inside == 0) continue;
    if (inside != all) return false;
    region = loop;
    ++regions;
  }
  // Real addresses may reach other regions, in slots.
  const bool has_pointers = std::ranges::any_of(
      f.insts, [](const ir::Inst& inst) { return inst.block.valid() && IsPointer(inst); });
  return regions == 1 && !has_pointers && !AreRepeated(f, f.terminator(region).edges[0].to);
}

}  // namespace ptx2cpu::analysis
