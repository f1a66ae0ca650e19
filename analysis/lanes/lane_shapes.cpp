// Every shape begins as unknown or uniform and only becomes less so, until nothing changes.
#include "analysis/lanes/lane_shapes.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/lanes/row_quotients.h"
#include "analysis/values/linear_rules.h"
#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::ValueId;
namespace {

ThreadGroup GroupOf(const ir::Function& f, const LaneRegionOptions& options) {
  using Along = ThreadGroup::Along;
  using Threads = LaneRegionOptions::Threads;
  ThreadGroup group = ThreadGroup::WarpOf(f.is_kernel ? PromisedShape(f) : LaunchShape{});
  group.low_bits = static_cast<uint8_t>(std::countr_zero(options.width));
  group.at_once = group.guesses = true;
  group.private_shared = options.private_shared;
  if (options.threads == Threads::kAnyShape) return group;
  group.along = {Along::kConsecutive, Along::kSame, Along::kSame, Along::kConsecutive};
  group.is_warp = options.threads != Threads::kRow;
  if (!group.is_warp) group.along[kAxisLane] = Along::kAny;
  group.begins_anywhere = options.begins_anywhere;
  return group;
}

// By value: whether an address in the region is computed from it by operations that may keep its form.
std::vector<bool> ValuesInAddresses(const ir::Function& f, const LaneRegion& region) {
  std::unordered_map<uint32_t, std::vector<ValueId>> arguments;  // by parameter of a block
  std::vector<bool> found(f.values.size());
  std::vector<ValueId> work;
  auto add = [&](ValueId value) {
    if (found[value.index]) return;
    found[value.index] = true;
    work.push_back(value);
  };
  for (BlockId block : region.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore) add(inst.operands[0]);
      for (const ir::Edge& edge : inst.edges) {
        const std::vector<ValueId>& params = f.at_block(edge.to).params;
        for (size_t i = 0; i < params.size(); ++i) arguments[params[i].index].push_back(edge.args[i]);
      }
    }
  }
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    const ir::InstId def = f.at_value(value).def;
    if (!def.valid()) {
      for (ValueId argument : arguments[value.index]) add(argument);
    } else if (const ir::Inst& inst = f.at_inst(def); LinearRuleOf(inst.op) != nullptr) {
      const size_t numbers = inst.op == ir::Opcode::kSelect ? 1 : 0;  // after what it chooses by
      for (size_t i = numbers; i < inst.operands.size(); ++i) add(inst.operands[i]);
    }
  }
  return found;
}

class Shapes {
 public:
  Shapes(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region)
      : f_(f),
        options_(options),
        group_(GroupOf(f, options)),
        in_address_(ValuesInAddresses(f, region)),
        transfer_(f, group_, &in_address_),
        r_(region) {
    r_.shapes = {f.values.size(), {}};
    r_.meets.resize(f.values.size());
    apart_.resize(r_.levels.size(), LaneRegion::kNone);
    for (const LaneRegion::Level& level : r_.levels) groups_.emplace_back(level.items.size());
  }

  void Run() {
    do {
      changed_ = false;
      VisitLevel(0);
    } while (changed_);
  }

 private:
  // A loop's items come before what follows it: else each round would get past one of the loops in a row.
  void VisitLevel(size_t level) {
    for (size_t i = 0; i < r_.levels[level].items.size(); ++i) {
      VisitItem(level, i);
      const uint32_t loop = r_.levels[level].items[i].loop;
      if (loop != LaneRegion::kNone) VisitLevel(loop);
    }
    if (level != 0) VisitLoop(level);
  }

  // -- where lanes are --
  bool UniformEnd(BlockId block) const {
    const ir::Inst& end = f_.terminator(block);
    return end.operands.empty() || ShapeAt(end.operands[0], block).uniform();
  }

  const LaneRegion::Item& ItemAt(uint32_t level, BlockId block) const {
    // The item of this level that holds the block.
    uint32_t at = r_.level_of[block.index], loop = LaneRegion::kNone;
    while (at != level) {
      loop = at;
      at = r_.levels[at].parent;
    }
    return r_.levels[level].items[loop == LaneRegion::kNone ? r_.item_of[block.index] : r_.levels[loop].item];
  }

  // All lanes that come to where it begins take this edge, or none.
  bool TakesAll(uint32_t level, EdgeRef edge) const {
    const LaneRegion::Item& item = ItemAt(level, edge.from);
    return item.loop == LaneRegion::kNone ? UniformEnd(edge.from) : r_.levels[item.loop].leaves_together;
  }

  // All of the level's lanes take this edge, or none.
  bool Together(uint32_t level, EdgeRef edge) const {
    return ItemAt(level, edge.from).together && TakesAll(level, edge);
  }

  // The item whose lanes come over these edges: all over one of them, or none. Nothing: they come apart.
  std::optional<uint32_t> GroupOver(uint32_t level, const std::vector<EdgeRef>& edges) const {
    std::optional<uint32_t> group;
    for (EdgeRef edge : edges) {
      const auto from = static_cast<size_t>(&ItemAt(level, edge.from) - r_.levels[level].items.data());
      if (!TakesAll(level, edge) || (group && *group != groups_[level][from])) return std::nullopt;
      group = groups_[level][from];
    }
    return group;
  }

  bool AllTogether(uint32_t level, const std::vector<EdgeRef>& edges) const {
    return std::ranges::all_of(edges, [&](EdgeRef edge) { return Together(level, edge); });
  }

  void VisitItem(size_t level, size_t number) {
    LaneRegion::Item& item = r_.levels[level].items[number];
    bool together = item.same_as != LaneRegion::kNone ? r_.levels[level].items[item.same_as].together
                                                      : AllTogether(static_cast<uint32_t>(level), item.in);
    Clear(item.together, together);
    const uint32_t own = static_cast<uint32_t>(number);
    const uint32_t group = item.same_as != LaneRegion::kNone ? groups_[level][item.same_as]
                           : number == 0                     ? 0
                                         : GroupOver(static_cast<uint32_t>(level), item.in).value_or(own);
    changed_ |= std::exchange(groups_[level][number], group) != group;
    bool head = level != 0 && number == 0;  // its parameters are those of the loop's item
    const bool is_loop = item.loop != LaneRegion::kNone;
    if (!head) Merge(item.block, item.in, static_cast<uint32_t>(level), !is_loop);
    if (is_loop) {
      Merge(item.block, r_.levels[item.loop].latches, item.loop, false);
    } else {
      for (ir::InstId id : f_.at_block(item.block).insts) VisitInst(f_.at_inst(id));
    }
  }

  void VisitLoop(size_t level) {
    LaneRegion::Level& loop = r_.levels[level];
    auto number = static_cast<uint32_t>(level);
    bool ends = std::ranges::any_of(loop.items, &LaneRegion::Item::ends);
    if (Clear(loop.leaves_together, !ends && AllTogether(number, loop.exits))) LeaveApart(number);
    Clear(loop.turns_together, loop.leaves_together && AllTogether(number, loop.latches));
  }

  void LeaveApart(uint32_t level) {
    apart_[level] = level;
    std::vector<uint32_t> work{level};
    while (!work.empty()) {
      const uint32_t around = work.back();
      work.pop_back();
      for (const LaneRegion::Item& item : r_.levels[around].items) {
        if (item.loop == LaneRegion::kNone || apart_[item.loop] == item.loop) continue;
        apart_[item.loop] = level;
        work.push_back(item.loop);
      }
    }
  }

  // -- values --
  // As a block sees it: lanes that have left a loop in different trips hold values of different trips.
  ThreadShape ShapeAt(ValueId value, BlockId block) const {
    BlockId made = f_.at_value(value).block;
    if (!made.valid() || r_.level_of[made.index] == LaneRegion::kNone) {
      return options_.varies_outside(value) ? kVaryingShape : Uniform(Uniformity::kWarp);
    }
    const ThreadShape& shape = r_.shapes[value.index];
    if (shape.kind == Uniformity::kUnknown) return shape;
    const uint32_t apart = apart_[r_.level_of[made.index]];
    return apart == LaneRegion::kNone || r_.Contains(apart, block) ? shape : kVaryingShape;
  }

  // `meets`: what lanes bring from several places may be supposed to be a sequence.
  void Merge(BlockId block, const std::vector<EdgeRef>& edges, uint32_t level, bool meets) {
    const std::vector<ValueId>& params = f_.at_block(block).params;
    if (params.empty() || edges.empty()) return;
    bool apart = edges.size() > 1 && !GroupOver(level, edges);
    for (size_t p = 0; p < params.size(); ++p) {
      bool same = true;
      ThreadShape joined;
      ValueId first;
      for (EdgeRef ref : edges) {
        ValueId arg = f_.successors(ref.from)[ref.number].args[p];
        if (!first.valid()) first = arg;
        same &= arg == first;
        ThreadShape here = ShapeAt(arg, ref.from), there = ShapeAt(arg, block);
        joined = Join(joined, here.base == Uniformity::kVarying ? here : there, group_);
      }
      if (apart && !same) joined = meets ? Met(params[p], edges, p) : kVaryingShape;
      r_.meets[params[p].index] = apart && !same;
      Lower(params[p], joined);
    }
  }

  // Lanes that take some trips more than others, or another way, come with numbers of one sequence mostly:
  // the emitter tests it where they meet, once for all addresses that follow.
  ThreadShape Met(ValueId param, const std::vector<EdgeRef>& edges, size_t number) const {
    if (!in_address_[param.index]) return kVaryingShape;
    ThreadShape met;
    for (EdgeRef ref : edges) {
      const ValueId arg = f_.successors(ref.from)[ref.number].args[number];
      const BlockId made = f_.at_value(arg).block;
      const bool is_here = made.valid() && r_.level_of[made.index] != LaneRegion::kNone;
      met = Join(met, is_here ? r_.shapes[arg.index] : ShapeAt(arg, ref.from), group_);
    }
    if (met.kind == Uniformity::kUnknown) return met;
    if (!met.affine() || met.stride == 0) return kVaryingShape;
    met.guess = true;
    met.base = std::max(met.base, Uniformity::kWarp);
    return Seen(met, group_);
  }

  void VisitInst(const ir::Inst& inst) {
    operands_.clear();
    for (ValueId operand : inst.operands) operands_.push_back(ShapeAt(operand, inst.block));
    if (inst.results.size() == 1 &&
        std::ranges::find(options_.in_one_row, inst.results[0]) != options_.in_one_row.end())
      return Lower(inst.results[0], InOneRow(inst));
    for (size_t n = 0; n < inst.results.size(); ++n) {
      Lower(inst.results[n], transfer_.Result(inst, n, f_.at_block(inst.block).level, operands_));
    }
  }

  ThreadShape InOneRow(const ir::Inst& division) const {
    if (operands_[0].kind == Uniformity::kUnknown) return operands_[0];
    if (IsQuotient(division.op)) return Uniform(Uniformity::kWarp);
    ThreadShape rest = Folded(operands_[0], group_);
    rest.base = Uniformity::kWarp;
    rest.align = 0;
    return rest;
  }

  void Lower(ValueId value, const ThreadShape& shape) {
    const ThreadShape& known = r_.shapes[value.index];
    const ThreadShape joined = Join(known, shape, group_);
    if (joined == known) return;
    r_.shapes.Set(value.index) = joined;
    changed_ = true;
  }
  bool Clear(bool& flag, bool value) {
    if (!flag || value) return false;
    flag = false;
    changed_ = true;
    return true;
  }

  const ir::Function& f_;
  const LaneRegionOptions& options_;
  const ThreadGroup group_;
  const std::vector<bool> in_address_;
  const ThreadTransfer transfer_;
  LaneRegion& r_;
  // By level and item: an earlier item whose lanes all come here, or none of them; the item itself where
  // lanes have diverged or met.
  std::vector<std::vector<uint32_t>> groups_;
  std::vector<uint32_t> apart_;  // by level: itself or the nearest around it that lanes leave apart
  std::vector<ThreadShape> operands_;
  bool changed_ = false;
};

}  // namespace

void FindLaneShapes(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region) {
  Shapes(f, options, region).Run();
}

}  // namespace ptx2cpu::analysis
