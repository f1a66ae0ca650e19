#include "analysis/regions/mixed_trips.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/graph/back_edges.h"
#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;

class Trips {
 public:
  Trips(const ir::Function& f, const std::function<bool(BlockId)>& is_boundary)
      : f_(f), is_boundary_(is_boundary), predecessors_(ir::Predecessors(f)), counts_(f.blocks.size()) {
    const Cfg g = BuildCfg(f);
    const LoopForest forest = Loops(g);
    cycle_.assign(g.size(), kNoNode);
    for (uint32_t node : g.order) {
      for (uint32_t l = forest.innermost[node]; l != kNoNode; l = forest.loops[l].parent) cycle_[node] = l;
    }
    back_edges_.resize(forest.loops.size());
    for (const BlockEdge& edge : FindBackEdges(f)) back_edges_[cycle_[edge.from.index]].push_back(edge);
    seen_.resize(f.blocks.size());
    FindSuspects(g.order, static_cast<uint32_t>(forest.loops.size()));
  }

  // Whether paths from `start` to a boundary take different numbers of back edges of the loops around it,
  // after a divergent branch.
  bool Mix(BlockId start, const std::function<bool(BlockId)>& differs) {
    if (is_boundary_(start)) return false;
    const bool leads = leads_[start.index];
    if (!leads && (cycle_[start.index] == kNoNode || !MixIn(cycle_[start.index], start))) return false;
    const Reached reached = From(start, std::nullopt);
    if (std::ranges::none_of(reached.region, differs)) return false;
    return !leads || std::ranges::any_of(reached.boundaries, [&](BlockId boundary) {
      const uint32_t cycle = cycle_[boundary.index];
      if (cycle == kNoNode || (cycle != cycle_[start.index] && !suspects_[cycle])) return false;
      return EntersTwice(start, reached.region, boundary) || Counts(start, reached.region, boundary);
    });
  }

 private:
  void Forget() { ++asked_; }
  bool See(BlockId block) { return std::exchange(seen_[block.index], asked_) != asked_; }

  struct Reached {
    std::vector<BlockId> region, boundaries;  // blocks up to the next boundaries, which follow
  };
  Reached From(BlockId start, std::optional<uint32_t> within) {
    Reached reached{{start}, {}};
    Forget();
    See(start);
    for (size_t i = 0; i < reached.region.size(); ++i) {
      for (const ir::Edge& edge : f_.successors(reached.region[i])) {
        if (within && cycle_[edge.to.index] != *within) continue;
        if (See(edge.to)) (is_boundary_(edge.to) ? reached.boundaries : reached.region).push_back(edge.to);
      }
    }
    return reached;
  }

  // The same for a boundary in the start's own cycle. A way that leaves it does not return.
  bool MixIn(uint32_t cycle, BlockId start) {
    const Reached reached = From(start, cycle);
    return std::ranges::any_of(reached.boundaries,
                               [&](BlockId boundary) { return Counts(start, reached.region, boundary); });
  }

  // Ways from outside may mix in a cycle only if they enter it at different blocks, or if ways from the one
  // block at which they do mix. So each cycle answers once for all starts before it.
  void FindSuspects(const std::vector<uint32_t>& order, uint32_t cycles) {
    std::vector<BlockId> entries(cycles);
    suspects_.resize(cycles);
    for (uint32_t node : order) {
      if (node >= f_.blocks.size() || is_boundary_({node})) continue;
      for (const ir::Edge& edge : f_.successors({node})) {
        const uint32_t cycle = cycle_[edge.to.index];
        if (cycle == kNoNode || cycle == cycle_[node]) continue;
        suspects_[cycle] = suspects_[cycle] || (entries[cycle].valid() && entries[cycle] != edge.to);
        entries[cycle] = edge.to;
      }
    }
    for (uint32_t cycle = 0; cycle < cycles; ++cycle) {
      const BlockId entry = entries[cycle];
      if (!suspects_[cycle] && entry.valid() && !is_boundary_(entry)) suspects_[cycle] = MixIn(cycle, entry);
    }
    leads_.resize(f_.blocks.size());
    std::vector<BlockId> work;
    for (uint32_t block = 0; block < f_.blocks.size(); ++block) {
      leads_[block] = cycle_[block] != kNoNode && suspects_[cycle_[block]];
      if (leads_[block]) work.push_back({block});
    }
    while (!work.empty()) {
      const BlockId block = work.back();
      work.pop_back();
      for (BlockId from : predecessors_[block.index]) {
        if (is_boundary_(from) || leads_[from.index]) continue;
        leads_[from.index] = true;
        work.push_back(from);
      }
    }
  }

  // Ways from outside into the boundary's cycle at different blocks.
  bool EntersTwice(BlockId start, const std::vector<BlockId>& region, BlockId boundary) const {
    const uint32_t cycle = cycle_[boundary.index];
    if (cycle == kNoNode) return false;
    const auto in_cycle = [&](BlockId b) { return cycle_[b.index] == cycle; };
    if (in_cycle(start)) return false;
    BlockId entered;
    for (BlockId block : region) {
      if (in_cycle(block)) continue;
      for (const ir::Edge& edge : f_.successors(block)) {
        if (!in_cycle(edge.to) || edge.to == entered) continue;
        if (entered.valid()) return true;
        entered = edge.to;
      }
    }
    return false;
  }

  bool Counts(BlockId start, const std::vector<BlockId>& region, BlockId boundary) {
    if (cycle_[boundary.index] == kNoNode) return false;
    std::vector<BlockEdge> around;
    for (const BlockEdge& edge : back_edges_[cycle_[boundary.index]]) {
      if (Around(edge, boundary)) around.push_back(edge);
    }
    if (around.empty()) return false;
    std::ranges::sort(around);
    // Bit 0: reached without crossing any; bit 1 + n: over edge n alone; the last bit: over several, or one
    // of many.
    counts_[boundary.index] = 0;
    for (BlockId block : region) counts_[block.index] = 0;
    counts_[start.index] = 1;
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockId block : region) {
        for (uint32_t e = 0; e < f_.successors(block).size(); ++e) {
          const BlockId to = f_.successors(block)[e].to;
          if (is_boundary_(to) && to != boundary) continue;
          const auto edge = std::ranges::lower_bound(around, BlockEdge{block, e});
          const bool crosses = edge != around.end() && *edge == BlockEdge{block, e};
          const uint32_t now = crosses
                                   ? Crossed(counts_[block.index], static_cast<size_t>(edge - around.begin()))
                                   : counts_[block.index];
          if ((counts_[to.index] | now) == counts_[to.index]) continue;
          counts_[to.index] |= now;
          changed = true;
        }
      }
    }
    const uint32_t arrived = counts_[boundary.index];
    return (arrived & (arrived - 1)) != 0;
  }

  static uint32_t Crossed(uint32_t counts, size_t edge) {
    constexpr size_t kLast = 31;
    uint32_t now = (counts & ~1u) != 0 ? 1u << kLast : 0;
    if ((counts & 1) != 0) now |= 1u << std::min(1 + edge, kLast);
    return now;
  }

  // Whether the block is part of the loop that the back edge closes.
  bool Around(const BlockEdge& edge, BlockId block) {
    const BlockId head = f_.successors(edge.from)[edge.edge].to;
    if (block == head || block == edge.from) return true;
    Forget();
    See(head);
    See(edge.from);
    std::vector<BlockId> work{edge.from};
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      if (at == head) continue;
      for (BlockId from : predecessors_[at.index]) {
        if (from == block) return true;
        if (See(from)) work.push_back(from);
      }
    }
    return false;
  }

  const ir::Function& f_;
  const std::function<bool(BlockId)>& is_boundary_;
  const std::vector<std::vector<BlockId>> predecessors_;
  std::vector<uint32_t> cycle_;                     // by block: the outermost loop, a strong component
  std::vector<std::vector<BlockEdge>> back_edges_;  // by outermost loop
  std::vector<bool> suspects_;                      // by outermost loop: ways from outside may mix in it
  std::vector<bool> leads_;                         // by block: to a suspect, without passing a boundary
  std::vector<uint32_t> counts_, seen_;             // of the current question
  uint32_t asked_ = 0;
};

}  // namespace

std::vector<bool> FindMixedTrips(const ir::Function& f, const std::function<bool(BlockId)>& is_boundary,
                                 const std::function<bool(BlockId)>& differs) {
  Trips trips(f, is_boundary);
  std::vector<bool> mixed(f.blocks.size());
  mixed[f.entry.index] = trips.Mix(f.entry, differs);
  for (BlockId block : ir::ReversePostOrder(f)) {
    if (!is_boundary(block)) continue;
    for (const ir::Edge& edge : f.successors(block)) {
      if (!mixed[block.index]) mixed[block.index] = trips.Mix(edge.to, differs);
    }
  }
  return mixed;
}

}  // namespace ptx2cpu::analysis
