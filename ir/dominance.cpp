#include "ir/dominance.h"

#include <algorithm>

namespace ptx2cpu::ir {

Dominance::Dominance(const Function& f) : order_(ReversePostOrder(f)), number_(f.blocks.size(), kUnreached) {
  size_t count = order_.size();
  for (uint32_t i = 0; i < count; ++i) number_[order_[i].index] = i;
  std::vector<std::vector<uint32_t>> predecessors(count);
  for (uint32_t i = 0; i < count; ++i) {
    for (const Edge& edge : f.successors(order_[i])) predecessors[number_[edge.to.index]].push_back(i);
  }
  idom_.assign(count, kUnreached);
  if (count != 0) idom_[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < count; ++i) {
      uint32_t found = kUnreached;
      for (uint32_t p : predecessors[i]) {
        if (idom_[p] == kUnreached) continue;
        if (found == kUnreached) {
          found = p;
          continue;
        }
        for (uint32_t q = p; q != found;) (q > found ? q : found) = idom_[std::max(q, found)];
      }
      changed |= found != idom_[i];
      idom_[i] = found;
    }
  }
  // Intervals make the question cheap: sizes of subtrees bottom-up, then places in preorder top-down.
  std::vector<uint32_t> size(count, 1), next(count, 1);
  for (size_t i = count; i-- > 1;) size[idom_[i]] += size[i];
  first_.assign(count, 0);
  last_.assign(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    if (i != 0) {
      first_[i] = first_[idom_[i]] + next[idom_[i]];
      next[idom_[i]] += size[i];
    }
    last_[i] = first_[i] + size[i] - 1;
  }
}

bool Dominance::Dominates(BlockId above, BlockId below) const {
  uint32_t a = number_[above.index], b = number_[below.index];
  return first_[a] <= first_[b] && last_[b] <= last_[a];
}

}  // namespace ptx2cpu::ir
