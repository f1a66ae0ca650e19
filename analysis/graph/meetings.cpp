#include "analysis/graph/meetings.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ptx2cpu::analysis {

Meetings::Meetings(const Cfg& g, const LoopForest& loops)
    : g_(g),
      loops_(loops),
      dominators_(Dominators(g)),
      position_(g.size(), kNoNode),
      frontier_(g.size()),
      leads_back_(g.size()),
      latches_(loops.loops.size()),
      irreducible_(loops.loops.size()),
      label_(g.size(), kNoNode),
      met_(g.size()),
      queued_(g.size()) {
  for (uint32_t i = 0; i < g.order.size(); ++i) position_[g.order[i]] = i;
  for (size_t l = 0; l < loops.loops.size(); ++l) {
    const uint32_t around = loops.loops[l].parent;
    irreducible_[l] = loops.loops[l].irreducible || (around != kNoNode && irreducible_[around]);
  }
  FindFrontiers();
  FindWaysBack();
}

// Cooper, Harvey, Kennedy 2001, figure 5. A walk up the tree ends where an earlier walk for the same node has
// been.
void Meetings::FindFrontiers() {
  for (uint32_t node : g_.order) {
    for (uint32_t from : g_.predecessors[node]) {
      if (!g_.reached[from] || dominators_.Dominates(node, from)) continue;
      for (uint32_t up = from; up != kNoNode && up != dominators_.parent[node]; up = dominators_.parent[up]) {
        if (!frontier_[up].empty() && frontier_[up].back() == node) break;
        frontier_[up].push_back(node);
      }
    }
  }
}

// A back edge counts for the nodes that dominate its source and do not dominate the head.
void Meetings::FindWaysBack() {
  std::vector<int64_t> ways(g_.size());
  for (uint32_t node : g_.order) {
    for (uint32_t to : g_.successors[node]) {
      if (!dominators_.Dominates(to, node)) continue;
      ++ways[node];
      --ways[to];
      latches_[loops_.innermost[to]].push_back(dominators_.enter[node]);
    }
  }
  for (auto& latches : latches_) std::ranges::sort(latches);
  for (size_t i = g_.order.size(); i-- > 0;) {
    const uint32_t node = g_.order[i], parent = dominators_.parent[node];
    leads_back_[node] = ways[node] > 0;
    if (parent != kNoNode) ways[parent] += ways[node];
  }
}

void Meetings::Enqueue(uint32_t node) {
  if (queued_[node]) return;
  queued_[node] = true;
  if (position_[node] <= at_) {
    went_back_ = true;
    return later_.push_back(position_[node]);
  }
  queue_.push_back(position_[node]);
  std::ranges::push_heap(queue_, std::greater{});
}

// Returns the next node in reverse post order. Targets of back edges come after all others: the head of an
// irreducible loop needs the labels of all its back edges, since a label that changes later would look like a
// meeting.
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
  const bool ends = dominators_.Dominates(to, stop_);
  if (known == kNoNode) {
    touched_.push_back(to);
    known = label;
    return ends ? ends_.push_back(to) : Enqueue(to);
  }
  if (!met_[to]) found_.push_back(to);
  met_[to] = true;
  if (known == to || ends) return;  // a start that another one leads to, or a meeting point as it is
  known = to;
  Enqueue(to);
}

// True where every later node is reached through this one: no other path is in progress, and all nodes
// reached so far come earlier in reverse post order. Only back edges lead to those: outside irreducible
// loops, to loop heads, and each head that is not an end has one label.
bool Meetings::HasAllPaths(uint32_t node) {
  if (!queue_.empty() || !later_.empty() || went_back_) return false;
  const uint32_t in = loops_.innermost[node];
  if (in != kNoNode && irreducible_[in]) return false;
  if (back_label_ != label_[node]) ArriveBack();
  return std::ranges::none_of(ends_, [&](uint32_t end) {
    if (met_[end] || label_[end] == label_[node] || loops_.innermost[end] == kNoNode) return false;
    return loops_.Contains(loops_.innermost[end], node);
  });
}

// True where the node strictly dominates a start: then the nodes that it dominates may be reached from
// elsewhere too.
bool Meetings::LeadsToStart(uint32_t node) const {
  const auto inner = std::ranges::upper_bound(inner_, dominators_.enter[node]);
  return inner != inner_.end() && *inner < dominators_.leave[node];
}

// All nodes that a node dominates have its label, so a label continues at the node's dominance frontier.
void Meetings::GoOn(uint32_t node) {
  const uint32_t label = label_[node];
  if (LeadsToStart(node)) {
    for (uint32_t to : g_.successors[node]) Arrive(to, label);
    return;
  }
  for (uint32_t to : frontier_[node]) Arrive(to, label);
  if (!leads_back_[node]) return;
  if (!lead_back_.empty() && back_label_ != label) ArriveBack();
  back_label_ = label;
  lead_back_.push_back(node);
}

// True where a node that this one dominates leads back to the head of `loop`, which is around it.
bool Meetings::LeadsBackTo(uint32_t loop, uint32_t node) const {
  const auto latch = std::ranges::lower_bound(latches_[loop], dominators_.enter[node]);
  return latch != latches_[loop].end() && *latch <= dominators_.leave[node];
}

// A nest has as many heads as it is deep. While only one label leads back, it suffices to examine the heads
// that another label has reached.
void Meetings::ArriveBack() {
  for (uint32_t node : std::exchange(lead_back_, {})) {
    for (uint32_t l = loops_.innermost[node]; l != kNoNode; l = loops_.loops[l].parent) {
      const uint32_t header = loops_.loops[l].header;
      if (LeadsBackTo(l, node) && dominators_.Dominates(header, stop_)) Arrive(header, back_label_);
    }
  }
}

void Meetings::ArriveBackAtEnds() {
  for (uint32_t node : lead_back_) {
    const uint32_t in = loops_.innermost[node];
    if (in == kNoNode) continue;
    if (loops_.loops[in].depth < ends_.size()) return ArriveBack();
    for (uint32_t end : ends_) {
      const uint32_t l = loops_.innermost[end];
      if (l != kNoNode && loops_.loops[l].header == end && loops_.Contains(l, node) && LeadsBackTo(l, node))
        Arrive(end, back_label_);
    }
  }
}

void Meetings::Begin(const std::vector<uint32_t>& starts, uint32_t stop) {
  stop_ = stop;
  at_ = 0;
  went_back_ = false;
  found_.clear();
  inner_.clear();
  for (uint32_t start : starts) inner_.push_back(dominators_.enter[start]);
  std::ranges::sort(inner_);
  for (uint32_t start : starts) Arrive(start, start);
}

// Labels spread from the starts in reverse post order.
std::vector<uint32_t> Meetings::Of(const std::vector<uint32_t>& starts, uint32_t stop) {
  if (starts.size() < 2) return {};
  Begin(starts, stop);
  while (!queue_.empty() || !later_.empty()) {
    const uint32_t node = Take();
    if (HasAllPaths(node)) break;
    if (node != g_.exit) GoOn(node);
  }
  ArriveBackAtEnds();
  return Finish();
}

std::vector<uint32_t> Meetings::Finish() {
  for (uint32_t node : touched_) {
    label_[node] = kNoNode;
    met_[node] = false;
  }
  touched_.clear();
  ends_.clear();
  lead_back_.clear();
  return std::exchange(found_, {});
}

}  // namespace ptx2cpu::analysis
