#include "analysis/lanes/lane_region.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis/graph/loops.h"
#include "analysis/graph/reached_blocks.h"
#include "analysis/lanes/lane_patterns.h"
#include "analysis/lanes/lane_shapes.h"
#include "analysis/lanes/values_from_memory.h"

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::ValueId;

namespace {

// A region with more edges out of its loops has no vectors: each level has a mask for each of its edges, and
// in a nest whose edges leave many loops the number of masks is the square of the depth.
size_t MaxExits(size_t blocks) { return 8 * blocks + 512; }

class Builder {
 public:
  Builder(const ir::Function& f, LaneRegion& region)
      : f_(f), r_(region), head_of_(f.blocks.size(), LaneRegion::kNone) {
    r_.level_of = r_.item_of = head_of_;
  }

  bool Run(BlockId entry) {
    r_.blocks = ReachedBlocks(f_).From(entry);
    r_.levels.emplace_back();
    if (!Order(BuildCfgOf(f_, r_.blocks))) return false;
    ConnectItems();
    FindSameLanes();
    FindUses();
    return true;
  }

 private:
  bool LaneLevel(BlockId block) const { return f_.at_block(block).level == ir::Level::kLane; }

  // -- order: a loop's blocks follow its head, and heads come in reverse post order --
  bool Order(const Cfg& g) {
    const LoopForest forest = Loops(g);
    size_t exits = 0;
    for (const Loop& loop : forest.loops) exits += loop.exit_count;
    if (exits > MaxExits(r_.blocks.size())) return false;
    // Level 1 + n is loop n.
    for (uint32_t n = 0; n < forest.loops.size(); ++n) {
      const Loop& loop = forest.loops[n];
      if (loop.irreducible) return false;
      r_.levels.emplace_back().parent = loop.parent == kNoNode ? 0 : 1 + loop.parent;
      head_of_.Set(r_.blocks[loop.header].index) = 1 + n;
    }
    for (uint32_t node : g.order) {
      if (node == g.exit) continue;
      const BlockId block = r_.blocks[node];
      const uint32_t loop = head_of_[block.index];
      const uint32_t level = forest.innermost[node] == kNoNode ? 0 : 1 + forest.innermost[node];
      if (loop != LaneRegion::kNone) r_.levels[loop].item = Place(r_.levels[loop].parent, block, loop);
      r_.level_of.Set(block.index) = level;
      r_.item_of.Set(block.index) = Place(level, block, LaneRegion::kNone);
    }
    NumberNest();
    return true;
  }

  uint32_t Place(uint32_t level, BlockId block, uint32_t loop) {
    std::vector<LaneRegion::Item>& items = r_.levels[level].items;
    items.push_back({.block = block, .loop = loop, .in = {}, .out = {}});
    return static_cast<uint32_t>(items.size() - 1);
  }

  // A loop's blocks follow its head in reverse post order, so that items name loops before what is inside.
  void NumberNest() {
    uint32_t next = 0;
    struct Walk {
      uint32_t level;
      size_t item;
    };
    std::vector<Walk> open{{0, 0}};
    r_.levels[0].begin = next++;
    while (!open.empty()) {
      Walk& at = open.back();
      const std::vector<LaneRegion::Item>& items = r_.levels[at.level].items;
      while (at.item < items.size() && items[at.item].loop == LaneRegion::kNone) ++at.item;
      if (at.item == items.size()) {
        r_.levels[at.level].end = next;
        open.pop_back();
        continue;
      }
      const uint32_t loop = items[at.item++].loop;
      r_.levels[loop].begin = next++;
      open.push_back({loop, 0});
    }
  }

  // -- edges --
  void ConnectItems() {
    for (BlockId from : r_.blocks) {
      uint32_t number = 0;
      for (const ir::Edge& edge : f_.successors(from)) {
        EdgeRef ref{from, number++};
        for (uint32_t at = r_.level_of[from.index]; at != 0; at = r_.levels[at].parent) {
          if (r_.Contains(at, edge.to)) break;  // the loops around it do, too
          r_.levels[at].exits.push_back(ref);
        }
        const uint32_t loop = head_of_[edge.to.index];
        if (loop == LaneRegion::kNone) {
          r_.levels[r_.level_of[edge.to.index]].items[r_.item_of[edge.to.index]].in.push_back(ref);
        } else if (r_.Contains(loop, from)) {
          r_.levels[loop].latches.push_back(ref);
        } else {
          r_.levels[r_.levels[loop].parent].items[r_.levels[loop].item].in.push_back(ref);
        }
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
      Owners owners;
      for (uint32_t i = 0; i < level.items.size(); ++i) {
        for (const EdgeRef edge : level.items[i].out) owners[KeyOf(edge)] = i;
      }
      std::vector<std::vector<EdgeRef>> came(level.items.size());
      for (uint32_t i = 1; i < level.items.size(); ++i) came[i] = FindSameLanes(level, i, owners, came);
    }
  }

  using Owners = std::unordered_map<uint64_t, uint32_t>;  // by edge, the item of a level that it leaves
  static uint64_t KeyOf(EdgeRef edge) { return uint64_t{edge.from.index} << 32 | edge.number; }

  // The edges over which the lanes of an item came.
  static std::vector<EdgeRef> FindSameLanes(LaneRegion::Level& level, uint32_t item, const Owners& owners,
                                            const std::vector<std::vector<EdgeRef>>& came) {
    std::vector<EdgeRef> others;
    std::map<uint32_t, std::vector<EdgeRef>, std::greater<>> leave;  // by item, the last one first
    uint32_t before = item;
    auto add = [&](EdgeRef edge) {
      const auto owner = owners.find(KeyOf(edge));
      (owner != owners.end() && owner->second < before ? leave[owner->second] : others).push_back(edge);
    };
    std::ranges::for_each(level.items[item].in, add);
    while (!leave.empty()) {
      const auto last = leave.extract(leave.begin());
      before = last.key();
      const LaneRegion::Item& earlier = level.items[before];
      if (earlier.ends || last.mapped().size() != earlier.out.size()) {
        others.insert(others.end(), last.mapped().begin(), last.mapped().end());
        continue;
      }
      if (leave.empty() && others.empty())
        level.items[item].same_as = earlier.same_as != LaneRegion::kNone ? earlier.same_as : before;
      std::ranges::for_each(came[before], add);
    }
    return others;
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
    const BlockId made = f_.at_value(value).block;
    if (!made.valid() || !LaneLevel(made) || r_.level_of[made.index] == LaneRegion::kNone) return;
    uint32_t& at = within_.try_emplace(value.index, r_.level_of[made.index]).first->second;
    for (; at != 0 && !r_.Contains(at, block); at = r_.levels[at].parent)
      r_.levels[at].live_out.push_back(value);
  }

  const ir::Function& f_;
  LaneRegion& r_;
  RegionTable<uint32_t> head_of_;                  // by block: the level of the loop that it heads
  std::unordered_map<uint32_t, uint32_t> within_;  // by value: the innermost level that holds all uses so far
};

}  // namespace

std::optional<LaneRegion> FindLaneRegion(const ir::Function& f, BlockId entry,
                                         const LaneRegionOptions& options) {
  LaneRegion region;
  if (!Builder(f, region).Run(entry)) return std::nullopt;
  FindLaneShapes(f, options, region);
  region.from_memory = ValuesFromMemory(f, region);
  if (options.width <= LaneRegionOptions::kMaxVector) FindLanePatterns(f, options, region);
  return region;
}

}  // namespace ptx2cpu::analysis
