#include "analysis/regions/thread_graph.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Opcode;

std::vector<BlockId> EndsOfTurn(const ir::Function& f, BlockId loop) {
  const ir::Inst& begin = f.terminator(loop);
  const Opcode ends_turn = begin.op == Opcode::kForLanes ? Opcode::kEndLane : Opcode::kEndWarp;
  std::vector<BlockId> ends, found{begin.edges[0].to};
  std::vector<bool> seen(f.blocks.size());
  seen[found[0].index] = true;
  for (size_t n = 0; n < found.size(); ++n) {
    const ir::Inst& end = f.terminator(found[n]);
    if (end.op == ends_turn) ends.push_back(found[n]);
    // From a loop inside this one only the code that follows it is reached: the ends of its body are not ends
    // of this loop's body.
    for (size_t e = BeginsTurns(end.op) ? 1 : 0; e < end.edges.size(); ++e) {
      const BlockId to = end.edges[e].to;
      if (!seen[to.index]) found.push_back(to);
      seen[to.index] = true;
    }
  }
  return ends;
}

ThreadGraph::ThreadGraph(const ir::Function& f) : successors(f.blocks.size()), predecessors(f.blocks.size()) {
  const auto connect = [&](BlockId from, BlockId to) {
    successors[from.index].push_back(to);
    predecessors[to.index].push_back(from);
  };
  const std::vector<BlockId> order = ir::ReversePostOrder(f);
  const auto resume =
      std::ranges::find(order, Opcode::kResume, [&](BlockId block) { return f.terminator(block).op; });
  for (BlockId block : order) {
    const ir::Inst& end = f.terminator(block);
    if (end.op == Opcode::kResume) {
      connect(block, end.edges[0].to);
      continue;
    }
    if (end.op == Opcode::kSuspend) {
      connect(block, f.terminator(*resume).edges[end.attrs.index].to);
      continue;
    }
    if (!BeginsTurns(end.op)) {
      for (const ir::Edge& edge : end.edges) connect(block, edge.to);
      continue;
    }
    connect(block, end.edges[0].to);
    for (BlockId last : EndsOfTurn(f, block)) {
      for (size_t e = 1; e < end.edges.size(); ++e) connect(last, end.edges[e].to);
    }
  }
}

}  // namespace ptx2cpu::analysis
