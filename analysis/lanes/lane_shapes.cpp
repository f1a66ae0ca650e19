// Everything begins as not known or uniform and only becomes less so, until nothing changes.
#include "analysis/lanes/lane_shapes.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Kind = LaneShape::Kind;

bool DiffersBetweenLanes(ir::Special special) {
  return special >= ir::Special::kTidX && special <= ir::Special::kLaneMaskGt &&
         special != ir::Special::kWarpId;
}

namespace {

constexpr int64_t kLanes = 32;
constexpr LaneShape kUniformShape{.kind = Kind::kUniform}, kVaryingShape{.kind = Kind::kVarying};

// What a guess makes uniform is not known to be.
LaneShape Affine(int64_t stride, bool whole, bool guess = false) {
  if (stride == 0) return guess ? kVaryingShape : LaneShape{.kind = Kind::kUniform, .whole = whole};
  return {.kind = Kind::kAffine, .stride = stride, .whole = whole, .guess = guess};
}

LaneShape Join(const LaneShape& a, const LaneShape& b) {
  if (a.kind == Kind::kUnknown) return b;
  if (b.kind == Kind::kUnknown) return a;
  if (a.kind != b.kind || a.stride != b.stride) return kVaryingShape;
  return {.kind = a.kind, .stride = a.stride, .whole = a.whole && b.whole, .guess = a.guess || b.guess};
}

class Shapes {
 public:
  Shapes(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region)
      : f_(f), options_(options), r_(region) {
    r_.shapes.resize(f.values.size());
  }

  void Run() {
    do {
      changed_ = false;
      for (size_t n = 0; n < r_.levels.size(); ++n) {
        for (size_t i = 0; i < r_.levels[n].items.size(); ++i) VisitItem(n, i);
      }
      for (size_t n = r_.levels.size(); n-- > 1;) VisitLoop(n);
    } while (changed_);
  }

 private:
  // -- where lanes are --
  bool UniformEnd(BlockId block) const {
    const ir::Inst& end = f_.terminator(block);
    return end.operands.empty() || Seen(end.operands[0], block).uniform();
  }

  const LaneRegion::Item& ItemAt(uint32_t level, BlockId block) const {
    // The item of this level that holds the block.
    uint32_t at = r_.level_of[block.index], loop = LaneRegion::kNone;
    while (at != level) {
      loop = at;
      at = r_.levels[at].parent;
    }
    for (const LaneRegion::Item& item : r_.levels[level].items) {
      if (loop == LaneRegion::kNone ? item.loop == loop && item.block == block : item.loop == loop)
        return item;
    }
    CHECK(false, "a block is not among its level's");
    return r_.levels[level].items[0];
  }

  // All of the level's lanes take this edge, or none.
  bool Together(uint32_t level, EdgeRef edge) const {
    const LaneRegion::Item& item = ItemAt(level, edge.from);
    if (!item.together) return false;
    return item.loop == LaneRegion::kNone ? UniformEnd(edge.from) : r_.levels[item.loop].leaves_together;
  }

  bool AllTogether(uint32_t level, const std::vector<EdgeRef>& edges) const {
    return std::ranges::all_of(edges, [&](EdgeRef edge) { return Together(level, edge); });
  }

  void VisitItem(size_t level, size_t number) {
    LaneRegion::Item& item = r_.levels[level].items[number];
    bool together = item.same_as != LaneRegion::kNone ? r_.levels[level].items[item.same_as].together
                                                      : AllTogether(static_cast<uint32_t>(level), item.in);
    Clear(item.together, together);
    bool head = level != 0 && number == 0;  // its parameters are those of the loop's item
    if (!head) Merge(item.block, item.in, static_cast<uint32_t>(level));
    if (item.loop != LaneRegion::kNone) {
      Merge(item.block, r_.levels[item.loop].latches, item.loop);
    } else {
      for (ir::InstId id : f_.at_block(item.block).insts) VisitInst(f_.at_inst(id));
    }
  }

  void VisitLoop(size_t level) {
    LaneRegion::Level& loop = r_.levels[level];
    auto number = static_cast<uint32_t>(level);
    bool ends = std::ranges::any_of(loop.items, &LaneRegion::Item::ends);
    Clear(loop.leaves_together, !ends && AllTogether(number, loop.exits));
    Clear(loop.turns_together, loop.leaves_together && AllTogether(number, loop.latches));
  }

  // -- values --
  // As a block sees it: lanes that have left a loop in different trips hold values of different trips.
  LaneShape Seen(ValueId value, BlockId block) const {
    BlockId made = f_.at_value(value).block;
    if (!made.valid() || r_.level_of[made.index] == LaneRegion::kNone) {
      return options_.varies_outside(value) ? kVaryingShape : kUniformShape;
    }
    const LaneShape& shape = r_.shapes[value.index];
    if (shape.kind == Kind::kUnknown) return shape;
    for (uint32_t at = r_.level_of[made.index]; at != 0; at = r_.levels[at].parent) {
      if (!r_.Contains(at, block) && !r_.levels[at].leaves_together) return kVaryingShape;
    }
    return shape;
  }

  void Merge(BlockId block, const std::vector<EdgeRef>& edges, uint32_t level) {
    const std::vector<ValueId>& params = f_.at_block(block).params;
    if (params.empty() || edges.empty()) return;
    bool apart = edges.size() > 1 && !AllTogether(level, edges);
    for (size_t p = 0; p < params.size(); ++p) {
      bool same = true;
      LaneShape joined;
      ValueId first;
      for (EdgeRef ref : edges) {
        ValueId arg = f_.successors(ref.from)[ref.number].args[p];
        if (!first.valid()) first = arg;
        same &= arg == first;
        LaneShape here = Seen(arg, ref.from), there = Seen(arg, block);
        joined = Join(joined, here.kind == Kind::kVarying ? here : there);
      }
      if (apart && !same) joined = kVaryingShape;
      Lower(params[p], joined);
    }
  }

  void VisitInst(const ir::Inst& inst) {
    for (size_t n = 0; n < inst.results.size(); ++n) Lower(inst.results[n], ShapeOf(inst));
  }

  LaneShape ShapeOf(const ir::Inst& inst) const {
    switch (ir::Info(inst.op).effect) {
      case ir::Effect::kPure:
        return Pure(inst);
      case ir::Effect::kReads:
        return Read(inst);
      default:
        return kVaryingShape;
    }
  }

  LaneShape Read(const ir::Inst& inst) const {
    switch (inst.op) {
      case Opcode::kSlotLoad:
        return f_.slots[inst.attrs.index].shape == ir::Level::kLane ? kVaryingShape : kUniformShape;
      case Opcode::kLoad: {
        if (IsStrong(inst, options_.private_shared) || inst.attrs.space == ir::Space::kLocal)
          return kVaryingShape;
        LaneShape address = Seen(inst.operands[0], inst.block);
        return address.affine() ? kVaryingShape : LaneShape{.kind = address.kind};
      }
      default:
        return kVaryingShape;
    }
  }

  LaneShape Pure(const ir::Inst& inst) const {
    if (inst.op == Opcode::kConst) return {.kind = Kind::kUniform, .whole = inst.attrs.bits % kLanes == 0};
    if (inst.op == Opcode::kSpecialRegister) return Register(inst);
    bool all_uniform = true;
    for (ValueId operand : inst.operands) {
      LaneShape shape = Seen(operand, inst.block);
      if (shape.kind == Kind::kUnknown) return shape;
      if (shape.kind == Kind::kVarying) return kVaryingShape;
      all_uniform &= shape.kind == Kind::kUniform;
    }
    const bool window = inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric;
    if (window && inst.attrs.space == ir::Space::kLocal) return kVaryingShape;
    const bool word = inst.type == ir::Type::kI32 || inst.type == ir::Type::kI64 || window;
    LaneShape shape = word ? Linear(inst) : kVaryingShape;
    if (all_uniform) return {.kind = Kind::kUniform, .whole = shape.kind == Kind::kUniform && shape.whole};
    return shape;
  }

  LaneShape Register(const ir::Inst& inst) const {
    ir::Special special = inst.attrs.special;
    using Threads = LaneRegionOptions::Threads;
    if (special == ir::Special::kLaneId && options_.threads != Threads::kRow) return Affine(1, true);
    bool index =
        special == ir::Special::kTidX || special == ir::Special::kTidY || special == ir::Special::kTidZ;
    if (index && options_.threads != Threads::kAnyShape)
      return special == ir::Special::kTidX ? Affine(1, true) : kUniformShape;
    return DiffersBetweenLanes(special) ? kVaryingShape : kUniformShape;
  }

  std::optional<uint64_t> Constant(ValueId value) const {
    ir::InstId def = f_.at_value(value).def;
    if (!def.valid() || f_.at_inst(def).op != Opcode::kConst) return std::nullopt;
    const ir::Inst& inst = f_.at_inst(def);
    return inst.type == ir::Type::kI32 ? inst.attrs.bits & 0xffffffffu : inst.attrs.bits;
  }

  // Integer arithmetic on uniform values and sequences.
  LaneShape Linear(const ir::Inst& inst) const {
    auto operand = [&](size_t n) { return Seen(inst.operands[n], inst.block); };
    auto wrap = [&](int64_t stride) {
      return inst.type == ir::Type::kI32 ? static_cast<int64_t>(static_cast<int32_t>(stride)) : stride;
    };
    switch (inst.op) {
      case Opcode::kAdd:
      case Opcode::kSub: {
        if ((inst.attrs.flags & ir::kSat) != 0) return kVaryingShape;
        LaneShape x = operand(0), y = operand(1);
        auto a = static_cast<uint64_t>(x.stride), c = static_cast<uint64_t>(y.stride);
        return Affine(wrap(static_cast<int64_t>(inst.op == Opcode::kAdd ? a + c : a - c)), x.whole && y.whole,
                      x.guess || y.guess);
      }
      case Opcode::kMul:
        for (size_t n = 0; n < 2; ++n) {
          if (std::optional<uint64_t> factor = Constant(inst.operands[1 - n]))
            return Scaled(operand(n), *factor, wrap);
        }
        return kVaryingShape;
      case Opcode::kShl: {
        std::optional<uint64_t> amount = Constant(inst.operands[1]);
        if (!amount || *amount >= static_cast<uint64_t>(ir::Bits(inst.type))) return kVaryingShape;
        return Scaled(operand(0), uint64_t{1} << *amount, wrap);
      }
      case Opcode::kAnd:
        for (size_t n = 0; n < 2; ++n) {
          if (std::optional<uint64_t> mask = Constant(inst.operands[1 - n])) return Masked(operand(n), *mask);
        }
        return kVaryingShape;
      case Opcode::kShrU:
      case Opcode::kShrS: {
        std::optional<uint64_t> amount = Constant(inst.operands[1]);
        LaneShape x = operand(0);
        bool same = amount && *amount >= 5 && x.whole && x.stride == 1 && !x.guess;
        return same ? kUniformShape : kVaryingShape;
      }
      case Opcode::kZext:
      case Opcode::kSext: {
        // A sequence only while it does not wrap: the emitter checks that where the value is an address.
        LaneShape x = operand(0);
        if (inst.from != ir::Type::kI32 || x.stride <= -(1 << 24) || x.stride >= 1 << 24)
          return kVaryingShape;
        return Affine(x.stride, x.whole, x.stride != 1 || !x.whole);
      }
      case Opcode::kTrunc:
        return inst.from == ir::Type::kI64
                   ? Affine(wrap(operand(0).stride), operand(0).whole, operand(0).guess)
                   : kVaryingShape;
      case Opcode::kToGeneric:
      case Opcode::kFromGeneric:
        return inst.attrs.space == ir::Space::kSharedCluster
                   ? kVaryingShape
                   : Affine(operand(0).stride, false, operand(0).guess);
      default:
        return kVaryingShape;
    }
  }

  template <typename Wrap>
  static LaneShape Scaled(const LaneShape& x, uint64_t factor, const Wrap& wrap) {
    return Affine(wrap(static_cast<int64_t>(static_cast<uint64_t>(x.stride) * factor)),
                  x.whole || factor % kLanes == 0, x.guess);
  }

  // The low five bits of first, first + 1, ... are the lane's number where `first` is a multiple of 32.
  static LaneShape Masked(const LaneShape& x, uint64_t mask) {
    const uint64_t low = mask % kLanes;
    if (x.stride != 1 || !x.whole || x.guess) return kVaryingShape;
    if (low == 0) return Affine(0, true);
    return low == kLanes - 1 ? Affine(1, true) : kVaryingShape;
  }

  void Lower(ValueId value, LaneShape shape) {
    LaneShape& known = r_.shapes[value.index];
    LaneShape joined = Join(known, shape);
    if (joined == known) return;
    known = joined;
    changed_ = true;
  }
  void Clear(bool& flag, bool value) {
    if (!flag || value) return;
    flag = false;
    changed_ = true;
  }

  const ir::Function& f_;
  const LaneRegionOptions& options_;
  LaneRegion& r_;
  bool changed_ = false;
};

}  // namespace

void FindLaneShapes(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region) {
  Shapes(f, options, region).Run();
}

}  // namespace ptx2cpu::analysis
