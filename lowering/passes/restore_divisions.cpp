// Division by a constant that a compiler has made a multiplication is a division again.
//
//   before                                after
//     %h = mulhi_s %x, 0x66666667           %q = div_s %x, 20
//     %s = shr_u %h, 31
//     %t = shr_s %h, 3
//     %q = add %t, %s
//
// A quotient of neighbouring numbers is known to be the same, or to step once (tiles with a halo are filled
// by threads in one line: `tile[i / 20][i % 20]`); of the product's upper half nothing is known. Machine code
// has the multiplication either way. The multipliers are those of Granlund and Montgomery, Division by
// Invariant Integers using Multiplication (1994): the divisor follows from one, and that all numbers are
// divided by it is checked here.
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
    if (inst.type != Type::kI32) return std::nullopt;
    if (inst.op == Opcode::kAdd && inst.attrs.flags == 0) {
      for (size_t n = 0; n < 2; ++n) {
        if (const auto division = Signed(inst.operands[n], inst.operands[1 - n])) return division;
      }
    }
    return inst.op == Opcode::kShrU || inst.op == Opcode::kMulHiU ? Unsigned(inst) : std::nullopt;
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
    if (!product) return std::nullopt;
    // An even divisor's zeros may have been shifted out before.
    ValueId dividend = product->factor;
    unsigned before = 0;
    if (const ir::Inst* shifted = Of(dividend, Opcode::kShrU)) {
      const auto amount = Number(shifted->operands[1]);
      if (amount && *amount < 32) before = *amount, dividend = shifted->operands[0];
    }
    const auto divisor = DivisorOf(product->number, shift, (kTwoTo32 - 1) >> before, true);
    if (!divisor || (uint64_t{*divisor} << before) >= kTwoTo32 / 2) return std::nullopt;
    return Division{Opcode::kDivU, dividend, *divisor << before};
  }

  const ir::Function& f_;
};

}  // namespace

Status RestoreDivisions(ir::Module&, ir::Function& f, const PassOptions&) {
  std::vector<std::pair<ir::InstId, Division>> found;
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      if (const auto division = Matcher(f).Match(f.at_inst(id))) found.emplace_back(id, *division);
    }
  }
  for (const auto& [id, division] : found) {
    const ir::BlockId block = f.at_inst(id).block;
    const auto& insts = f.at_block(block).insts;
    ir::Inst number;
    number.op = Opcode::kConst;
    number.type = Type::kI32;
    number.attrs.bits = division.divisor;
    number.at = f.at_inst(id).at;
    const auto where = static_cast<size_t>(std::ranges::find(insts, id) - insts.begin());
    const ValueId divisor = f.at_inst(ir::Insert(f, block, where, std::move(number))).results[0];
    ir::Inst& quotient = f.inst(id);
    quotient.op = division.op;
    quotient.operands = {division.dividend, divisor};
    quotient.attrs = {};
  }
  return {};
}

}  // namespace ptx2cpu::lowering
