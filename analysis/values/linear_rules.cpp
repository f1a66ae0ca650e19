#include "analysis/values/linear_rules.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace ptx2cpu::analysis {

using ir::Opcode;

namespace {

constexpr int32_t kRunTime = ThreadShape::kRunTime;

std::optional<uint64_t> Constant(const LinearSite& s, size_t number) {
  const ir::InstId def = s.f.at_value(s.inst.operands[number]).def;
  if (!def.valid() || s.f.at_inst(def).op != Opcode::kConst) return std::nullopt;
  const ir::Inst& inst = s.f.at_inst(def);
  const int bits = ir::Bits(inst.type);
  return bits >= 64 ? inst.attrs.bits : inst.attrs.bits & ((uint64_t{1} << bits) - 1);
}

// Strides count modulo the type's width.
int32_t Stride(uint64_t value, ir::Type type) {
  const int unused = std::max(64 - ir::Bits(type), 0);
  const int64_t wrapped = static_cast<int64_t>(value << unused) >> unused;
  return wrapped == static_cast<int32_t>(wrapped) ? static_cast<int32_t>(wrapped) : kRunTime;
}

uint8_t AlignOf(uint64_t bits) {
  return static_cast<uint8_t>(std::min<int>(std::countr_zero(bits), ThreadShape::kMaxAlign));
}
uint8_t AlignOfProduct(uint8_t a, uint8_t b) { return std::min<uint8_t>(a + b, ThreadShape::kMaxAlign); }

ThreadShape AddUp(const LinearSite& s, bool negative) {
  if ((s.inst.attrs.flags & ir::kSat) != 0) return kVaryingShape;
  const ThreadShape &a = s.operands[0], &b = s.operands[1];
  ThreadShape sum = a;
  sum.base = std::max(a.base, b.base);
  sum.align = std::min(a.align, b.align);
  sum.guess = a.guess || b.guess;
  for (int axis = 0; axis < kAxes; ++axis) {
    const int64_t x = a.axes[axis], y = b.axes[axis];
    const bool known = x != kRunTime && y != kRunTime;
    sum.axes[axis] = known ? Stride(static_cast<uint64_t>(negative ? x - y : x + y), s.inst.type) : kRunTime;
  }
  return sum;
}
ThreadShape Add(const LinearSite& s) { return AddUp(s, false); }
ThreadShape Sub(const LinearSite& s) { return AddUp(s, true); }

ThreadShape Scaled(ThreadShape x, uint64_t factor, ir::Type type) {
  for (int32_t& stride : x.axes) {
    if (stride != 0 && stride != kRunTime)
      stride = Stride(static_cast<uint64_t>(int64_t{stride}) * factor, type);
  }
  x.align = AlignOfProduct(x.align, AlignOf(factor));
  return x;
}

// Times something that is the same in all lanes.
ThreadShape ScaledAtRunTime(const LinearSite& s, const ThreadShape& x, const ThreadShape& factor) {
  if (!factor.uniform()) return kVaryingShape;
  ThreadShape product = x;
  product.base = std::max(x.base, factor.kind);
  for (int32_t& stride : product.axes) stride = stride == 0 ? 0 : kRunTime;
  return product.has_axes() ? Folded(product, s.group) : product;
}

ThreadShape Mul(const LinearSite& s) {
  for (size_t n = 0; n < 2; ++n) {
    if (std::optional<uint64_t> factor = Constant(s, 1 - n))
      return Scaled(s.operands[n], *factor, s.inst.type);
  }
  const size_t factor = s.operands[0].uniform() ? 0 : 1;
  ThreadShape product = ScaledAtRunTime(s, s.operands[1 - factor], s.operands[factor]);
  product.align = AlignOfProduct(s.operands[0].align, s.operands[1].align);
  return product;
}

ThreadShape Shl(const LinearSite& s) {
  std::optional<uint64_t> amount = Constant(s, 1);
  if (!amount) return ScaledAtRunTime(s, s.operands[0], s.operands[1]);
  if (*amount >= static_cast<uint64_t>(ir::Bits(s.inst.type))) return kVaryingShape;
  return Scaled(s.operands[0], uint64_t{1} << *amount, s.inst.type);
}

ThreadShape Neg(const LinearSite& s) { return Scaled(s.operands[0], ~uint64_t{0}, s.inst.type); }

// first, first + 1, ... where `first` is a multiple of the number of lanes: the bits above the lane's number
// in the group are the same in all lanes.
bool CountsLanes(const LinearSite& s, const ThreadShape& x) {
  return x.affine() && x.stride == 1 && x.align >= s.group.low_bits && !x.guess;
}

ThreadShape And(const LinearSite& s) {
  const uint64_t low_mask = (uint64_t{1} << s.group.low_bits) - 1;
  for (size_t n = 0; n < 2; ++n) {
    std::optional<uint64_t> mask = Constant(s, 1 - n);
    if (!mask) continue;
    const ThreadShape& x = s.operands[n];
    if (x.uniform()) return Uniform(x.kind, std::max(x.align, AlignOf(*mask)));
    if (!CountsLanes(s, x)) return kVaryingShape;
    if ((*mask & low_mask) == 0) return Uniform(Uniformity::kWarp, AlignOf(*mask));
    if ((*mask & low_mask) != low_mask) return kVaryingShape;
    ThreadShape low = Folded(x, s.group);
    // No bit above the lane's number in the group: the first lane's is 0.
    const bool is_lane = *mask == low_mask;
    low.base = is_lane ? Uniformity::kGrid : Uniformity::kWarp;
    if (is_lane) low.align = ThreadShape::kMaxAlign;
    return low;
  }
  return kVaryingShape;
}

// How many low bits are zero in all lanes.
int LowZeros(const ThreadShape& x) {
  int zeros = x.align;
  for (int32_t stride : x.axes) {
    if (stride == kRunTime) zeros = 0;
    if (stride != 0) zeros = std::min(zeros, std::countr_zero(static_cast<uint32_t>(stride)));
  }
  return zeros;
}

// Bits that may be set in a value that is the same in all lanes: a number's own, those that a mask leaves.
std::optional<uint64_t> BitsOf(const LinearSite& s, size_t number) {
  if (const std::optional<uint64_t> own = Constant(s, number)) return own;
  const ir::InstId def = s.f.at_value(s.inst.operands[number]).def;
  if (!def.valid() || !s.operands[number].uniform() || s.f.at_inst(def).op != Opcode::kAnd)
    return std::nullopt;
  const LinearSite mask{s.f, s.group, s.f.at_inst(def), {}};
  const std::optional<uint64_t> first = Constant(mask, 0);
  return first ? first : Constant(mask, 1);
}

ThreadShape PlusLowBits(ThreadShape x, const ThreadShape& low, int align) {
  x.base = std::max(x.base, low.kind);
  x.align = std::min(x.align, static_cast<uint8_t>(align));
  return x;
}

// Bits that are zero in all lanes of the other operand are added: (2 * tid) | 1, (2 * tid) | (y & 1).
// Addresses need this rule. If passes knew it, the code of warps between matrix products would be divided, so
// an operand that is not a number is only followed for emission, whose groups have guesses.
ThreadShape Or(const LinearSite& s) {
  if (!s.group.at_once) return kVaryingShape;
  for (size_t n = 0; n < 2; ++n) {
    const std::optional<uint64_t> number = Constant(s, 1 - n),
                                  bits = number || !s.group.guesses ? number : BitsOf(s, 1 - n);
    if (!bits) continue;
    if (*bits >> LowZeros(s.operands[n]) != 0) return kVaryingShape;
    const int align = number ? AlignOf(*bits) : s.operands[1 - n].align;
    return PlusLowBits(s.operands[n], s.operands[1 - n], align);
  }
  return kVaryingShape;
}

// All bits from a place on: the field's multiple and the low bits of the other (compilers make it of
// 2 * x + (y & 1)), for the shapes of emission.
ThreadShape InsertBits(const LinearSite& s) {
  const std::optional<uint64_t> position = Constant(s, 2), length = Constant(s, 3);
  const auto width = static_cast<uint64_t>(ir::Bits(s.inst.type));
  if (!s.group.guesses || !position || !length || !s.operands[1].uniform()) return kVaryingShape;
  if (*position == 0 || *position >= width || *length > 255 || *position + *length < width)
    return kVaryingShape;
  const int align = Constant(s, 1) ? AlignOf(*Constant(s, 1)) : s.operands[1].align;
  return PlusLowBits(Scaled(s.operands[0], uint64_t{1} << *position, s.inst.type), s.operands[1], align);
}

ThreadShape Shr(const LinearSite& s) {
  std::optional<uint64_t> amount = Constant(s, 1);
  if (!amount || *amount < s.group.low_bits || !CountsLanes(s, s.operands[0])) return kVaryingShape;
  return Uniform(Uniformity::kWarp);
}

constexpr int64_t kSmallStride = 1 << 24;  // that 64 lanes cannot wrap around more than once
bool IsSmall(int64_t stride) { return stride > -kSmallStride && stride < kSmallStride; }

// Whether lanes' numbers are below a bound that is a multiple of the number of lanes: all are, or none is
// (threadIdx.x < 32).
ThreadShape Compare(const LinearSite& s) {
  using enum ir::CompareInfo::Outcome;
  const uint8_t holds = Info(s.inst.attrs.compare).holds;
  const bool equal = (holds & kEqual) != 0, less = (holds & kLess) != 0, greater = (holds & kGreater) != 0;
  if (less == greater) return kVaryingShape;
  const bool below = equal == greater;
  const uint64_t low_mask = (uint64_t{1} << s.group.low_bits) - 1;
  for (size_t n = 0; n < 2; ++n) {
    const ThreadShape& bound = s.operands[1 - n];
    if (!CountsLanes(s, s.operands[n]) || !bound.uniform()) continue;
    // x < bound and bound <= x part the lanes before the bound, x <= bound and bound < x after it.
    const std::optional<uint64_t> number = Constant(s, 1 - n);
    const bool parts_before = below == (n == 0);
    if (parts_before ? bound.align >= s.group.low_bits : number && ((*number + 1) & low_mask) == 0)
      return Uniform(Uniformity::kWarp);
  }
  return kVaryingShape;
}

// The same numbers in a wider type while the narrow sequence does not wrap around, which complete warps
// cannot.
ThreadShape Widen(const LinearSite& s) {
  ThreadShape x = Folded(s.operands[0], s.group);
  if (!x.has_axes() || CountsLanes(s, s.operands[0])) return x;
  if (s.inst.from != ir::Type::kI32 || !x.affine() || !IsSmall(x.stride)) return kVaryingShape;
  x.guess = true;
  return x;
}

ThreadShape Trunc(const LinearSite& s) { return Scaled(s.operands[0], 1, s.inst.type); }

// A window's start is the block's.
ThreadShape Move(const LinearSite& s) {
  if (s.inst.attrs.space == ir::Space::kSharedCluster) return kVaryingShape;
  ThreadShape moved = s.operands[0];
  if (s.inst.attrs.space == ir::Space::kShared) moved.base = std::max(moved.base, Uniformity::kBlock);
  moved.align = 0;
  return moved;
}

// The same sequence where no lane is beyond the bound (interior blocks of an image), which is tested.
ThreadShape Clamp(const LinearSite& s) {
  for (size_t n = 0; n < 2; ++n) {
    ThreadShape x = Folded(s.operands[n], s.group);
    const ThreadShape& bound = s.operands[1 - n];
    if (s.inst.type != ir::Type::kI32 || !x.affine() || !IsSmall(x.stride) || !bound.uniform()) continue;
    x.base = std::max(x.base, bound.kind);
    x.align = 0;
    x.guess = true;
    return x;
  }
  return kVaryingShape;
}

// Chooses between two sequences with one stride, or between two distances that addresses may contain (`x > 0
// ? -1 : 0`), where all lanes choose the same one; that is tested.
ThreadShape SelectApart(const LinearSite& s) {
  ThreadShape a = Folded(s.operands[1], s.group), b = Folded(s.operands[2], s.group);
  const bool are_sequences = a.affine() && b.affine();
  const bool are_distances = s.in_address && a.uniform() && b.uniform();
  if ((!are_sequences && !are_distances) || a.axes != b.axes) return kVaryingShape;
  a.base = Uniformity::kWarp;
  a.align = std::min(a.align, b.align);
  a.guess = true;
  return a;
}

ThreadShape Select(const LinearSite& s) {
  if (!s.operands[0].uniform()) return SelectApart(s);
  return Blend(Join(s.operands[1], s.operands[2], s.group), s.operands[0].kind, s.group);
}

// A quotient of a sequence is the same in all lanes, which is tested, or steps once (rows of a tile that
// threads in one line fill): no more where a number divides.
bool StepsOnce(const LinearSite& s) {
  const ThreadShape x = Folded(s.operands[0], s.group);
  if (!s.in_address || s.inst.type != ir::Type::kI32 || !x.affine() || x.stride < 0 || !IsSmall(x.stride))
    return false;
  const std::optional<uint64_t> number = Constant(s, 1);
  const auto way = static_cast<uint64_t>(x.stride) << s.group.low_bits;
  return s.operands[1].uniform() && (!number || (*number >= way && *number <= INT32_MAX));
}
ThreadShape Quotient(const LinearSite& s) {
  if (!StepsOnce(s)) return kVaryingShape;
  ThreadShape same = Uniform(Uniformity::kWarp);
  same.guess = true;
  return same;
}
ThreadShape Remainder(const LinearSite& s) {
  if (!StepsOnce(s)) return kVaryingShape;
  ThreadShape x = Folded(s.operands[0], s.group);
  x.base = Uniformity::kWarp;
  x.align = 0;
  x.guess = true;
  return x;
}

struct LinearRow {
  Opcode op;
  LinearRule rule;
};
constexpr LinearRow kLinearRows[] = {
    {Opcode::kAdd, Add},          {Opcode::kSub, Sub},        {Opcode::kMul, Mul},
    {Opcode::kShl, Shl},          {Opcode::kNeg, Neg},        {Opcode::kAnd, And},
    {Opcode::kShrU, Shr},         {Opcode::kShrS, Shr},       {Opcode::kZext, Widen},
    {Opcode::kSext, Widen},       {Opcode::kTrunc, Trunc},    {Opcode::kToGeneric, Move},
    {Opcode::kFromGeneric, Move}, {Opcode::kSelect, Select},  {Opcode::kMinS, Clamp},
    {Opcode::kMinU, Clamp},       {Opcode::kMaxS, Clamp},     {Opcode::kMaxU, Clamp},
    {Opcode::kIcmp, Compare},     {Opcode::kDivS, Quotient},  {Opcode::kDivU, Quotient},
    {Opcode::kRemS, Remainder},   {Opcode::kRemU, Remainder}, {Opcode::kOr, Or},
    {Opcode::kBfi, InsertBits},
};

constexpr auto kLinearRules = [] {
  std::array<LinearRule, static_cast<size_t>(Opcode::kCount)> rules{};
  for (const LinearRow& row : kLinearRows) rules[static_cast<size_t>(row.op)] = row.rule;
  return rules;
}();

}  // namespace

LinearRule LinearRuleOf(Opcode op) { return kLinearRules[static_cast<size_t>(op)]; }

}  // namespace ptx2cpu::analysis
