// Generic addresses that are computed from a local or shared one are computed as offsets of that window.
//
//   before                            after
//     %g = to_generic local %x
//     %h = add %g, %i                   %k = add %x, %i
//     %v = load i32 generic %h          %v = load i32 local %k
//     %y = from_generic local %h        (uses of %y are %k)
//
// Compilers keep both forms of a pointer where a function that takes a generic one was inlined. If a generic
// address of local memory remains, the memory of one thread is contiguous; with offsets alone, the words of
// all lanes are interleaved.
#include <algorithm>
#include <vector>

#include "analysis/values/address_space.h"
#include "lowering/passes.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

class Resolver {
 public:
  explicit Resolver(ir::Function& f)
      : f_(f), spaces_(analysis::AnalyzeAddressSpaces(f).spaces), offsets_(f.values.size()) {}

  void Run() {
    FindLinear();
    FindWanted();
    if (wanted_.empty()) return;
    for (ValueId value : wanted_) MakeOffset(value);
    for (ValueId value : wanted_) Connect(value);
    Rewrite();
  }

 private:
  const ir::Inst* Definition(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }

  // The operands whose offsets make up that of the result, by number.
  std::vector<size_t> Bases(const ir::Inst& inst) const {
    if (inst.op == Opcode::kSub) return {0};
    if (inst.op == Opcode::kSelect) return {1, 2};
    if (inst.op == Opcode::kAdd) return {linear_[inst.operands[0].index] ? size_t{0} : size_t{1}};
    return {};
  }

  bool IsLinear(const ir::Inst& inst) const {
    if (inst.op == Opcode::kToGeneric) return true;
    if (inst.op != Opcode::kAdd && inst.op != Opcode::kSub && inst.op != Opcode::kSelect) return false;
    return std::ranges::all_of(Bases(inst), [&](size_t n) { return linear_[inst.operands[n].index]; });
  }

  // Values that are an offset plus where the window begins: at first all that may be.
  void FindLinear() {
    linear_.resize(f_.values.size());
    const auto order = ir::ReversePostOrder(f_);
    for (ir::BlockId block : order) {
      for (ValueId param : f_.at_block(block).params)
        linear_[param.index] = IsWindow(param) && block != f_.entry;
      for (ir::InstId id : f_.at_block(block).insts) {
        for (ValueId result : f_.at_inst(id).results) linear_[result.index] = IsWindow(result);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      const auto give_up = [&](ValueId value) { changed = true, linear_[value.index] = false; };
      for (ir::BlockId block : order) {
        for (ir::InstId id : f_.at_block(block).insts) {
          const ir::Inst& inst = f_.at_inst(id);
          for (ValueId result : inst.results) {
            if (linear_[result.index] && !IsLinear(inst)) give_up(result);
          }
        }
        for (const ir::Edge& edge : f_.successors(block)) {
          for (size_t n = 0; n < edge.args.size(); ++n) {
            const ValueId param = f_.at_block(edge.to).params[n];
            if (linear_[param.index] && !linear_[edge.args[n].index]) give_up(param);
          }
        }
      }
    }
  }

  bool IsWindow(ValueId value) const {
    const Space space = spaces_[value.index];
    return space == Space::kLocal || space == Space::kShared;
  }

  // What reads the address as such: an access, or what makes an offset of it.
  bool IsRewritten(const ir::Inst& inst) const {
    if (inst.operands.empty() || !linear_[inst.operands[0].index]) return false;
    const Space space = spaces_[inst.operands[0].index];
    if (inst.op == Opcode::kFromGeneric) return inst.attrs.space == space;
    if (inst.op == Opcode::kCheckAccess)
      return PTX2CPU_SPACE_OF_ACCESS(inst.attrs.index) == PTX2CPU_SPACE_REAL;
    return inst.attrs.space == Space::kGeneric &&
           (inst.op == Opcode::kLoad || inst.op == Opcode::kStore || inst.op == Opcode::kAtomic ||
            inst.op == Opcode::kAtomicCas);
  }

  void FindWanted() {
    std::vector<bool> seen(f_.values.size());
    const auto want = [&](ValueId value) {
      if (!seen[value.index]) wanted_.push_back(value);
      seen[value.index] = true;
    };
    std::vector<std::vector<const ir::Edge*>> incoming(f_.blocks.size());
    for (ir::BlockId block : ir::ReversePostOrder(f_)) {
      for (ir::InstId id : f_.at_block(block).insts) {
        if (!IsRewritten(f_.at_inst(id))) continue;
        rewritten_.push_back(id);
        want(f_.at_inst(id).operands[0]);
      }
      for (const ir::Edge& edge : f_.successors(block)) incoming[edge.to.index].push_back(&edge);
    }
    for (size_t n = 0; n < wanted_.size(); ++n) {
      const ir::Value& value = f_.at_value(wanted_[n]);
      if (const ir::Inst* def = Definition(wanted_[n])) {
        for (size_t n : Bases(*def)) want(def->operands[n]);
      } else {
        for (const ir::Edge* edge : incoming[value.block.index]) want(edge->args[value.number]);
      }
    }
  }

  // Its operands follow once all offsets exist.
  void MakeOffset(ValueId value) {
    const ir::BlockId block = f_.at_value(value).block;
    const ir::Inst* def = Definition(value);
    if (def == nullptr) {
      offsets_[value.index] = ir::AddParam(f_, block, ir::Type::kI64);
    } else if (def->op == Opcode::kToGeneric) {
      offsets_[value.index] = def->operands[0];
    } else {
      const auto& insts = f_.at_block(block).insts;
      const auto where = std::ranges::find(insts, f_.at_value(value).def) - insts.begin();
      ir::Inst copy;
      copy.op = def->op;
      copy.type = def->type;
      copy.attrs = def->attrs;
      copy.operands = def->operands;
      copy.at = def->at;
      const ir::InstId id = ir::Insert(f_, block, static_cast<size_t>(where) + 1, std::move(copy));
      offsets_[value.index] = f_.at_inst(id).results[0];
    }
  }

  void Connect(ValueId value) {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return ConnectParam(value);
    if (f_.at_inst(def).op == Opcode::kToGeneric) return;
    ir::Inst& copy = f_.inst(f_.at_value(offsets_[value.index]).def);
    for (size_t n : Bases(f_.at_inst(def))) copy.operands[n] = offsets_[copy.operands[n].index];
  }

  // Parameters are connected in the order in which they were added.
  void ConnectParam(ValueId param) {
    const ir::Value& value = f_.at_value(param);
    for (ir::BlockId block : ir::ReversePostOrder(f_)) {
      for (ir::Edge& edge : f_.inst(f_.at_block(block).insts.back()).edges) {
        if (edge.to == value.block) edge.args.push_back(offsets_[edge.args[value.number].index]);
      }
    }
  }

  // The window offset of a variable's address, which insert-checks has made generic; other operands stay.
  ValueId WindowOffset(ValueId base) const {
    const ir::InstId def = f_.at_value(base).def;
    const bool is_generic = def.valid() && f_.at_inst(def).op == Opcode::kToGeneric;
    return is_generic ? f_.at_inst(def).operands[0] : base;
  }

  void Rewrite() {
    std::vector<ValueId> replaced(f_.values.size());
    for (ir::InstId id : rewritten_) {
      ir::Inst& inst = f_.inst(id);
      const ValueId address = inst.operands[0], offset = offsets_[address.index];
      if (inst.op == Opcode::kFromGeneric) {
        replaced[inst.results[0].index] = offset;
      } else if (inst.op == Opcode::kCheckAccess) {
        const bool shared = spaces_[address.index] == Space::kShared;
        inst.operands[0] = offset;
        inst.operands[3] = WindowOffset(inst.operands[3]);
        inst.attrs.index |= (shared ? PTX2CPU_SPACE_SHARED : PTX2CPU_SPACE_LOCAL)
                            << PTX2CPU_ACCESS_SPACE_SHIFT;
      } else {
        inst.operands[0] = offset;
        inst.attrs.space = spaces_[address.index];
      }
    }
    ir::ReplaceUses(f_, replaced);
  }

  ir::Function& f_;
  const std::vector<Space> spaces_;
  std::vector<bool> linear_;
  std::vector<ValueId> wanted_;
  std::vector<ir::InstId> rewritten_;
  std::vector<ValueId> offsets_;  // per value that is wanted
};

bool MakesGenericAddresses(const ir::Function& f) {
  return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.op == Opcode::kToGeneric && inst.block.valid() &&
           (inst.attrs.space == Space::kLocal || inst.attrs.space == Space::kShared);
  });
}

}  // namespace

Status ResolveGenericAddresses(ir::Module&, ir::Function& f, const PassOptions&) {
  if (!MakesGenericAddresses(f)) return {};
  ir::RemoveUnreachableBlocks(f);
  Resolver(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
