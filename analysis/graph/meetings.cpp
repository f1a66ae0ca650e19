#include "analysis/graph/meetings.h"

#include <algorithm>
#include <functional>

namespace ptx2cpu::analysis {

Meetings::Meetings(const Cfg& g)
    : g_(g),
      dominators_(Dominators(g)),
      post_dominators_(PostDominators(g)),
      position_(g.size(), kNoNode),
      frontier_(g.size()),
      label_(g.size(), kNoNode),
      met_(g.size()),
      queued_(g.size()) {
  for (uint32_t i = 0; i < g.order.size(); ++i) position_[g.order[i]] = i;
  FindFrontiers();
}

// Cooper, Harvey, Kennedy 2001, figure 5. A walk up the tree ends where an earlier one for the same node was.
void Meetings::FindFrontiers() {
  for (uint32_t node : g_.order) {
    for (uint32_t from : g_.predecessors[node]) {
      if (!g_.reached[from]) continue;
      for (uint32_t up = from; up != kNoNode && up != dominators_.parent[node]; up = dominators_.parent[up]) {
        if (!frontier_[up].empty() && frontier_[up].back() == node) break;
        frontier_[up].push_back(node);
      }
    }
  }
}

void Meetings::Enqueue(uint32_t node) {
  came_back_ = came_back_ || dominators_.Dominates(node, stop_);
  if (queued_[node]) return;
  queued_[node] = true;
  if (position_[node] <= at_) return later_.push_back(position_[node]);
  queue_.push_back(position_[node]);
  std::ranges::push_heap(queue_, std::greater{});
}

// The next node in reverse post order. Those that edges lead back to come after all others: a head of a loop
// with the labels of all its back edges, since labels that change on the way look like meetings.
uint32_t Meetings::Take() {
  if (queue_.empty()) {
    queue_.swap(later_);
    std::ranges::make_heap(queue_, std::greater{});
  }
  std::ranges::pop_heap(queue_, std::greater{});
  at_ = queue_.back();
  queue_.pop_back();
  queued_[g_.order[at_]] = false;
  return g_.order[at_];
}

void Meetings::Arrive(uint32_t to, uint32_t label) {
  uint32_t& known = label_[to];
  if (known == label) return;
  if (known == kNoNode) {
    touched_.push_back(to);
    known = label;
    return Enqueue(to);
  }
  if (!met_[to]) found_.push_back(to);
  met_[to] = true;
  if (known == to) return;  // a start that another one leads to, or a meeting point as it is
  known = to;
  Enqueue(to);
}

// Whether the node strictly dominates `stop` or a start: then what it dominates need not be reached from it
// alone.
bool Meetings::LeadsToOthers(uint32_t node, uint32_t stop) const {
  if (node != stop && dominators_.Dominates(node, stop)) return true;
  const auto inner = std::ranges::upper_bound(inner_, dominators_.enter[node]);
  return inner != inner_.end() && *inner < dominators_.leave[node];
}

// Labels spread from the starts in reverse post order. All that a node dominates has its label, so a label
// goes on at the node's dominance frontier.
std::vector<uint32_t> Meetings::Of(const std::vector<uint32_t>& starts, uint32_t stop) {
  found_.clear();
  inner_.clear();
  came_back_ = false;
  stop_ = stop;
  queue_.clear();
  later_.clear();
  at_ = 0;
  for (uint32_t start : starts) inner_.push_back(dominators_.enter[start]);
  std::ranges::sort(inner_);
  for (uint32_t start : starts) {
    if (label_[start] == start) continue;
    touched_.push_back(start);
    label_[start] = start;
    Enqueue(start);
  }
  while (!queue_.empty() || !later_.empty()) {
    const uint32_t node = Take();
    // All paths are here, and what follows is reached through here only.
    if (queue_.empty() && later_.empty() && !came_back_ && node != stop &&
        dominators_.Dominates(stop, node) && post_dominators_.Dominates(node, stop))
      break;
    if (node == g_.exit || node == stop) continue;
    const bool others = LeadsToOthers(node, stop);
    const uint32_t label = label_[node];
    for (uint32_t to : others ? g_.successors[node] : frontier_[node]) Arrive(to, label);
  }
  for (uint32_t node : touched_) {
    label_[node] = kNoNode;
    met_[node] = false;
  }
  touched_.clear();
  return found_;
}

}  // namespace ptx2cpu::analysis
