#include "analysis/regions/regions.h"

#include <algorithm>

#include "analysis/graph/dominators.h"

namespace ptx2cpu::analysis {
namespace {

class RegionFinder {
 public:
  RegionFinder(const ir::Function& f, ir::Level level) : f_(f), order_(ir::ReversePostOrder(f)) {
    map_.level = level;
    map_.region_of.assign(f.blocks.size(), kNoRegion);
    map_.opened.resize(f.blocks.size());
  }

  RegionMap Find() {
    Open({}, f_.entry);
    for (ir::BlockId block : order_) {
      if (!Boundary(block)) continue;
      std::span<const ir::Edge> edges = f_.successors(block);
      map_.opened[block.index].first = static_cast<uint32_t>(map_.regions.size());
      for (uint32_t e = 0; e < edges.size(); ++e) Open({block, e}, edges[e].to);
      map_.opened[block.index].second = static_cast<uint32_t>(map_.regions.size());
    }
    Assign(Dominators(Graph()));
    return std::move(map_);
  }

 private:
  bool Boundary(ir::BlockId block) const { return f_.at_block(block).level >= map_.level; }

  void Open(BlockEdge entry, ir::BlockId head) {
    if (Boundary(head)) return;
    map_.regions.emplace_back();
    map_.regions.back().entry = entry;
    map_.regions.back().head = head;
  }

  // The nodes are the blocks, one more for each region entry, and a root before those; edges into boundaries
  // are left out. Then a block belongs to a region when the region's entry dominates it, and is shared if
  // only the root does.
  Cfg Graph() const {
    uint32_t blocks = static_cast<uint32_t>(f_.blocks.size());
    uint32_t regions = static_cast<uint32_t>(map_.regions.size());
    Cfg g;
    g.entry = g.exit = blocks + regions;
    g.successors.resize(g.entry + 1);
    g.order.push_back(g.entry);
    for (uint32_t r = 0; r < regions; ++r) {
      g.order.push_back(blocks + r);
      g.successors[g.entry].push_back(blocks + r);
      g.successors[blocks + r].push_back(map_.regions[r].head.index);
    }
    for (ir::BlockId block : order_) {
      if (Boundary(block)) continue;
      g.order.push_back(block.index);
      for (const ir::Edge& edge : f_.successors(block)) {
        if (!Boundary(edge.to)) g.successors[block.index].push_back(edge.to.index);
      }
    }
    return g;
  }

  void Assign(const DominatorTree& tree) {
    uint32_t blocks = static_cast<uint32_t>(f_.blocks.size());
    std::vector<std::pair<uint32_t, uint32_t>> work;  // node, region
    for (uint32_t child : tree.children[tree.root]) {
      if (child < blocks) {
        work.push_back({child, static_cast<uint32_t>(map_.regions.size() + map_.shared.size())});
        map_.shared.push_back({child});
      } else {
        work.push_back({child, child - blocks});
      }
    }
    while (!work.empty()) {
      auto [node, region] = work.back();
      work.pop_back();
      if (node < blocks) map_.region_of[node] = region;
      for (uint32_t child : tree.children[node]) work.push_back({child, region});
    }
    map_.led_to.resize(map_.shared.size());
    for (ir::BlockId block : order_) {
      uint32_t region = map_.region_of[block.index];
      if (region < map_.regions.size())
        Describe(map_.regions[region], block);
      else if (region != kNoRegion)
        map_.led_to[region - map_.regions.size()].push_back(block);
    }
  }

  void Describe(Region& region, ir::BlockId block) {
    region.blocks.push_back(block);
    const ir::Inst& terminator = f_.terminator(block);
    region.ends_threads |= terminator.op == ir::Opcode::kRet || terminator.op == ir::Opcode::kExit;
    for (uint32_t e = 0; e < terminator.edges.size(); ++e) {
      ir::BlockId to = terminator.edges[e].to;
      if (!Boundary(to)) continue;
      region.leaves.push_back({block, e});
      if (std::find(region.next.begin(), region.next.end(), to) == region.next.end())
        region.next.push_back(to);
    }
  }

  const ir::Function& f_;
  std::vector<ir::BlockId> order_;
  RegionMap map_;
};

}  // namespace

uint32_t RegionMap::RegionAt(BlockEdge entry) const {
  if (!entry.from.valid()) return !regions.empty() && regions[0].entry == entry ? 0 : kNoRegion;
  const auto [first, last] = opened[entry.from.index];
  const auto found = std::lower_bound(regions.begin() + first, regions.begin() + last, entry.edge,
                                      [](const Region& r, uint32_t edge) { return r.entry.edge < edge; });
  const bool is_there = found != regions.begin() + last && found->entry.edge == entry.edge;
  return is_there ? static_cast<uint32_t>(found - regions.begin()) : kNoRegion;
}

RegionMap FindRegions(const ir::Function& f, ir::Level level) { return RegionFinder(f, level).Find(); }

}  // namespace ptx2cpu::analysis
