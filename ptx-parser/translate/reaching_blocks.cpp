#include "ptx-parser/translate/reaching_blocks.h"

#include <algorithm>
#include <utility>

namespace ptx2cpu::ptx {

void JumpTree::Add(uint32_t parent) {
  const uint32_t jump = jump_[parent];
  const bool even = depth_[parent] - depth_[jump] == depth_[jump] - depth_[jump_[jump]];
  parent_.push_back(parent);
  jump_.push_back(even ? jump_[jump] : parent);
  depth_.push_back(depth_[parent] + 1);
}

uint32_t JumpTree::CommonAncestor(uint32_t a, uint32_t b) const {
  if (depth_[a] < depth_[b]) std::swap(a, b);
  a = Nearest(a, [&](uint32_t node) { return depth_[node] <= depth_[b]; });
  while (a != b) {
    const bool far = jump_[a] != jump_[b];
    a = far ? jump_[a] : parent_[a];
    b = far ? jump_[b] : parent_[b];
  }
  return a;
}

std::optional<ReachingBlocks> ReachingBlocks::Of(const ControlGraph& graph,
                                                 const std::vector<std::vector<uint32_t>>& writers) {
  ReachingBlocks reaching;
  reaching.Number(graph);
  reaching.FindDominators();
  if (!reaching.IsReducible()) return std::nullopt;
  reaching.FindLoops();
  for (const std::vector<uint32_t>& blocks : writers) {
    std::vector<uint32_t>& positions = reaching.writers_.emplace_back();
    for (const uint32_t block : blocks) {
      if (graph.blocks[block].reachable) positions.push_back(reaching.positions_[reaching.nodes_[block]]);
    }
    std::ranges::sort(positions);
    const auto repeated = std::ranges::unique(positions);
    positions.erase(repeated.begin(), repeated.end());
  }
  return reaching;
}

void ReachingBlocks::Number(const ControlGraph& graph) {
  std::vector<bool> seen(graph.blocks.size());
  std::vector<std::pair<uint32_t, size_t>> path{{0, 0}};
  seen[0] = true;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    const std::vector<uint32_t>& successors = graph.blocks[block].successors;
    if (next == successors.size()) {
      blocks_.push_back(block);
      path.pop_back();
    } else if (const uint32_t to = successors[next++]; !seen[to]) {
      seen[to] = true;
      path.push_back({to, 0});
    }
  }
  std::ranges::reverse(blocks_);
  nodes_.resize(graph.blocks.size());
  for (uint32_t node = 0; node < blocks_.size(); ++node) nodes_[blocks_[node]] = node;
  predecessors_.resize(blocks_.size());
  for (uint32_t node = 0; node < blocks_.size(); ++node) {
    for (const uint32_t to : graph.blocks[blocks_[node]].successors)
      predecessors_[nodes_[to]].push_back(node);
  }
}

// Dominators of the graph without its back edges, which do not matter in a reducible graph.
void ReachingBlocks::FindDominators() {
  for (uint32_t node = 1; node < blocks_.size(); ++node) {
    std::optional<uint32_t> dominator;
    for (const uint32_t from : predecessors_[node]) {
      if (from >= node) continue;
      dominator = dominator ? dominators_.CommonAncestor(*dominator, from) : from;
    }
    dominators_.Add(*dominator);
  }
}

// Whether each edge that leads back leads to a dominator.
bool ReachingBlocks::IsReducible() const {
  for (uint32_t node = 0; node < blocks_.size(); ++node) {
    for (const uint32_t from : predecessors_[node]) {
      if (from >= node && dominators_.CommonAncestor(from, node) != node) return false;
    }
  }
  return true;
}

// Tarjan, "Testing flow graph reducibility", 1974: inner loops first, each found loop is one node from then
// on.
void ReachingBlocks::FindLoops() {
  const uint32_t count = static_cast<uint32_t>(blocks_.size());
  std::vector<uint32_t> loop_of(count, 0);  // by head; 0: no head
  loops_.push_back({});
  for (uint32_t node = 0; node < count; ++node) {
    if (std::ranges::none_of(predecessors_[node], [&](uint32_t from) { return from >= node; })) continue;
    loop_of[node] = static_cast<uint32_t>(loops_.size());
    loops_.push_back({.head = node});
  }
  std::vector<uint32_t> parents(loops_.size(), 0), stands_for(count);
  for (uint32_t node = 0; node < count; ++node) stands_for[node] = node;
  const auto outermost = [&](uint32_t node) {
    uint32_t last = node;
    while (stands_for[last] != last) last = stands_for[last];
    while (node != last) node = std::exchange(stands_for[node], last);
    return last;
  };
  innermost_.assign(count, 0);
  for (uint32_t loop = static_cast<uint32_t>(loops_.size()); loop-- > 1;) {
    const uint32_t head = loops_[loop].head;
    innermost_[head] = loop;
    std::vector<uint32_t> work;
    const auto reach = [&](uint32_t from) {
      const uint32_t node = outermost(from);
      if (node == head) return;
      stands_for[node] = head;
      (loop_of[node] != 0 ? parents[loop_of[node]] : innermost_[node]) = loop;
      work.push_back(node);
    };
    for (const uint32_t from : predecessors_[head]) {
      if (from >= head) reach(from);
    }
    while (!work.empty()) {
      const uint32_t node = work.back();
      work.pop_back();
      for (const uint32_t from : predecessors_[node]) reach(from);
    }
  }
  Order(parents, loop_of);
}

// A block follows when all that lead to it have come, from the innermost loop that is begun and not complete:
// the first block of it that is left, in any order of its forward edges, is always among those.
void ReachingBlocks::Order(const std::vector<uint32_t>& parents, const std::vector<uint32_t>& loop_of) {
  std::vector<uint32_t> missing(blocks_.size(), 0);
  std::vector<std::vector<uint32_t>> successors(blocks_.size());
  for (uint32_t node = 0; node < blocks_.size(); ++node) {
    for (const uint32_t from : predecessors_[node]) {
      if (from >= node) continue;
      ++missing[node];
      successors[from].push_back(node);
    }
  }
  std::vector<std::vector<uint32_t>> ready(loops_.size());  // by loop: blocks and heads of loops within it
  const auto put = [&](uint32_t node) {
    ready[loop_of[node] != 0 ? parents[loop_of[node]] : innermost_[node]].push_back(node);
  };
  positions_.resize(blocks_.size());
  std::vector<uint32_t> begun{0};
  uint32_t position = 0;
  for (put(0); !begun.empty();) {
    const uint32_t loop = begun.back();
    if (ready[loop].empty()) {
      loops_[loop].end = position;
      begun.pop_back();
      continue;
    }
    const uint32_t node = ready[loop].back();
    ready[loop].pop_back();
    positions_[node] = position++;
    if (loop_of[node] != 0) begun.push_back(loop_of[node]);
    for (const uint32_t to : successors[node]) {
      if (--missing[to] == 0) put(to);
    }
  }
  for (uint32_t loop = 1; loop < loops_.size(); ++loop) nesting_.Add(parents[loop]);
}

ReachingBlocks::Source ReachingBlocks::Find(uint32_t reg, uint32_t block) const {
  const uint32_t node = nodes_[block];
  const std::vector<uint32_t>& writers = writers_[reg];
  const auto later = std::ranges::lower_bound(writers, positions_[node]);
  // The last writer before the block; everything between the two leaves the register alone.
  const std::optional<uint32_t> writer =
      later == writers.begin() ? std::nullopt : std::optional(*std::prev(later));
  uint32_t top = 0;  // the first dominator after the writer
  if (writer) {
    top = dominators_.Nearest(
        node, [&](uint32_t at) { return at == 0 || positions_[dominators_.Parent(at)] <= *writer; });
  }
  const uint32_t loop = nesting_.Nearest(innermost_[node], [&](uint32_t around) {
    const auto first = std::ranges::lower_bound(writers, positions_[loops_[around].head]);
    return around == 0 || (first != writers.end() && *first < loops_[around].end);
  });
  if (const uint32_t head = loops_[loop].head; loop != 0 && positions_[head] >= positions_[top])
    return {blocks_[head], false};
  if (top == 0) return {blocks_[0], false};
  const uint32_t dominator = dominators_.Parent(top);
  if (positions_[dominator] == *writer) return {blocks_[dominator], true};
  return {blocks_[top], false};
}

bool ReachingBlocks::Writes(uint32_t reg, uint32_t block) const {
  return std::ranges::binary_search(writers_[reg], positions_[nodes_[block]]);
}

}  // namespace ptx2cpu::ptx
