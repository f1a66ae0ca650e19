#include "analysis/lanes/repeated_lanes.h"

#include <algorithm>

#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

bool AreRepeated(const ir::Function& f, ir::BlockId entry) {
  const Cfg g = BuildCfg(f);
  const LoopForest forest = Loops(g);
  while (true) {
    const auto& before = g.predecessors[entry.index];
    const auto loop = std::ranges::find_if(before, [&](uint32_t from) {
      const ir::Inst& end = f.terminator({from});
      return (end.op == ir::Opcode::kForLanes || end.op == ir::Opcode::kForWarps) && end.edges[0].to == entry;
    });
    if (loop == before.end()) return false;
    entry = {*loop};
    if (forest.innermost[entry.index] != kNoNode) return true;
  }
}

}  // namespace ptx2cpu::analysis
