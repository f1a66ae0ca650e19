#include "analysis/regions/mixed_trips.h"

#include <algorithm>

#include "analysis/graph/back_edges.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;

class Trips {
 public:
  Trips(const ir::Function& f, const std::function<bool(BlockId)>& is_boundary)
      : f_(f), is_boundary_(is_boundary), predecessors_(ir::Predecessors(f)), back_edges_(FindBackEdges(f)) {}

  // Do ways from `start` to a boundary cross different numbers of back edges around it, past a branch that
  // differs?
  bool Mix(BlockId start, const std::function<bool(BlockId)>& differs) const {
    if (is_boundary_(start)) return false;
    std::vector<BlockId> region{start}, next;
    std::vector<bool> seen(f_.blocks.size());
    seen[start.index] = true;
    for (size_t i = 0; i < region.size(); ++i) {
      for (const ir::Edge& edge : f_.successors(region[i])) {
        if (seen[edge.to.index]) continue;
        seen[edge.to.index] = true;
        (is_boundary_(edge.to) ? next : region).push_back(edge.to);
      }
    }
    if (std::ranges::none_of(region, differs)) return false;
    return std::ranges::any_of(next, [&](BlockId boundary) {
      return EntersTwice(start, region, boundary) || Counts(start, region, boundary);
    });
  }

 private:
  // Ways from outside into the boundary's cycle at different blocks.
  bool EntersTwice(BlockId start, const std::vector<BlockId>& region, BlockId boundary) const {
    const std::vector<bool> behind = Reached(boundary, [&](BlockId b) {
      std::vector<BlockId> next;
      for (const ir::Edge& edge : f_.successors(b)) next.push_back(edge.to);
      return next;
    });
    const std::vector<bool> before = Reached(boundary, [&](BlockId b) { return predecessors_[b.index]; });
    const auto in_cycle = [&](BlockId b) { return behind[b.index] && before[b.index]; };
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

  // Blocks on a way of at least one step.
  std::vector<bool> Reached(BlockId from, const std::function<std::vector<BlockId>(BlockId)>& steps) const {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> work{from};
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      for (BlockId to : steps(at)) {
        if (seen[to.index]) continue;
        seen[to.index] = true;
        work.push_back(to);
      }
    }
    return seen;
  }

  bool Counts(BlockId start, const std::vector<BlockId>& region, BlockId boundary) const {
    std::vector<BlockEdge> around;
    for (const BlockEdge& edge : back_edges_) {
      if (Around(edge, boundary)) around.push_back(edge);
    }
    if (around.empty()) return false;
    // Bit 0: reached without crossing any; bit 1 + n: over edge n alone; the last bit: over several, or one
    // of many.
    std::vector<uint32_t> counts(f_.blocks.size());
    counts[start.index] = 1;
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockId block : region) {
        for (uint32_t e = 0; e < f_.successors(block).size(); ++e) {
          const auto number =
              static_cast<size_t>(std::ranges::find(around, BlockEdge{block, e}) - around.begin());
          const uint32_t now =
              number < around.size() ? Crossed(counts[block.index], number) : counts[block.index];
          const BlockId to = f_.successors(block)[e].to;
          if ((is_boundary_(to) && to != boundary) || (counts[to.index] | now) == counts[to.index]) continue;
          counts[to.index] |= now;
          changed = true;
        }
      }
    }
    const uint32_t arrived = counts[boundary.index];
    return (arrived & (arrived - 1)) != 0;
  }

  static uint32_t Crossed(uint32_t counts, size_t edge) {
    constexpr size_t kLast = 31;
    uint32_t now = (counts & ~1u) != 0 ? 1u << kLast : 0;
    if ((counts & 1) != 0) now |= 1u << std::min(1 + edge, kLast);
    return now;
  }

  // Is the block part of the loop that the back edge closes?
  bool Around(const BlockEdge& edge, BlockId block) const {
    const BlockId head = f_.successors(edge.from)[edge.edge].to;
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> work{edge.from};
    seen[edge.from.index] = seen[head.index] = true;
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      if (at == head) continue;
      for (BlockId from : predecessors_[at.index]) {
        if (seen[from.index]) continue;
        seen[from.index] = true;
        work.push_back(from);
      }
    }
    return seen[block.index];
  }

  const ir::Function& f_;
  const std::function<bool(BlockId)>& is_boundary_;
  const std::vector<std::vector<BlockId>> predecessors_;
  const std::vector<BlockEdge> back_edges_;
};

}  // namespace

bool LanesMixTrips(const ir::Function& f, const std::function<bool(BlockId)>& is_boundary,
                   const std::function<bool(BlockId)>& differs) {
  const Trips trips(f, is_boundary);
  if (trips.Mix(f.entry, differs)) return true;
  for (BlockId block : ir::ReversePostOrder(f)) {
    if (!is_boundary(block)) continue;
    for (const ir::Edge& edge : f.successors(block)) {
      if (trips.Mix(edge.to, differs)) return true;
    }
  }
  return false;
}

}  // namespace ptx2cpu::analysis
