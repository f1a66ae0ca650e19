#include "analysis/lanes/lane_region.h"

#include <algorithm>

#include "analysis/lanes/lane_shapes.h"

namespace ptx2cpu::lowering {

bool IsStrong(const ir::Inst& access, bool private_shared) {
  using ir::MemoryOrder;
  const MemoryOrder order = access.attrs.order;
  if (order == MemoryOrder::kWeak && (access.attrs.flags & ir::kVolatile) == 0) return false;
  const bool ordered =
      order != MemoryOrder::kWeak && order != MemoryOrder::kVolatile && order != MemoryOrder::kRelaxed;
  return ordered || !private_shared || access.attrs.space != ir::Space::kShared;
}

bool HasPrivateShared(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever) return false;
  return std::ranges::none_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.attrs.space == ir::Space::kSharedCluster;
  });
}

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
    number_.resize(f.blocks.size());
    low_.resize(f.blocks.size());
    on_stack_.resize(f.blocks.size());
  }

  bool Run(BlockId entry) {
    r_.blocks = Reachable(entry);
    r_.levels.emplace_back();
    for (BlockId block : r_.blocks) r_.level_of[block.index] = 0;
    if (!Order(0, entry)) return false;
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

  // -- order: strongly connected components (Tarjan 1972), then those of each loop without its head --
  bool Order(uint32_t level, BlockId start) {
    std::vector<std::vector<BlockId>> components;
    for (BlockId block : r_.blocks) {
      if (r_.level_of[block.index] == level) number_[block.index] = 0;
    }
    clock_ = 0;
    Visit(level, start, start, components);
    std::ranges::reverse(components);
    for (std::vector<BlockId>& component : components) {
      BlockId head = component.front();
      if (component.size() == 1 && !LeadsTo(head, head, level, start)) {
        r_.levels[level].items.push_back({.block = head, .loop = LaneRegion::kNone, .in = {}, .out = {}});
        continue;
      }
      if (!FindHead(component, level, start, &head)) return false;
      auto loop = static_cast<uint32_t>(r_.levels.size());
      r_.levels.emplace_back().parent = level;
      r_.levels[level].items.push_back({.block = head, .loop = loop, .in = {}, .out = {}});
      for (BlockId block : component) r_.level_of[block.index] = loop;
      head_of_[head.index] = loop;
      if (!Order(loop, head)) return false;
    }
    return true;
  }

  // Edges that count at a level: not those back to the head that opened it.
  bool Counts(uint32_t level, BlockId start, BlockId to) const {
    return r_.level_of[to.index] == level && (level == 0 || to != start);
  }

  bool LeadsTo(BlockId from, BlockId to, uint32_t level, BlockId start) const {
    return std::ranges::any_of(f_.successors(from),
                               [&](const ir::Edge& e) { return e.to == to && Counts(level, start, to); });
  }

  void Visit(uint32_t level, BlockId start, BlockId root, std::vector<std::vector<BlockId>>& components) {
    struct Frame {
      BlockId block;
      size_t next;
    };
    std::vector<Frame> frames;
    auto enter = [&](BlockId block) {
      number_[block.index] = low_[block.index] = ++clock_;
      stack_.push_back(block);
      on_stack_[block.index] = true;
      frames.push_back({block, 0});
    };
    enter(root);
    while (!frames.empty()) {
      auto [block, next] = frames.back();
      std::span<const ir::Edge> edges = f_.successors(block);
      if (next < edges.size()) {
        ++frames.back().next;
        BlockId to = edges[next].to;
        if (!Counts(level, start, to)) continue;
        if (number_[to.index] == 0) {
          enter(to);
        } else if (on_stack_[to.index]) {
          low_[block.index] = std::min(low_[block.index], number_[to.index]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) {
        uint32_t& low = low_[frames.back().block.index];
        low = std::min(low, low_[block.index]);
      }
      if (low_[block.index] != number_[block.index]) continue;
      std::vector<BlockId> component;
      BlockId last;
      do {
        last = stack_.back();
        stack_.pop_back();
        on_stack_[last.index] = false;
        component.push_back(last);
      } while (last != block);
      components.push_back(std::move(component));
    }
  }

  // The only block of the component that is entered from outside.
  bool FindHead(const std::vector<BlockId>& component, uint32_t level, BlockId start, BlockId* head) const {
    auto inside = [&](BlockId block) { return std::ranges::find(component, block) != component.end(); };
    std::vector<BlockId> heads;
    auto add = [&](BlockId block) {
      if (std::ranges::find(heads, block) == heads.end()) heads.push_back(block);
    };
    if (inside(start)) add(start);
    for (BlockId block : r_.blocks) {
      if (inside(block)) continue;
      for (const ir::Edge& edge : f_.successors(block)) {
        if (inside(edge.to) && r_.level_of[edge.to.index] == level) add(edge.to);
      }
    }
    if (heads.size() != 1) return false;
    *head = heads[0];
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
          if (!r_.Contains(at, edge.to)) r_.levels[at].exits.push_back(ref);
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
          if (edges.empty()) level.items[i].same_as = static_cast<uint32_t>(j);
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
  std::vector<uint32_t> head_of_, number_, low_;
  std::vector<bool> on_stack_;
  std::vector<BlockId> stack_;
  uint32_t clock_ = 0;
};

}  // namespace

std::optional<LaneRegion> FindLaneRegion(const ir::Function& f, BlockId entry,
                                         const LaneRegionOptions& options) {
  LaneRegion region;
  if (!Builder(f, region).Run(entry)) return std::nullopt;
  FindLaneShapes(f, options, region);
  return region;
}

}  // namespace ptx2cpu::lowering
