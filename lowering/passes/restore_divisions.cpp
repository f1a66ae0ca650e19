// Division by a constant that a compiler has made a multiplication is a division again.
//
//   before                                after
//     %h = mulhi_s %x, 0x66666667           %q = div_s %x, 20
//     %s = shr_u %h, 31
//     %t = shr_s %h, 3
//     %q = add %t, %s
//
//     %w = zext i64 from i32 %x             %d = div_u %x, 255
//     %p = mul i64 %w, 0x80808081           %q = zext i64 from i32 %d
//     %q = shr_u i64 %p, 39
//
// Some divisors need a multiplier of 33 bits, of which the highest is a sum:
//
//     %h = mulhi_u %x, 0x24924925           %q = div_u %x, 7
//     %d = sub %x, %h
//     %e = shr_u %d, 1
//     %f = add %e, %h
//     %q = shr_u %f, 2
//
// The quotients of neighbouring numbers are known to be equal or to step once (threads in one line fill tiles
// with a halo: `tile[i / 20][i % 20]`); nothing is known about the upper half of a product. Machine code has
// the multiplication either way. The multipliers are those of Granlund and Montgomery, Division by Invariant
// Integers using Multiplication (1994): the divisor follows from the multiplier, and this file checks that
// the result is right for all numbers.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;
using Wide = unsigned __int128;

struct Division {
  Opcode op;
  ValueId dividend;
  uint32_t divisor;
  bool widened = false;  // the quotient is the 64-bit number of this value
};

// floor(x * multiplier / 2^shift) is floor(x / divisor) for all x up to `most`.
std::optional<uint32_t> DivisorOf(uint64_t multiplier, unsigned shift, uint64_t most, bool may_be_exact) {
  if (multiplier == 0 || shift > 63 + 32) return std::nullopt;
  const Wide power = Wide{1} << shift;
  const Wide divisor = (power + multiplier - 1) / multiplier;
  if (divisor < 2 || divisor >= kTwoTo32 / 2) return std::nullopt;
  const Wide excess = divisor * multiplier - power;
  if ((excess == 0 && !may_be_exact) || excess * most >= power) return std::nullopt;
  return static_cast<uint32_t>(divisor);
}

class Matcher {
 public:
  explicit Matcher(const ir::Function& f) : f_(f) {}

  std::optional<Division> Match(const ir::Inst& inst) const {
    if (inst.op == Opcode::kShrU && inst.type == Type::kI64 && inst.attrs.flags == 0) return OfWide(inst);
    if (inst.type != Type::kI32) return std::nullopt;
    if (inst.op == Opcode::kAdd && inst.attrs.flags == 0) {
      for (size_t n = 0; n < 2; ++n) {
        if (const auto division = Signed(inst.operands[n], inst.operands[1 - n])) return division;
      }
    }
    if (inst.op != Opcode::kShrU && inst.op != Opcode::kMulHiU) return std::nullopt;
    const auto division = Unsigned(inst);
    return division ? division : ByLongMultiplier(inst);
  }

 private:
  const ir::Inst* Of(ValueId value, Opcode op) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return nullptr;
    const ir::Inst& inst = f_.at_inst(def);
    return inst.op == op && inst.attrs.flags == 0 ? &inst : nullptr;
  }
  std::optional<uint32_t> Number(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid() || f_.at_inst(def).op != Opcode::kConst) return std::nullopt;
    return static_cast<uint32_t>(f_.at_inst(def).attrs.bits);
  }

  struct Product {
    ValueId factor;
    uint64_t number;
  };
  std::optional<Product> UpperHalf(const ir::Inst& inst) const {
    for (size_t n = 0; n < 2; ++n) {
      if (const auto number = Number(inst.operands[n])) return Product{inst.operands[1 - n], *number};
    }
    return std::nullopt;
  }

  // The sum of a shifted upper half and of 1 where that, or what is divided, is negative.
  std::optional<Division> Signed(ValueId shifted, ValueId sign) const {
    const ir::Inst* negative = Of(sign, Opcode::kShrU);
    if (negative == nullptr || Number(negative->operands[1]) != 31) return std::nullopt;
    unsigned shift = 32;
    ValueId half = shifted;
    if (const ir::Inst* by = Of(shifted, Opcode::kShrS)) {
      const auto amount = Number(by->operands[1]);
      if (!amount || *amount > 31) return std::nullopt;
      shift += *amount;
      half = by->operands[0];
    }
    std::optional<Product> product;
    if (const ir::Inst* upper = Of(half, Opcode::kMulHiS)) {
      product = UpperHalf(*upper);
      if (product && product->number >= kTwoTo32 / 2) return std::nullopt;  // negative
    } else if (const ir::Inst* sum = Of(half, Opcode::kAdd)) {
      product = WithItsFactor(*sum);
    }
    if (!product) return std::nullopt;
    if (negative->operands[0] != half && negative->operands[0] != product->factor) return std::nullopt;
    const auto divisor = DivisorOf(product->number, shift, kTwoTo32 / 2, false);
    return divisor ? std::optional(Division{Opcode::kDivS, product->factor, *divisor}) : std::nullopt;
  }

  // A multiplier that is negative as a number of 32 bits counts 2^32 less than it is.
  std::optional<Product> WithItsFactor(const ir::Inst& sum) const {
    for (size_t n = 0; n < 2; ++n) {
      const ir::Inst* upper = Of(sum.operands[n], Opcode::kMulHiS);
      const auto product = upper == nullptr ? std::nullopt : UpperHalf(*upper);
      if (product && product->factor == sum.operands[1 - n] && product->number >= kTwoTo32 / 2)
        return product;
    }
    return std::nullopt;
  }

  std::optional<Division> Unsigned(const ir::Inst& last) const {
    const ir::Inst* upper = &last;
    unsigned shift = 32;
    if (last.op == Opcode::kShrU) {
      const auto amount = Number(last.operands[1]);
      upper = Of(last.operands[0], Opcode::kMulHiU);
      if (!amount || *amount > 31 || upper == nullptr) return std::nullopt;
      shift += *amount;
    }
    const auto product = UpperHalf(*upper);
    return product ? UnsignedBy(*product, shift) : std::nullopt;
  }

  std::optional<Division> UnsignedBy(const Product& product, unsigned shift) const {
    // An even divisor's zeros may have been shifted out before.
    ValueId dividend = product.factor;
    unsigned before = 0;
    if (const ir::Inst* shifted = Of(dividend, Opcode::kShrU)) {
      const auto amount = Number(shifted->operands[1]);
      if (amount && *amount < 32) before = *amount, dividend = shifted->operands[0];
    }
    const auto divisor = DivisorOf(product.number, shift, (kTwoTo32 - 1) >> before, true);
    if (!divisor || (uint64_t{*divisor} << before) >= kTwoTo32 / 2) return std::nullopt;
    return Division{Opcode::kDivU, dividend, *divisor << before};
  }

  // The product of a number of 32 bits and a constant one, in 64 bits.
  std::optional<Product> WideProduct(ValueId value) const {
    const ir::Inst* product = Of(value, Opcode::kMul);
    if (product == nullptr || product->type != Type::kI64) return std::nullopt;
    for (size_t n = 0; n < 2; ++n) {
      const ir::Inst* factor = Of(product->operands[n], Opcode::kZext);
      const ir::InstId number = f_.at_value(product->operands[1 - n]).def;
      if (factor == nullptr || factor->from != Type::kI32 || !number.valid()) continue;
      const ir::Inst& constant = f_.at_inst(number);
      if (constant.op == Opcode::kConst && constant.attrs.bits < kTwoTo32)
        return Product{factor->operands[0], constant.attrs.bits};
    }
    return std::nullopt;
  }

  std::optional<Division> OfWide(const ir::Inst& last) const {
    const auto amount = Number(last.operands[1]);
    const auto product = WideProduct(last.operands[0]);
    if (!amount || *amount < 32 || *amount > 63 || !product) return std::nullopt;
    auto division = UnsignedBy(*product, *amount);
    if (division) division->widened = true;
    return division;
  }

  // The upper half of a product of unsigned numbers, in either form.
  std::optional<Product> UpperHalfOf(ValueId value) const {
    if (const ir::Inst* upper = Of(value, Opcode::kMulHiU)) return UpperHalf(*upper);
    const ir::Inst* low = Of(value, Opcode::kTrunc);
    const ir::Inst* shifted = low == nullptr ? nullptr : Of(low->operands[0], Opcode::kShrU);
    if (shifted == nullptr || shifted->type != Type::kI64 || Number(shifted->operands[1]) != 32)
      return std::nullopt;
    return WideProduct(shifted->operands[0]);
  }

  std::optional<Division> ByLongMultiplier(const ir::Inst& last) const {
    const auto amount = Number(last.operands[1]);
    const ir::Inst* sum = last.op == Opcode::kShrU ? Of(last.operands[0], Opcode::kAdd) : nullptr;
    if (!amount || *amount > 31 || sum == nullptr) return std::nullopt;
    for (size_t n = 0; n < 2; ++n) {
      auto product = UpperHalfOf(sum->operands[n]);
      const ir::Inst* half = Of(sum->operands[1 - n], Opcode::kShrU);
      const ir::Inst* rest = half == nullptr ? nullptr : Of(half->operands[0], Opcode::kSub);
      if (!product || rest == nullptr || Number(half->operands[1]) != 1) continue;
      if (rest->operands[0] != product->factor || rest->operands[1] != sum->operands[n]) continue;
      product->number += kTwoTo32;
      return UnsignedBy(*product, 33 + *amount);
    }
    return std::nullopt;
  }

  const ir::Function& f_;
};

// In front of the instruction.
ValueId AddDivision(ir::Function& f, ir::InstId before, ir::Inst inst) {
  const ir::BlockId block = f.at_inst(before).block;
  const auto& insts = f.at_block(block).insts;
  inst.type = Type::kI32;
  inst.at = f.at_inst(before).at;
  const auto where = static_cast<size_t>(std::ranges::find(insts, before) - insts.begin());
  return f.at_inst(ir::Insert(f, block, where, std::move(inst))).results[0];
}

void ReplaceQuotient(ir::Function& f, ir::InstId id, const Division& division) {
  ir::Inst number;
  number.op = Opcode::kConst;
  number.attrs.bits = division.divisor;
  const ValueId divisor = AddDivision(f, id, std::move(number));
  if (!division.widened) {
    ir::Inst& quotient = f.inst(id);
    quotient.op = division.op;
    quotient.operands = {division.dividend, divisor};
    quotient.attrs = {};
    return;
  }
  ir::Inst divide;
  divide.op = division.op;
  divide.operands = {division.dividend, divisor};
  const ValueId quotient = AddDivision(f, id, std::move(divide));
  ir::Inst& widen = f.inst(id);
  widen.op = Opcode::kZext;
  widen.from = Type::kI32;
  widen.operands = {quotient};
  widen.attrs = {};
}

}  // namespace

Status RestoreDivisions(ir::Module&, ir::Function& f, const PassOptions&) {
  std::vector<std::pair<ir::InstId, Division>> found;
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      if (const auto division = Matcher(f).Match(f.at_inst(id))) found.emplace_back(id, *division);
    }
  }
  for (const auto& [id, division] : found) ReplaceQuotient(f, id, division);
  return {};
}

}  // namespace ptx2cpu::lowering
