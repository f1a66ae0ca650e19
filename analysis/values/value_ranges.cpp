#include "analysis/values/value_ranges.h"

#include <algorithm>
#include <bit>

#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Special;
using ir::ValueId;
using MaybeRange = std::optional<ValueRange>;

namespace {

uint64_t AllOnes(unsigned bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// Sums and products that leave the type wrap around: no bounds.
MaybeRange Within(unsigned __int128 low, unsigned __int128 high, unsigned bits) {
  if (high > AllOnes(bits)) return std::nullopt;
  return ValueRange{static_cast<uint64_t>(low), static_cast<uint64_t>(high)};
}

ValueRange Exactly(uint64_t value) { return {value, value}; }

// All bits below the next power of two.
uint64_t AllBitsOf(uint64_t high) {
  return high == 0 ? 0 : AllOnes(static_cast<unsigned>(std::bit_width(high)));
}

using Wide = unsigned __int128;

// True where neither is negative as a signed number: then the rules of unsigned numbers hold.
bool NeverNegative(const ValueRange& a, const ValueRange& b, unsigned bits) {
  return std::max(a.high, b.high) < uint64_t{1} << (bits - 1);
}
MaybeRange Quotient(const ValueRange& a, const ValueRange& b) {
  if (b.low == 0) return std::nullopt;
  return ValueRange{a.low / b.high, a.high / b.low};
}
MaybeRange Remainder(const ValueRange& a, const ValueRange& b) {
  if (b.low == 0) return std::nullopt;
  if (a.exact() && b.exact()) return Exactly(a.low % b.low);
  return a.high < b.low ? a : ValueRange{0, b.high - 1};
}
ValueRange Least(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}
ValueRange Greatest(const ValueRange& a, const ValueRange& b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

MaybeRange Shifted(const ValueRange& a, const ValueRange& b, unsigned bits) {
  if (b.high >= bits) return std::nullopt;
  return ValueRange{a.low >> b.high, a.high >> b.low};
}

// The range of a result from the ranges of two operands, in a type of `bits` bits.
struct RangeRule {
  Opcode op;
  MaybeRange (*of)(const ValueRange& a, const ValueRange& b, unsigned bits);
};
constexpr RangeRule kRangeRules[] = {
    {Opcode::kAdd, [](const ValueRange& a, const ValueRange& b,
                      unsigned bits) { return Within(Wide{a.low} + b.low, Wide{a.high} + b.high, bits); }},
    {Opcode::kSub,
     [](const ValueRange& a, const ValueRange& b, unsigned) -> MaybeRange {
       if (a.low < b.high) return std::nullopt;
       return ValueRange{a.low - b.high, a.high - b.low};
     }},
    {Opcode::kMul, [](const ValueRange& a, const ValueRange& b,
                      unsigned bits) { return Within(Wide{a.low} * b.low, Wide{a.high} * b.high, bits); }},
    {Opcode::kDivU, [](const ValueRange& a, const ValueRange& b, unsigned) { return Quotient(a, b); }},
    {Opcode::kRemU, [](const ValueRange& a, const ValueRange& b, unsigned) { return Remainder(a, b); }},
    {Opcode::kMinU,
     [](const ValueRange& a, const ValueRange& b, unsigned) -> MaybeRange { return Least(a, b); }},
    {Opcode::kMaxU,
     [](const ValueRange& a, const ValueRange& b, unsigned) -> MaybeRange { return Greatest(a, b); }},
    {Opcode::kDivS, [](const ValueRange& a, const ValueRange& b,
                       unsigned bits) { return NeverNegative(a, b, bits) ? Quotient(a, b) : std::nullopt; }},
    {Opcode::kRemS, [](const ValueRange& a, const ValueRange& b,
                       unsigned bits) { return NeverNegative(a, b, bits) ? Remainder(a, b) : std::nullopt; }},
    {Opcode::kMinS,
     [](const ValueRange& a, const ValueRange& b, unsigned bits) -> MaybeRange {
       if (!NeverNegative(a, b, bits)) return std::nullopt;
       return Least(a, b);
     }},
    {Opcode::kMaxS,
     [](const ValueRange& a, const ValueRange& b, unsigned bits) -> MaybeRange {
       if (!NeverNegative(a, b, bits)) return std::nullopt;
       return Greatest(a, b);
     }},
    {Opcode::kAnd,
     [](const ValueRange& a, const ValueRange& b, unsigned) -> MaybeRange {
       if (a.exact() && b.exact()) return Exactly(a.low & b.low);
       // The mask keeps all bits that the operand may have.
       if (b.exact() && a.high <= b.low && (b.low & (b.low + 1)) == 0) return a;
       return ValueRange{0, std::min(a.high, b.high)};
     }},
    {Opcode::kOr,
     [](const ValueRange& a, const ValueRange& b, unsigned) -> MaybeRange {
       if (a.exact() && b.exact()) return Exactly(a.low | b.low);
       return ValueRange{std::max(a.low, b.low), AllBitsOf(a.high | b.high)};
     }},
    {Opcode::kXor,
     [](const ValueRange& a, const ValueRange& b, unsigned) -> MaybeRange {
       if (a.exact() && b.exact()) return Exactly(a.low ^ b.low);
       return ValueRange{0, AllBitsOf(a.high | b.high)};
     }},
    {Opcode::kShl,
     [](const ValueRange& a, const ValueRange& b, unsigned bits) -> MaybeRange {
       if (!b.exact() || b.low >= bits) return std::nullopt;
       return Within(Wide{a.low} << b.low, Wide{a.high} << b.low, bits);
     }},
    {Opcode::kShrU,
     [](const ValueRange& a, const ValueRange& b, unsigned bits) { return Shifted(a, b, bits); }},
    {Opcode::kShrS,
     [](const ValueRange& a, const ValueRange& b, unsigned bits) {
       return NeverNegative(a, a, bits) ? Shifted(a, b, bits) : std::nullopt;
     }},
};

class RangeFinder {
 public:
  RangeFinder(const ir::Function& f, const LaunchShape& block)
      : f_(f), ranges_(f.values.size()), shape_(block) {}

  std::vector<MaybeRange> Run() {
    std::vector<std::vector<const ir::Edge*>> incoming(f_.blocks.size());
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (const ir::Edge& edge : f_.at_inst(block.insts.back()).edges)
        incoming[edge.to.index].push_back(&edge);
    }
    for (ir::BlockId id : ir::ReversePostOrder(f_)) {
      const ir::Block& block = f_.at_block(id);
      for (size_t n = 0; n < block.params.size() && id != f_.entry; ++n)
        Set(block.params[n], Joined(incoming[id.index], n));
      for (ir::InstId inst : block.insts) {
        const ir::Inst& one = f_.at_inst(inst);
        if (one.results.size() == 1) Set(one.results[0], RangeOf(one));
      }
    }
    return std::move(ranges_);
  }

 private:
  unsigned BitsOf(ValueId value) const { return static_cast<unsigned>(ir::Bits(f_.type_of(value))); }
  bool HasRange(ValueId value) const { return ir::IsInteger(f_.type_of(value)) && BitsOf(value) <= 64; }
  void Set(ValueId value, const MaybeRange& range) {
    if (HasRange(value)) ranges_[value.index] = range;
  }
  // A value that the walk has not reached has no range.
  const MaybeRange& Of(ValueId value) const { return ranges_[value.index]; }

  MaybeRange Joined(const std::vector<const ir::Edge*>& edges, size_t n) const {
    MaybeRange all;
    for (const ir::Edge* edge : edges) {
      const MaybeRange& one = Of(edge->args[n]);
      if (!one) return std::nullopt;
      all = Union(all, *one);
    }
    return all;
  }
  static ValueRange Union(const MaybeRange& a, const ValueRange& b) {
    return a ? ValueRange{std::min(a->low, b.low), std::max(a->high, b.high)} : b;
  }

  MaybeRange RangeOf(const ir::Inst& inst) const {
    if (!HasRange(inst.results[0])) return std::nullopt;
    const unsigned bits = BitsOf(inst.results[0]);
    if (inst.op == Opcode::kConst) return Exactly(inst.attrs.bits & AllOnes(bits));
    if (inst.op == Opcode::kSpecialRegister) return OfSpecial(inst.attrs.special);
    if (inst.op == Opcode::kIcmp) return OfComparison(inst);
    if (inst.op == Opcode::kSelect && Of(inst.operands[1]) && Of(inst.operands[2]))
      return Union(Of(inst.operands[1]), *Of(inst.operands[2]));
    if ((inst.op == Opcode::kZext || inst.op == Opcode::kTrunc) && Of(inst.operands[0]))
      return Within(Of(inst.operands[0])->low, Of(inst.operands[0])->high, bits);
    if (inst.attrs.flags != 0 || inst.operands.size() != 2) return std::nullopt;
    const MaybeRange &a = Of(inst.operands[0]), &b = Of(inst.operands[1]);
    for (const RangeRule& rule : kRangeRules) {
      if (rule.op == inst.op && a && b) return rule.of(*a, *b, bits);
    }
    return OfOneBound(inst.op, a, b);
  }

  MaybeRange OfSpecial(Special special) const {
    constexpr Special kPlaces[] = {Special::kTidX, Special::kTidY, Special::kTidZ};
    constexpr Special kExtents[] = {Special::kNtidX, Special::kNtidY, Special::kNtidZ};
    const uint32_t extents[] = {shape_.x, shape_.y, shape_.z};
    constexpr uint32_t kMaxExtents[] = {kMaxBlockXY, kMaxBlockXY, kMaxBlockZ};
    for (int axis = 0; axis < 3; ++axis) {
      // Longer rows keep their name: it shows which products of it are places of blocks.
      if (special == kExtents[axis] && extents[axis] == 1) return ValueRange{1, 1};
      if (special != kPlaces[axis]) continue;
      return ValueRange{0, (extents[axis] != 0 ? extents[axis] : kMaxExtents[axis]) - 1};
    }
    if (special == Special::kLaneId) return ValueRange{0, kWarpSize - 1};
    return std::nullopt;
  }

  MaybeRange OfComparison(const ir::Inst& inst) const {
    const MaybeRange &a = Of(inst.operands[0]), &b = Of(inst.operands[1]);
    if (!a || !b) return std::nullopt;
    const auto decided = Decided(inst.attrs.compare, *a, *b, BitsOf(inst.operands[0]));
    if (!decided) return std::nullopt;
    return Exactly(*decided);
  }

  // One bound is enough for an operation that only makes a value smaller.
  static MaybeRange OfOneBound(Opcode op, const MaybeRange& a, const MaybeRange& b) {
    if (op == Opcode::kAnd && (a || b)) return ValueRange{0, a ? a->high : b->high};
    if (op == Opcode::kRemU && b && b->low != 0) return ValueRange{0, b->high - 1};
    return std::nullopt;
  }

  const ir::Function& f_;
  std::vector<MaybeRange> ranges_;
  const LaunchShape shape_;
};

}  // namespace

std::optional<bool> Decided(ir::Compare compare, const ValueRange& a, const ValueRange& b, unsigned bits) {
  using enum ir::CompareInfo::Outcome;
  const ir::CompareInfo& info = Info(compare);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  if (info.of == ir::CompareInfo::kSigned && (a.high >= sign || b.high >= sign)) return std::nullopt;
  int possible = 0;  // by how the ranges lie
  if (a.low < b.high) possible |= kLess;
  if (a.high > b.low) possible |= kGreater;
  if (a.low <= b.high && a.high >= b.low) possible |= kEqual;
  if ((possible & ~info.holds) == 0) return true;
  if ((possible & info.holds) == 0) return false;
  return std::nullopt;
}

std::vector<std::optional<ValueRange>> FindValueRanges(const ir::Function& f, const LaunchShape& block) {
  return RangeFinder(f, block).Run();
}

}  // namespace ptx2cpu::analysis
