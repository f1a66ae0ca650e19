#include "analysis/lanes/block_order.h"

#include <algorithm>

namespace ptx2cpu::lowering {

using ir::BlockId;

namespace {

using Neighbours = std::vector<std::vector<uint32_t>>;

// Of what is reached from `root`, reverse post order.
std::vector<uint32_t> Order(const Neighbours& next, uint32_t root) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(next.size());
  std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
  seen[root] = true;
  while (!stack.empty()) {
    auto& [node, i] = stack.back();
    if (i == next[node].size()) {
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const uint32_t to = next[node][i++];
    if (seen[to]) continue;
    seen[to] = true;
    stack.push_back({to, 0});
  }
  std::ranges::reverse(order);
  return order;
}

}  // namespace

BlockOrder::BlockOrder(const ir::Function& f, BlockId entry) : number_(f.blocks.size(), kNone) {
  Neighbours all(f.blocks.size());
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    if (f.blocks[i].removed || f.blocks[i].insts.empty()) continue;
    for (const ir::Edge& edge : f.successors({i})) all[i].push_back(edge.to.index);
  }
  for (uint32_t block : Order(all, entry.index)) {
    number_[block] = static_cast<uint32_t>(blocks_.size());
    blocks_.push_back({block});
  }
  // One more node behind all ends.
  const auto count = static_cast<uint32_t>(blocks_.size()), end = count;
  Neighbours next(count + 1), previous(count + 1);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t to : all[blocks_[i].index]) next[i].push_back(number_[to]);
    if (next[i].empty()) next[i].push_back(end);
    for (uint32_t to : next[i]) previous[to].push_back(i);
  }
  before_ = FindTree(previous, Order(next, 0), 0);
  after_ = FindTree(next, Order(previous, end), end);
}

// Cooper, Harvey and Kennedy 2001. What `order` does not name has no place in the tree: a loop without an
// end.
BlockOrder::Tree BlockOrder::FindTree(const Neighbours& before, const std::vector<uint32_t>& order,
                                      uint32_t root) {
  Tree tree(before.size(), kNone);
  std::vector<uint32_t> place(before.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  tree[root] = root;
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (place[a] > place[b]) a = tree[a];
      while (place[b] > place[a]) b = tree[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node : order) {
      if (node == root) continue;
      uint32_t above = kNone;
      for (uint32_t one : before[node]) {
        if (tree[one] != kNone) above = above == kNone ? one : meet(one, above);
      }
      if (above == tree[node]) continue;
      tree[node] = above;
      changed = true;
    }
  }
  return tree;
}

bool BlockOrder::IsAbove(const Tree& tree, uint32_t above, uint32_t below) {
  while (below != above && tree[below] != kNone && tree[below] != below) below = tree[below];
  return below == above;
}

bool BlockOrder::Dominates(BlockId first, BlockId block) const {
  return IsAbove(before_, number_[first.index], number_[block.index]);
}

BlockId BlockOrder::EarliestEquivalent(BlockId block) const {
  const uint32_t here = number_[block.index];
  uint32_t found = here;
  for (uint32_t at = here; at != 0 && before_[at] != kNone;) {
    at = before_[at];
    if (IsAbove(after_, here, at)) found = at;
  }
  return blocks_[found];
}

}  // namespace ptx2cpu::lowering
