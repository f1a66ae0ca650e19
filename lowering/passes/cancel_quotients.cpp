// Sums in which a quotient cancels out do without it.
//
//   before                                after
//     %q = div_s %i, 20                     %q = div_s %i, 20
//     %r = sub %i, (mul %q, 20)             %a = add (shl %i, 2), %tile
//     %a = add (mul %q, 80), %tile
//     %a = add %a, (shl %r, 2)
//
// The threads of a block fill a tile in one line: `tile[i / 20][i % 20]` is element i of the tile, and
// neighbouring threads' elements lie side by side. Sums wrap around, so they are the same whatever order they
// are made in.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::ValueId;

constexpr int kMaxDepthOfQuotient = 8;
constexpr size_t kMaxTerms = 4, kMaxBefore = 16;  // after quotients have cancelled out; and before

struct Term {
  enum Kind : uint8_t { kValue, kProduct, kSignedQuotient, kUnsignedQuotient } kind;
  uint64_t first, second;  // values; of a quotient the dividend and the divisor
  auto operator<=>(const Term&) const = default;
};

// Terms with their factors, 0 where they have cancelled out, and a constant.
struct Sum {
  std::map<Term, uint64_t> terms;
  uint64_t constant = 0;
};

class Canceller {
 public:
  explicit Canceller(ir::Function& f) : f_(f) {
    for (const ir::Inst& inst : f.insts) {
      if (inst.block.valid() && QuotientOf(inst)) dividends_.insert(inst.operands[0].index);
    }
  }

  void Run() {
    if (dividends_.empty()) return;
    for (uint32_t block = 0; block < f_.blocks.size(); ++block) {
      if (f_.blocks[block].removed) continue;
      const std::vector<ir::InstId> insts = f_.blocks[block].insts;
      for (ir::InstId id : insts) Rewrite(id);
    }
  }

 private:
  static bool IsWord(ir::Type type) { return type == ir::Type::kI32 || type == ir::Type::kI64; }
  uint64_t Masked(uint64_t bits, ir::Type type) const {
    return type == ir::Type::kI32 ? static_cast<uint32_t>(bits) : bits;
  }

  const ir::Inst* Definition(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }
  std::optional<uint64_t> Number(ValueId value) const {
    const ir::Inst* def = Definition(value);
    if (def == nullptr || def->op != Opcode::kConst) return std::nullopt;
    return static_cast<uint64_t>(def->attrs.bits);
  }

  // Divisors that are positive numbers: by them a remainder is what the quotient leaves.
  std::optional<Term> QuotientOf(const ir::Inst& inst) const {
    const bool is_signed = inst.op == Opcode::kDivS || inst.op == Opcode::kRemS;
    if (!is_signed && inst.op != Opcode::kDivU && inst.op != Opcode::kRemU) return std::nullopt;
    const std::optional<uint64_t> divisor = Number(inst.operands[1]);
    if (!IsWord(inst.type) || !divisor || *divisor < 2 || *divisor > INT32_MAX) return std::nullopt;
    return Term{is_signed ? Term::kSignedQuotient : Term::kUnsignedQuotient, inst.operands[0].index,
                *divisor};
  }

  void Add(Sum& sum, ValueId value, uint64_t factor, int depth) const {
    const ir::Inst* inst = Definition(value);
    const ir::Type type = f_.at_value(value).type;
    auto add_term = [&](const Term& term, uint64_t by) {
      uint64_t& have = sum.terms[term];
      have = Masked(have + by, type);
    };
    auto add_value = [&] { add_term({Term::kValue, value.index, 0}, factor); };
    if (inst == nullptr || inst->attrs.flags != 0 || depth == 0 || sum.terms.size() > kMaxBefore)
      return add_value();
    if (const std::optional<Term> quotient = QuotientOf(*inst)) {
      if (inst->op == Opcode::kDivS || inst->op == Opcode::kDivU) return add_term(*quotient, factor);
      add_term({Term::kValue, quotient->first, 0}, factor);
      return add_term(*quotient, Masked(0 - factor * quotient->second, type));
    }
    if (dividends_.contains(value.index)) return add_value();
    if (inst->op == Opcode::kConst) {
      sum.constant = Masked(sum.constant + factor * static_cast<uint64_t>(inst->attrs.bits), type);
    } else if (inst->op == Opcode::kAdd || inst->op == Opcode::kSub) {
      Add(sum, inst->operands[0], factor, depth - 1);
      Add(sum, inst->operands[1], inst->op == Opcode::kAdd ? factor : Masked(0 - factor, type), depth - 1);
    } else if (inst->op == Opcode::kMul) {
      for (size_t n = 0; n < 2; ++n) {
        if (const auto number = Number(inst->operands[n]))
          return Add(sum, inst->operands[1 - n], Masked(factor * *number, type), depth - 1);
      }
      const auto [low, high] = std::minmax(inst->operands[0].index, inst->operands[1].index);
      add_term({Term::kProduct, low, high}, factor);
    } else if (inst->op == Opcode::kShl &&
               Number(inst->operands[1]).value_or(64) < (type == ir::Type::kI32 ? 32 : 64)) {
      Add(sum, inst->operands[0], Masked(factor << *Number(inst->operands[1]), type), depth - 1);
    } else {
      add_value();
    }
  }

  void Rewrite(ir::InstId id) {
    const ir::Inst inst = f_.at_inst(id);
    if ((inst.op != Opcode::kAdd && inst.op != Opcode::kSub) || inst.attrs.flags != 0 || !IsWord(inst.type))
      return;
    if (dividends_.contains(inst.results[0].index)) return;
    Sum sum;
    for (size_t n = 0; n < 2; ++n)
      Add(sum, inst.operands[n], n == 1 && inst.op == Opcode::kSub ? Masked(~uint64_t{0}, inst.type) : 1,
          kMaxDepthOfQuotient);
    const auto cancels = [](const auto& term) { return term.second == 0 && term.first.kind != Term::kValue; };
    if (std::ranges::none_of(sum.terms, cancels)) return;
    std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
    const bool are_values =
        std::ranges::all_of(sum.terms, [](const auto& term) { return term.first.kind == Term::kValue; });
    if (are_values && sum.terms.size() <= kMaxTerms) Replace(id, sum);
  }

  ValueId Insert(ir::InstId before, Opcode op, std::vector<ValueId> operands, uint64_t bits = 0) {
    const ir::Inst& at = f_.at_inst(before);
    ir::Inst inst;
    inst.op = op;
    inst.type = at.type;
    inst.operands = std::move(operands);
    inst.attrs.bits = bits;
    inst.at = at.at;
    const ir::BlockId block = at.block;
    const auto& insts = f_.at_block(block).insts;
    const auto where = static_cast<size_t>(std::ranges::find(insts, before) - insts.begin());
    return f_.at_inst(ir::Insert(f_, block, where, std::move(inst))).results[0];
  }

  void Replace(ir::InstId id, const Sum& sum) {
    std::vector<ValueId> parts;
    for (const auto& [term, factor] : sum.terms) {
      const ValueId value{static_cast<uint32_t>(term.first)};
      parts.push_back(
          factor == 1 ? value : Insert(id, Opcode::kMul, {value, Insert(id, Opcode::kConst, {}, factor)}));
    }
    if (sum.constant != 0 || parts.empty()) parts.push_back(Insert(id, Opcode::kConst, {}, sum.constant));
    if (parts.size() < 2) parts.push_back(Insert(id, Opcode::kConst, {}, 0));
    while (parts.size() > 2) {
      const ValueId last = parts.back();
      parts.pop_back();
      parts.back() = Insert(id, Opcode::kAdd, {parts.back(), last});
    }
    ir::Inst& inst = f_.inst(id);
    inst.op = Opcode::kAdd;
    inst.operands = parts;
  }

  ir::Function& f_;
  std::set<uint32_t> dividends_;  // are terms themselves
};

}  // namespace

Status CancelQuotients(ir::Module&, ir::Function& f, const PassOptions&) {
  Canceller(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
