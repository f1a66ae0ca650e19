#include "analysis/graph/back_edges.h"

namespace ptx2cpu::analysis {

using ir::BlockId;

std::vector<BlockEdge> FindBackEdges(const ir::Function& f) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(f.blocks.size());
  std::vector<std::pair<BlockId, uint32_t>> stack{{f.entry, 0}};
  std::vector<BlockEdge> edges;
  state[f.entry.index] = State::kOpen;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next >= f.successors(block).size()) {
      state[block.index] = State::kDone;
      stack.pop_back();
      continue;
    }
    const uint32_t edge = next++;
    const BlockId to = f.successors(block)[edge].to;
    if (state[to.index] == State::kOpen) edges.push_back({block, edge});
    if (state[to.index] == State::kNew) {
      state[to.index] = State::kOpen;
      stack.push_back({to, 0});
    }
  }
  return edges;
}

}  // namespace ptx2cpu::analysis
