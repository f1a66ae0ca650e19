#include "analysis/lanes/lane_region.h"

#include <algorithm>

#include "analysis/graph/loops.h"
#include "analysis/lanes/lane_shapes.h"

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::ValueId;

bool LaneRegion::Contains(uint32_t level, BlockId block) const {
  for (uint32_t at = level_of[block.index]; at != kNone; at = levels[at].parent) {
    if (at == level) return true;
  }
  return false;
}

namespace {

class Builder {
 public:
  Builder(const ir::Function& f, LaneRegion& region) : f_(f), r_(region) {
    r_.level_of.resize(f.blocks.size(), LaneRegion::kNone);
    head_of_.resize(f.blocks.size(), LaneRegion::kNone);
  }

  bool Run(BlockId entry) {
    r_.blocks = Reachable(entry);
    r_.levels.emplace_back();
    if (!Order(BuildCfgFrom(f_, entry))) return false;
    ConnectItems();
    FindSameLanes();
    FindUses();
    return true;
  }

 private:
  bool LaneLevel(BlockId block) const { return f_.at_block(block).level == ir::Level::kLane; }

  std::vector<BlockId> Reachable(BlockId entry) const {
    std::vector<BlockId> found{entry};
    std::vector<bool> seen(f_.blocks.size());
    seen[entry.index] = true;
    for (size_t i = 0; i < found.size(); ++i) {
      for (const ir::Edge& edge : f_.successors(found[i])) {
        if (seen[edge.to.index]) continue;
        seen[edge.to.index] = true;
        found.push_back(edge.to);
      }
    }
    return found;
  }

  // -- order: a loop's blocks follow its head, and heads come in reverse post order --
  bool Order(const Cfg& g) {
    const LoopForest forest = Loops(g);
    // Level 1 + n is loop n.
    for (uint32_t n = 0; n < forest.loops.size(); ++n) {
      const Loop& loop = forest.loops[n];
      if (loop.irreducible) return false;
      r_.levels.emplace_back().parent = loop.parent == kNoNode ? 0 : 1 + loop.parent;
      head_of_[loop.header] = 1 + n;
    }
    for (uint32_t node : g.order) {
      if (node == g.exit) continue;
      const uint32_t loop = head_of_[node];
      r_.level_of[node] = forest.innermost[node] == kNoNode ? 0 : 1 + forest.innermost[node];
      if (loop != LaneRegion::kNone) {
        r_.levels[r_.levels[loop].parent].items.push_back(
            {.block = {node}, .loop = loop, .in = {}, .out = {}});
      }
      r_.levels[r_.level_of[node]].items.push_back(
          {.block = {node}, .loop = LaneRegion::kNone, .in = {}, .out = {}});
    }
    return true;
  }

  // -- edges --
  LaneRegion::Item& ItemOf(uint32_t level, BlockId block) {
    for (LaneRegion::Item& item : r_.levels[level].items) {
      if (item.block == block) return item;
    }
    CHECK(false, "a block is not among its level's");
    return r_.levels[level].items[0];
  }

  void ConnectItems() {
    for (BlockId from : r_.blocks) {
      uint32_t number = 0;
      for (const ir::Edge& edge : f_.successors(from)) {
        EdgeRef ref{from, number++};
        for (uint32_t at = r_.level_of[from.index]; at != 0; at = r_.levels[at].parent) {
          if (r_.Contains(at, edge.to)) break;  // the loops around it do, too
          r_.levels[at].exits.push_back(ref);
        }
        uint32_t to_level = r_.level_of[edge.to.index], loop = head_of_[edge.to.index];
        if (loop != LaneRegion::kNone) {
          if (r_.Contains(loop, from)) {
            r_.levels[loop].latches.push_back(ref);
            continue;
          }
          to_level = r_.levels[loop].parent;
        }
        ItemOf(to_level, edge.to).in.push_back(ref);
      }
    }
    for (size_t n = r_.levels.size(); n-- > 0;) {
      for (LaneRegion::Item& item : r_.levels[n].items) {
        if (item.loop != LaneRegion::kNone) {
          item.out = r_.levels[item.loop].exits;
          item.ends = std::ranges::any_of(r_.levels[item.loop].items, &LaneRegion::Item::ends);
          continue;
        }
        auto count = static_cast<uint32_t>(f_.successors(item.block).size());
        for (uint32_t k = 0; k < count; ++k) item.out.push_back({item.block, k});
        item.ends = count == 0;
      }
    }
  }

  // The lanes that reach an item came over its edges; where those are all the edges out of an earlier item,
  // they are that item's lanes, which came over its edges, and so on.
  void FindSameLanes() {
    for (LaneRegion::Level& level : r_.levels) {
      std::vector<std::vector<EdgeRef>> came(level.items.size());
      for (size_t i = 1; i < level.items.size(); ++i) {
        std::vector<EdgeRef> edges = level.items[i].in;
        for (size_t j = i; j-- > 0;) {
          const LaneRegion::Item& earlier = level.items[j];
          auto present = [&](EdgeRef edge) { return std::ranges::find(edges, edge) != edges.end(); };
          if (earlier.ends || earlier.out.empty() || !std::ranges::all_of(earlier.out, present)) continue;
          std::erase_if(
              edges, [&](EdgeRef edge) { return std::ranges::find(earlier.out, edge) != earlier.out.end(); });
          if (edges.empty())
            level.items[i].same_as =
                earlier.same_as != LaneRegion::kNone ? earlier.same_as : static_cast<uint32_t>(j);
          edges.insert(edges.end(), came[j].begin(), came[j].end());
          if (j == 0) break;
        }
        came[i] = std::move(edges);
      }
    }
  }

  // -- uses --
  void FindUses() {
    r_.used_elsewhere.resize(f_.values.size());
    for (BlockId block : r_.blocks) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        for (ValueId operand : inst.operands) {
          if (f_.at_value(operand).block != block) Use(operand, block);
        }
        for (const ir::Edge& edge : inst.edges) {
          for (ValueId arg : edge.args) {
            Use(arg, block);
            Use(arg, edge.to);
          }
        }
      }
    }
  }

  void Use(ValueId value, BlockId block) {
    r_.used_elsewhere[value.index] = true;
    BlockId made = f_.at_value(value).block;
    if (!made.valid() || !LaneLevel(made) || r_.level_of[made.index] == LaneRegion::kNone) return;
    for (uint32_t at = r_.level_of[made.index]; at != 0; at = r_.levels[at].parent) {
      std::vector<ValueId>& live_out = r_.levels[at].live_out;
      if (!r_.Contains(at, block) && std::ranges::find(live_out, value) == live_out.end())
        live_out.push_back(value);
    }
  }

  const ir::Function& f_;
  LaneRegion& r_;
  std::vector<uint32_t> head_of_;  // by block: the level of the loop that it heads
};

}  // namespace

std::optional<LaneRegion> FindLaneRegion(const ir::Function& f, BlockId entry,
                                         const LaneRegionOptions& options) {
  LaneRegion region;
  if (!Builder(f, region).Run(entry)) return std::nullopt;
  FindLaneShapes(f, options, region);
  return region;
}

}  // namespace ptx2cpu::analysis
