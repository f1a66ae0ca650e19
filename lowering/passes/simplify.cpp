// Simplification that reduces regions and slots; not an optimiser (LLVM is).
//
//   before                              after
//     cond_br true, a, b                  br a
//     a(%p): ... with %p = %x always      a: ... %x
//     br c ; c entered from here only     the instructions of c
//     %d = add %x, %y, unused             (gone)
//     %l = trunc i32 from zext %x         %x
//     loop(%m): %n = ballot %p, %m        (gone, if nothing but the vote itself uses %n)
#include <algorithm>

#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::ValueId;

class Simplifier {
 public:
  explicit Simplifier(ir::Function& f) : f_(f) {}

  void Run() {
    for (bool changed = true; changed;) {
      ir::RemoveUnreachableBlocks(f_);
      changed = FoldBranches();
      if (changed) ir::RemoveUnreachableBlocks(f_);
      changed |= DropParams();
      changed |= MergeBlocks();
    }
    DropWidenings();
    DropDead();
  }

  // The low bits of a number that was widened are the number: an index that is also the offset of an address.
  void DropWidenings() {
    std::vector<ValueId> replaced(f_.values.size());
    for (const ir::BlockId block : ir::ReversePostOrder(f_)) {
      for (const ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op != Opcode::kTrunc) continue;
        const ir::InstId def = f_.at_value(inst.operands[0]).def;
        if (!def.valid()) continue;
        const ir::Inst& widens = f_.at_inst(def);
        const bool is_widening = widens.op == Opcode::kZext || widens.op == Opcode::kSext;
        if (is_widening && f_.type_of(widens.operands[0]) == f_.type_of(inst.results[0]))
          replaced[inst.results[0].index] = widens.operands[0];
      }
    }
    ir::ReplaceUses(f_, replaced);
  }

  // A parameter that receives the same value (or itself) over every edge is that value.
  bool DropParams() {
    std::vector<std::vector<ir::Edge*>> incoming(f_.blocks.size());
    for (ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ir::Edge& edge : f_.inst(block.insts.back()).edges) incoming[edge.to.index].push_back(&edge);
    }
    std::vector<ValueId> replaced(f_.values.size());
    bool changed = false;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      ir::Block& block = f_.blocks[b];
      if (block.removed || ir::BlockId{b} == f_.entry) continue;
      for (size_t n = block.params.size(); n-- > 0;) {
        ValueId same = OnlySource(incoming[b], n, block.params[n], replaced);
        if (!same.valid()) continue;
        replaced[block.params[n].index] = same;
        block.params.erase(block.params.begin() + static_cast<ptrdiff_t>(n));
        for (ir::Edge* edge : incoming[b]) edge->args.erase(edge->args.begin() + static_cast<ptrdiff_t>(n));
        changed = true;
      }
      for (uint32_t n = 0; n < block.params.size(); ++n) f_.values[block.params[n].index].number = n;
    }
    if (changed) ir::ReplaceUses(f_, replaced);
    return changed;
  }

 private:
  const ir::Inst* Definition(ValueId value) const {
    ir::InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }

  bool FoldBranches() {
    bool changed = false;
    for (ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      ir::Inst& branch = f_.inst(block.insts.back());
      if (branch.op != Opcode::kCondBr && branch.op != Opcode::kSwitch) continue;
      size_t taken = branch.edges.size();
      const ir::Inst* decision = Definition(branch.operands[0]);
      if (decision && decision->op == Opcode::kConst) {
        uint64_t bits = decision->attrs.bits;
        taken = branch.op == Opcode::kCondBr ? (bits & 1 ? 0 : 1)
                                             : std::min<uint64_t>(bits, branch.edges.size() - 1);
      } else if (std::all_of(branch.edges.begin(), branch.edges.end(), [&](const ir::Edge& e) {
                   return e.to == branch.edges[0].to && e.args == branch.edges[0].args;
                 })) {
        taken = 0;
      }
      if (taken == branch.edges.size()) continue;
      ir::Edge edge = branch.edges[taken];
      branch.op = Opcode::kBr;
      branch.attrs = {};
      branch.operands.clear();
      branch.edges = {std::move(edge)};
      changed = true;
    }
    return changed;
  }

  ValueId OnlySource(const std::vector<ir::Edge*>& edges, size_t n, ValueId param,
                     const std::vector<ValueId>& replaced) const {
    ValueId same;
    for (const ir::Edge* edge : edges) {
      ValueId arg = edge->args[n];
      while (replaced[arg.index].valid()) arg = replaced[arg.index];
      if (arg == param || arg == same) continue;
      if (same.valid()) return {};
      same = arg;
    }
    return same;
  }

  // A block that is the only successor of its only predecessor moves up into it.
  bool MergeBlocks() {
    std::vector<uint32_t> entries(f_.blocks.size());
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (const ir::Edge& edge : f_.at_inst(block.insts.back()).edges) ++entries[edge.to.index];
    }
    bool changed = false;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      while (!f_.blocks[b].removed) {
        const ir::Inst& branch = f_.terminator({b});
        if (branch.op != Opcode::kBr) break;
        ir::BlockId next = branch.edges[0].to;
        if (next == f_.entry || next.index == b || entries[next.index] != 1 ||
            !f_.at_block(next).params.empty())
          break;
        Absorb({b}, next);
        changed = true;
      }
    }
    return changed;
  }

  void Absorb(ir::BlockId block, ir::BlockId next) {
    f_.inst(f_.at_block(block).insts.back()).block = {};
    f_.block(block).insts.pop_back();
    for (ir::InstId id : f_.at_block(next).insts) {
      f_.inst(id).block = block;
      for (ValueId result : f_.at_inst(id).results) f_.values[result.index].block = block;
      f_.block(block).insts.push_back(id);
    }
    if (f_.at_block(block).label.empty()) f_.block(block).label = f_.at_block(next).label;
    f_.block(next).insts.clear();
    f_.block(next).removed = true;
  }

  // Pure instructions and block parameters that nothing with an effect needs, directly or through others.
  void DropDead() {
    std::vector<bool> needed(f_.values.size());
    std::vector<ValueId> work;
    auto need = [&](ValueId value) {
      if (!needed[value.index]) work.push_back(value);
      needed[value.index] = true;
    };
    FindUsed();
    std::vector<std::vector<const ir::Edge*>> incoming(f_.blocks.size());
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ir::InstId id : block.insts) {
        if (!Removable(f_.at_inst(id))) {
          for (ValueId operand : f_.at_inst(id).operands) need(operand);
        }
      }
      for (const ir::Edge& edge : f_.at_inst(block.insts.back()).edges)
        incoming[edge.to.index].push_back(&edge);
    }
    if (!f_.is_kernel) {
      for (ValueId param : f_.at_block(f_.entry).params) need(param);
    }
    while (!work.empty()) {
      ValueId value = work.back();
      work.pop_back();
      if (const ir::Inst* def = Definition(value)) {
        for (ValueId operand : def->operands) need(operand);
      } else {
        for (const ir::Edge* edge : incoming[f_.at_value(value).block.index])
          need(edge->args[f_.at_value(value).number]);
      }
    }
    Sweep(needed);
  }

  void FindUsed() {
    used_.assign(f_.values.size(), false);
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ir::InstId id : block.insts) {
        for (ValueId operand : f_.at_inst(id).operands) used_[operand.index] = true;
        for (const ir::Edge& edge : f_.at_inst(id).edges) {
          for (ValueId argument : edge.args) used_[argument.index] = true;
        }
      }
    }
  }

  // A vote that only computes the members of its own next turn, as in look-back loops of radix sorts. A vote
  // whose result has no use at all makes the lanes meet, and stays.
  bool VotesForItself(const ir::Inst& inst) const {
    return inst.op == Opcode::kBallot && ir::HasMembermask(inst.op, inst.attrs.flags) &&
           used_[inst.results[0].index];
  }

  bool Removable(const ir::Inst& inst) const {
    if (inst.op == Opcode::kAgree || inst.op == Opcode::kAgreeIndex) return false;
    return VotesForItself(inst) || ir::Info(inst.op).effect == ir::Effect::kPure ||
           (inst.op == Opcode::kLoad && inst.attrs.order == ir::MemoryOrder::kWeak &&
            (inst.attrs.space == ir::Space::kParam || inst.attrs.space == ir::Space::kConst));
  }

  void Sweep(const std::vector<bool>& needed) {
    auto dead = [&](ValueId value) { return !needed[value.index]; };
    for (ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ir::Edge& edge : f_.inst(block.insts.back()).edges) {
        const auto& params = f_.at_block(edge.to).params;
        for (size_t n = params.size(); n-- > 0;) {
          if (dead(params[n])) edge.args.erase(edge.args.begin() + static_cast<ptrdiff_t>(n));
        }
      }
      std::erase_if(block.insts, [&](ir::InstId id) {
        ir::Inst& inst = f_.inst(id);
        if (!Removable(inst) || !std::all_of(inst.results.begin(), inst.results.end(), dead)) return false;
        inst.block = {};
        return true;
      });
    }
    for (ir::Block& block : f_.blocks) {
      if (!block.removed) std::erase_if(block.params, dead);
      for (uint32_t n = 0; n < block.params.size(); ++n) f_.values[block.params[n].index].number = n;
    }
  }

  ir::Function& f_;
  std::vector<bool> used_;  // values that are an operand or argument of something
};

}  // namespace

bool DropRedundantParams(ir::Function& f) {
  bool any = false;
  while (Simplifier(f).DropParams()) any = true;
  return any;
}

Status Simplify(ir::Module&, ir::Function& f, const PassOptions&) {
  Simplifier(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
