#include "analysis/lanes/exponents.h"

#include <algorithm>

#include "analysis/lanes/greatest_solution.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::Type;

constexpr LeastExponent kLeastOfHalf = -24, kLeastInteger = 0;
constexpr uint32_t kOtherFlags = ir::kXorSign | ir::kRelu | ir::kAbs;  // signs and zeros of other kinds

enum class Rule : uint8_t { kProduct, kOperand, kEither, kConverted, kInteger, kRounded };
struct Row {
  Opcode op;
  Rule rule;
};
constexpr Row kRows[] = {
    {Opcode::kFMul, Rule::kProduct}, {Opcode::kFNeg, Rule::kOperand},       {Opcode::kFAbs, Rule::kOperand},
    {Opcode::kFMin, Rule::kEither},  {Opcode::kFMax, Rule::kEither},        {Opcode::kSToF, Rule::kInteger},
    {Opcode::kUToF, Rule::kInteger}, {Opcode::kFRound, Rule::kInteger},     {Opcode::kFAdd, Rule::kRounded},
    {Opcode::kFSub, Rule::kRounded}, {Opcode::kFFma, Rule::kRounded},       {Opcode::kFDiv, Rule::kRounded},
    {Opcode::kFRcp, Rule::kRounded}, {Opcode::kFConvert, Rule::kConverted}, {Opcode::kFSqrt, Rule::kRounded},
};

bool Flushes(const ir::Inst& inst) {
  return (inst.attrs.flags & ir::kFtz) != 0 && (inst.type == Type::kF32 || inst.from == Type::kF32);
}

LeastExponent OfBits(uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 23 & 0xff);
  const bool has_fraction = (bits & 0x7fffff) != 0;
  if (exponent == 0) return has_fraction ? kAnyExponent : kNoExponent;
  return static_cast<LeastExponent>(exponent == 0xff ? kNoExponent : exponent - 127);
}

// Of results: what is subnormal becomes zero.
LeastExponent Flushed(LeastExponent e) { return std::max(e, kLeastNormal); }

struct AsFloat {
  using Element = LeastExponent;
  static constexpr LeastExponent kStrongest = kNoExponent, kWeakest = kAnyExponent;

  LeastExponent Of(const ir::Function& f, const ir::Inst& inst, size_t number, const auto& operand,
                   const auto& slot, LeastExponent before) const {
    if (ir::Bits(f.type_of(inst.results[number])) != 32) return kAnyExponent;
    if (inst.op == Opcode::kConst) return OfBits(inst.attrs.bits);
    if (inst.op == Opcode::kSelect) return std::min(operand(1), operand(2));
    if (inst.op == Opcode::kBitcast)
      return ir::Bits(f.type_of(inst.operands[0])) == 32 ? operand(0) : kAnyExponent;
    // A shuffle gives another lane's value, the lane's own or 0.
    if (inst.op == Opcode::kShuffle) return number == 0 ? operand(0) : kAnyExponent;
    if (inst.op == Opcode::kSlotLoad) return slot(inst.attrs.index);
    if (inst.op == Opcode::kUndef) return kNoExponent;
    return inst.type == Type::kF32 ? OfOperation(inst, operand, before) : kAnyExponent;
  }

  LeastExponent OfOperation(const ir::Inst& inst, const auto& operand, LeastExponent before) const {
    const auto row = std::ranges::find(kRows, inst.op, &Row::op);
    if (row == std::end(kRows) || (inst.attrs.flags & kOtherFlags) != 0) return kAnyExponent;
    const bool flushes = Flushes(inst);
    const auto input = [&](size_t n) { return flushes ? Flushed(operand(n)) : operand(n); };
    const LeastExponent rounded = flushes ? kLeastNormal : kAnyExponent;
    switch (row->rule) {
      case Rule::kProduct: {
        const LeastExponent product = LeastOfProduct(input(0), input(1));
        // One that was greater before is in a loop, where it would fall by a step at a time.
        const bool falls = before != kNoExponent && product < before;
        if (product < kLeastNormal || falls) return rounded;
        return (inst.attrs.flags & ir::kSat) != 0 ? std::min(product, kLeastInteger) : product;
      }
      case Rule::kOperand:
        return input(0);
      case Rule::kEither:
        return std::min(input(0), input(1));
      case Rule::kConverted:
        return inst.from == Type::kF16 ? kLeastOfHalf : kAnyExponent;
      case Rule::kInteger:
        return kLeastInteger;
      case Rule::kRounded:
        return rounded;
    }
    return kAnyExponent;
  }
};

}  // namespace

LeastExponent LeastOfProduct(LeastExponent x, LeastExponent y) {
  if (x == kNoExponent || y == kNoExponent) return kNoExponent;
  const int sum = x + y;
  return static_cast<LeastExponent>(std::clamp<int>(sum, kAnyExponent, kNoExponent - 1));
}

std::vector<LeastExponent> FindLeastExponents(const ir::Function& f) {
  const bool any =
      std::ranges::any_of(f.insts, [](const ir::Inst& inst) { return inst.block.valid() && Flushes(inst); });
  return any ? GreatestSolution<AsFloat>(f).Solve() : std::vector<LeastExponent>();
}

}  // namespace ptx2cpu::analysis
