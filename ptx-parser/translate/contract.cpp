#include "ptx-parser/translate/contract.h"

#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ptx-parser/translate/kept_registers.h"

namespace ptx2cpu::ptx {

namespace {

using ir::InstId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr uint32_t kNone = ~0u;

// A product as an operand of a sum.
struct Term {
  InstId product = {};
  bool negated = false;
};

class Contractor {
 public:
  // With kept registers, what keeps them is no use: code to step through computes the same.
  Contractor(ir::Function& f, const std::vector<Unrounded>& unrounded, bool keeps_registers)
      : f_(f),
        unrounded_(unrounded),
        keeps_registers_(keeps_registers),
        statement_block_(f.insts.size(), kNone) {
    for (const Unrounded& one : unrounded) statement_block_[one.inst.index] = one.statement_block;
  }

  void Run() {
    FindUses();
    for (const Unrounded& one : unrounded_) {
      if (IsProduct(one.inst)) AddProduct(one.inst);
    }
    if (sums_of_.empty()) return;
    Choose();
    for (ir::BlockId block : ir::ReversePostOrder(f_)) Rewrite(block);
  }

 private:
  bool IsUnrounded(InstId id) const { return statement_block_[id.index] != kNone; }
  bool IsProduct(InstId id) const {
    const ir::Inst& inst = f_.at_inst(id);
    return IsUnrounded(id) && inst.op == Opcode::kFMul && (inst.attrs.flags & ir::kSat) == 0;
  }
  bool IsSum(InstId id) const {
    const Opcode op = f_.at_inst(id).op;
    return IsUnrounded(id) && (op == Opcode::kFAdd || op == Opcode::kFSub);
  }

  void FindUses() {
    users_.resize(f_.values.size());
    is_passed_.resize(f_.values.size());
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (InstId id : block.insts) {
        if (keeps_registers_ && KeptRegisters::IsKeeping(f_.at_inst(id))) continue;
        for (ValueId operand : f_.at_inst(id).operands) users_[operand.index].push_back(id);
        for (const ir::Edge& edge : f_.at_inst(id).edges) {
          for (ValueId arg : edge.args) is_passed_[arg.index] = true;
        }
      }
    }
  }

  // -- which sums use a product --

  void AddProduct(InstId product) {
    std::vector<InstId> sums;
    if (!CollectSums(product, f_.at_inst(product).results[0], sums) || sums.empty()) return;
    std::ranges::sort(sums, {}, &InstId::index);
    if (std::ranges::adjacent_find(sums) != sums.end()) return;  // a sum with itself
    if (sums_of_.empty()) sums_of_.resize(f_.insts.size());
    sums_of_[product.index] = std::move(sums);
  }

  // Through negations, registers without a type, and packed pairs. False: there is another use.
  bool CollectSums(InstId product, ValueId value, std::vector<InstId>& sums) const {
    if (is_passed_[value.index]) return false;
    return std::ranges::all_of(users_[value.index], [&](InstId user) {
      const ir::Inst& inst = f_.at_inst(user);
      if (IsSum(user)) {
        sums.push_back(user);
        return GoTogether(product, user);
      }
      if (IsPlainNegation(inst) || inst.op == Opcode::kBitcast)
        return CollectSums(product, inst.results[0], sums);
      return inst.op == Opcode::kPack && CollectFromPair(product, value, inst, sums);
    });
  }

  bool CollectFromPair(InstId product, ValueId value, const ir::Inst& pack, std::vector<InstId>& sums) const {
    const ValueId pair = pack.results[0];
    if (is_passed_[pair.index]) return false;
    return std::ranges::all_of(users_[pair.index], [&](InstId user) {
      const ir::Inst& unpack = f_.at_inst(user);
      if (unpack.op != Opcode::kUnpack || unpack.results.size() != pack.operands.size()) return false;
      for (size_t n = 0; n < pack.operands.size(); ++n) {
        if (pack.operands[n] == value && !CollectSums(product, unpack.results[n], sums)) return false;
      }
      return true;
    });
  }

  static bool IsPlainNegation(const ir::Inst& inst) {
    return inst.op == Opcode::kFNeg && inst.attrs.flags == 0;
  }

  bool GoTogether(InstId product, InstId sum) const {
    const ir::Inst &a = f_.at_inst(product), &b = f_.at_inst(sum);
    return a.type == b.type && (a.attrs.flags & ir::kFtz) == (b.attrs.flags & ir::kFtz) &&
           statement_block_[product.index] == statement_block_[sum.index];
  }

  // -- which of two --

  // The product that an operand is, if its sums are known.
  Term TermOf(ValueId value) const {
    Term term;
    while (true) {
      const InstId def = f_.at_value(value).def;
      if (!def.valid()) return {};
      const ir::Inst& inst = f_.at_inst(def);
      if (IsProduct(def)) {
        term.product = def;
        return sums_of_[def.index].empty() ? Term{} : term;
      }
      if (IsPlainNegation(inst)) {
        term.negated = !term.negated;
        value = inst.operands[0];
      } else if (inst.op == Opcode::kBitcast) {
        value = inst.operands[0];
      } else if (inst.op == Opcode::kUnpack) {
        const InstId pack = f_.at_value(inst.operands[0]).def;
        if (!pack.valid() || f_.at_inst(pack).op != Opcode::kPack) return {};
        value = f_.at_inst(pack).operands[f_.at_value(value).number];
      } else {
        return {};
      }
    }
  }

  // The number of the operand of a sum that is contracted; kNone: none.
  uint32_t ChoiceOf(InstId sum) const {
    for (uint32_t n = 0; n < 2; ++n) {
      if (TermOf(f_.at_inst(sum).operands[n]).product.valid()) return n;
    }
    return kNone;
  }

  // A product that loses one of its sums stays for it, and so for all. One that keeps them does not lose them
  // when others are dropped.
  void Choose() {
    for (const Unrounded& one : unrounded_) {
      std::vector<InstId>& sums = sums_of_[one.inst.index];
      const bool wins = std::ranges::all_of(sums, [&](InstId sum) {
        return TermOf(f_.at_inst(sum).operands[ChoiceOf(sum)]).product == one.inst;
      });
      if (!wins) sums.clear();
    }
  }

  // -- the new code --

  void Rewrite(ir::BlockId block) {
    const std::vector<InstId> before = std::exchange(f_.block(block).insts, {});
    for (InstId id : before) {
      const bool is_new = id.index >= statement_block_.size();
      const uint32_t choice = !is_new && IsSum(id) ? ChoiceOf(id) : kNone;
      if (choice != kNone) Fuse(id, choice);
      f_.block(block).insts.push_back(id);
    }
  }

  void Fuse(InstId sum, uint32_t choice) {
    const ir::Inst old = f_.at_inst(sum);
    const Term term = TermOf(old.operands[choice]);
    const bool subtracts = old.op == Opcode::kFSub;
    ir::Builder b{f_, old.block, old.at};
    const auto signed_by = [&](bool negative, ValueId value) {
      return negative ? b.Unary(Opcode::kFNeg, old.type, value) : value;
    };
    const std::vector<ValueId> factors(f_.at_inst(term.product).operands.begin(),
                                       f_.at_inst(term.product).operands.end());
    const ValueId a = signed_by(term.negated != (subtracts && choice == 1), factors[0]);
    const ValueId c = signed_by(subtracts && choice == 0, old.operands[1 - choice]);
    ir::Inst& inst = f_.inst(sum);
    inst.op = Opcode::kFFma;
    inst.operands = {a, factors[1], c};
  }

  ir::Function& f_;
  const std::vector<Unrounded>& unrounded_;
  const bool keeps_registers_;
  std::vector<uint32_t> statement_block_;     // by instruction; kNone: rounded as written
  std::vector<std::vector<InstId>> users_;    // by value
  std::vector<bool> is_passed_;               // by value: to a block
  std::vector<std::vector<InstId>> sums_of_;  // by instruction: of a product that can be contracted
};

}  // namespace

void Contract(ir::Function& f, const std::vector<Unrounded>& unrounded, bool keeps_registers) {
  Contractor(f, unrounded, keeps_registers).Run();
}

}  // namespace ptx2cpu::ptx
