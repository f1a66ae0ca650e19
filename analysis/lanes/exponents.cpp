#include "analysis/lanes/exponents.h"

#include <algorithm>
#include <bit>

#include "analysis/lanes/greatest_solution.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::Type;

constexpr LeastExponent kLeastOfHalf = -24, kLeastInteger = 0;
constexpr uint32_t kOtherFlags = ir::kXorSign | ir::kRelu | ir::kAbs;  // signs and zeros of other kinds

enum class ExponentRule : uint8_t {
  kProduct,
  kOperand,
  kEither,
  kConverted,
  kInteger,
  kSum,
  kMultiplyAdd,
  kRounded
};
struct ExponentRow {
  Opcode op;
  ExponentRule rule;
};
constexpr ExponentRow kExponentRows[] = {
    {Opcode::kFMul, ExponentRule::kProduct},     {Opcode::kFNeg, ExponentRule::kOperand},
    {Opcode::kFAbs, ExponentRule::kOperand},     {Opcode::kFMin, ExponentRule::kEither},
    {Opcode::kFMax, ExponentRule::kEither},      {Opcode::kSToF, ExponentRule::kInteger},
    {Opcode::kUToF, ExponentRule::kInteger},     {Opcode::kFRound, ExponentRule::kInteger},
    {Opcode::kFAdd, ExponentRule::kSum},         {Opcode::kFSub, ExponentRule::kSum},
    {Opcode::kFFma, ExponentRule::kMultiplyAdd}, {Opcode::kFDiv, ExponentRule::kRounded},
    {Opcode::kFRcp, ExponentRule::kRounded},     {Opcode::kFConvert, ExponentRule::kConverted},
    {Opcode::kFSqrt, ExponentRule::kRounded},
};

bool Flushes(const ir::Inst& inst) {
  return (inst.attrs.flags & ir::kFtz) != 0 && (inst.type == Type::kF32 || inst.from == Type::kF32);
}

// The effect of bit operations, .ftz and rounding on exponents and units.
struct Exponents {
  static LeastExponent OfBits(uint64_t bits) {
    const auto exponent = static_cast<int>(bits >> 23 & 0xff);
    const bool has_fraction = (bits & 0x7fffff) != 0;
    if (exponent == 0) return has_fraction ? kAnyExponent : kNoExponent;
    return static_cast<LeastExponent>(exponent == 0xff ? kNoExponent : exponent - 127);
  }
  static LeastExponent Flushed(LeastExponent e) { return std::max(e, kLeastNormal); }
  static LeastExponent OfSum(LeastExponent, LeastExponent) { return kAnyExponent; }  // it may cancel
  static LeastExponent Rounded(LeastExponent e) { return e; }
};

// A rounded multiple of a unit is one: what rounding removes are bits above the unit, if any. But what is too
// large may become the largest number, which is a multiple of 2^104.
struct Units {
  static LeastExponent OfBits(uint64_t bits) {
    const auto exponent = static_cast<int>(bits >> 23 & 0xff);
    const auto fraction = static_cast<uint32_t>(bits & 0x7fffff) | (exponent == 0 ? 0 : 0x800000);
    if (fraction == 0 || exponent == 0xff) return kNoExponent;
    return static_cast<LeastExponent>(std::max(exponent, 1) - 150 + std::countr_zero(fraction));
  }
  static LeastExponent Flushed(LeastExponent unit) { return unit; }
  static LeastExponent OfSum(LeastExponent x, LeastExponent y) { return std::min(x, y); }
  static LeastExponent Rounded(LeastExponent unit) {
    return unit == kNoExponent ? unit : std::min(unit, LeastExponent{104});
  }
};

// Besides stores of whole words, which IsWordOfShared has.
bool MayWriteShared(const ir::Inst& inst) {
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
    case ir::Effect::kReads:
    case ir::Effect::kTerminator:
    case ir::Effect::kBarrier:
      return false;
    case ir::Effect::kCollective:
      return ir::WritesMemory(inst.op);
    case ir::Effect::kWrites:
    case ir::Effect::kMemory:
    case ir::Effect::kOpaque:
      break;
  }
  if (inst.op == Opcode::kSlotStore || inst.op == Opcode::kSetLiveMask || inst.op == Opcode::kFence)
    return false;
  const bool has_space =
      inst.op == Opcode::kStore || inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas;
  return !has_space || (inst.attrs.space != ir::Space::kGlobal && inst.attrs.space != ir::Space::kLocal);
}

bool IsWordOfShared(const ir::Inst& inst) {
  return (inst.op == Opcode::kStore || inst.op == Opcode::kLoad) && inst.attrs.space == ir::Space::kShared &&
         ir::Bits(inst.type) == 32;
}

template <typename Kind>
struct AsFloat {
  using Element = LeastExponent;
  static constexpr LeastExponent kStrongest = kNoExponent, kWeakest = kAnyExponent;

  static bool StoresWord(const ir::Inst& inst) { return inst.op == Opcode::kStore && IsWordOfShared(inst); }
  static bool MayChangeWords(const ir::Inst& inst) { return !StoresWord(inst) && MayWriteShared(inst); }

  LeastExponent Of(const ir::Function& f, const ir::Inst& inst, size_t number, const auto& operand,
                   const auto& slot, LeastExponent before) const {
    if (ir::Bits(f.type_of(inst.results[number])) != 32) return kAnyExponent;
    if (inst.op == Opcode::kConst) return Kind::OfBits(inst.attrs.bits);
    if (inst.op == Opcode::kSelect) return std::min(operand(1), operand(2));
    if (inst.op == Opcode::kBitcast)
      return ir::Bits(f.type_of(inst.operands[0])) == 32 ? operand(0) : kAnyExponent;
    // A shuffle gives another lane's value, the lane's own or 0.
    if (inst.op == Opcode::kShuffle) return number == 0 ? operand(0) : kAnyExponent;
    if (inst.op == Opcode::kSlotLoad) return slot(inst.attrs.index);
    if (IsWordOfShared(inst)) return f.is_kernel ? slot(f.slots.size()) : kAnyExponent;  // callers store too
    if (inst.op == Opcode::kUndef) return kNoExponent;
    return inst.type == Type::kF32 ? OfOperation(inst, operand, before) : kAnyExponent;
  }

  LeastExponent OfOperation(const ir::Inst& inst, const auto& operand, LeastExponent before) const {
    const auto row = std::ranges::find(kExponentRows, inst.op, &ExponentRow::op);
    if (row == std::end(kExponentRows) || (inst.attrs.flags & kOtherFlags) != 0) return kAnyExponent;
    const bool flushes = Flushes(inst);
    const auto input = [&](size_t n) { return flushes ? Kind::Flushed(operand(n)) : operand(n); };
    // What the result is at least, for its flush.
    const auto result = [&](LeastExponent e) {
      e = Kind::Rounded(flushes ? Kind::Flushed(e) : e);
      return (inst.attrs.flags & ir::kSat) != 0 ? std::min(e, kLeastInteger) : e;
    };
    const auto product = [&] {
      const LeastExponent e = LeastOfProduct(input(0), input(1));
      // One that was greater before is in a loop, where it would fall by a step at a time.
      return before != kNoExponent && e < before ? kAnyExponent : e;
    };
    switch (row->rule) {
      case ExponentRule::kProduct:
        return result(product());
      case ExponentRule::kOperand:
        return input(0);
      case ExponentRule::kEither:
        return std::min(input(0), input(1));
      case ExponentRule::kConverted:
        return inst.from == Type::kF16 ? kLeastOfHalf : kAnyExponent;
      case ExponentRule::kInteger:
        return kLeastInteger;
      case ExponentRule::kSum:
        return result(Kind::OfSum(input(0), input(1)));
      case ExponentRule::kMultiplyAdd:
        return result(Kind::OfSum(product(), input(2)));
      case ExponentRule::kRounded:
        return result(kAnyExponent);
    }
    return kAnyExponent;
  }
};

template <typename Kind>
std::vector<LeastExponent> SolveFor(const ir::Function& f) {
  const bool any =
      std::ranges::any_of(f.insts, [](const ir::Inst& inst) { return inst.block.valid() && Flushes(inst); });
  return any ? GreatestSolution<AsFloat<Kind>>(f).Solve() : std::vector<LeastExponent>();
}

}  // namespace

LeastExponent LeastOfProduct(LeastExponent x, LeastExponent y) {
  if (x == kNoExponent || y == kNoExponent) return kNoExponent;
  const int sum = x + y;
  return static_cast<LeastExponent>(std::clamp<int>(sum, kAnyExponent, kNoExponent - 1));
}

std::vector<LeastExponent> FindLeastExponents(const ir::Function& f) { return SolveFor<Exponents>(f); }

std::vector<LeastExponent> FindUnits(const ir::Function& f) { return SolveFor<Units>(f); }

}  // namespace ptx2cpu::analysis
