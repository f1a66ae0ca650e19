// Warp-level code that only simple lane code interrupts becomes one block, in which values go from one
// instruction to the next without slots.
//
//   before                                             after
//     w0 [warp]: %m = shuffle %x ... ; slot_store 1, %m     w0 [warp]: %m = shuffle %x ...
//                for_lanes l0, w1                                      %s = add %m, %x
//     l0 [lane]: %a = slot_load 1 ; %s = add %a, %x                    %n = shuffle %s ...
//                slot_store 2, %s ; end_lane
//     w1 [warp]: %t = slot_load 2 ; %n = shuffle %t ...
//
// Lane code qualifies where it is short, straight and pure: then all lanes of the warp may execute it at
// once, even lanes that do not run, and no loop over lanes is needed. Between a reduction's shuffles, and
// between the loads and products of matrices, nothing else remains. A slot's value is known from its store or
// load to the next store, along code that has one predecessor each (value numbering over extended basic
// blocks: Muchnick, section 12.4).
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/graph/reached_blocks.h"
#include "ir/function.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

constexpr size_t kMaxJoined = 40;  // of lane code, without what is free

bool IsSlotAccess(Opcode op) { return op == Opcode::kSlotLoad || op == Opcode::kSlotStore; }

class WarpCodeJoiner {
 public:
  explicit WarpCodeJoiner(ir::Function& f)
      : f_(f),
        reached_(f),
        incoming_(f.blocks.size()),
        in_turn_(f.blocks.size()),
        done_(f.blocks.size()),
        replaced_(f.values.size()) {}

  void Run() {
    for (BlockId block : ir::ReversePostOrder(f_)) {
      for (const ir::Edge& edge : f_.successors(block)) ++incoming_[edge.to.index];
    }
    ++incoming_[f_.entry.index];
    FindTurnsWithCollectives();
    for (BlockId block : ir::ReversePostOrder(f_)) Lift(block);
    for (BlockId block : ir::ReversePostOrder(f_)) Merge(block);
    ir::RemoveUnreachableBlocks(f_);
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (f_.at_block(block).level == Level::kWarp) Number(block);
    }
    ir::ReplaceUses(f_, replaced_);
    RemoveNeedless();
    DropSlots();
  }

 private:
  // -- lane code that the warp executes at once --

  // Where nothing crosses lanes, a loop over them is all there is, and its width is better chosen for it.
  void FindTurnsWithCollectives() {
    for (BlockId loop : ir::ReversePostOrder(f_)) {
      if (f_.terminator(loop).op != Opcode::kForWarps) continue;
      std::vector<BlockId> found{f_.terminator(loop).edges[0].to};
      std::set<BlockId> seen(found.begin(), found.end());
      bool any = false;
      for (size_t n = 0; n < found.size(); ++n) {
        any |= std::ranges::any_of(f_.at_block(found[n]).insts,
                                   [&](InstId id) { return ir::IsCollective(f_.at_inst(id).op); });
        const ir::Inst& end = f_.terminator(found[n]);
        for (size_t e = end.op == Opcode::kForLanes ? 1 : 0; e < end.edges.size(); ++e) {
          if (seen.insert(end.edges[e].to).second) found.push_back(end.edges[e].to);
        }
      }
      if (!any) continue;
      for (BlockId block : found) in_turn_[block.index] = true;
    }
  }

  bool IsParameter(ValueId address) const {
    const ir::InstId def = f_.at_value(address).def;
    if (!def.valid()) return false;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kParamBase) return true;
    if (inst.op != Opcode::kAdd) return false;
    const ir::InstId offset = f_.at_value(inst.operands[1]).def;
    return offset.valid() && f_.at_inst(offset).op == Opcode::kConst && IsParameter(inst.operands[0]);
  }

  // All 32 lanes can execute it at once, whichever of them run.
  bool IsSimple(const ir::Inst& inst) const {
    if (IsSlotAccess(inst.op)) return f_.slots[inst.attrs.index].shape == Level::kLane;
    if (inst.op == Opcode::kLoad) {
      return inst.attrs.space == ir::Space::kParam && inst.results.size() == 1 &&
             IsParameter(inst.operands[0]);
    }
    // Addresses of local memory are each lane's own, and a clock is read by each lane.
    if (inst.op == Opcode::kIsSpace || inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
      return false;
    if (inst.op == Opcode::kSymbol && inst.attrs.space == ir::Space::kLocal) return false;
    if (inst.op == Opcode::kSpecialRegister && (inst.attrs.flags & ir::kVolatile) != 0) return false;
    return ir::Info(inst.op).effect == ir::Effect::kPure && ir::Info(inst.op).cost != ir::Cost::kCostly;
  }

  // The blocks from `entry` to its end_lane, if that is all there is.
  std::vector<BlockId> SimpleCode(BlockId entry) const {
    std::vector<BlockId> chain;
    size_t count = 0;
    for (BlockId at = entry;; at = f_.terminator(at).edges[0].to) {
      const ir::Block& block = f_.at_block(at);
      if (incoming_[at.index] != 1 || !block.params.empty()) return {};
      for (InstId id : block.insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (ir::IsTerminator(inst.op)) continue;
        if (!IsSimple(inst)) return {};
        count += ir::Info(inst.op).cost != ir::Cost::kFree && !IsSlotAccess(inst.op) ? 1 : 0;
      }
      if (count > kMaxJoined) return {};
      chain.push_back(at);
      const Opcode end = f_.terminator(at).op;
      if (end == Opcode::kEndLane) return chain;
      if (end != Opcode::kBr) return {};
    }
  }

  void Lift(BlockId block) {
    if (f_.at_block(block).level != Level::kWarp || !in_turn_[block.index]) return;
    ir::Inst& loop = f_.inst(f_.at_block(block).insts.back());
    if (loop.op != Opcode::kForLanes || loop.edges.size() != 2) return;
    const std::vector<BlockId> chain = SimpleCode(loop.edges[0].to);
    if (chain.empty()) return;
    for (BlockId lifted : chain) f_.block(lifted).level = Level::kWarp;
    ir::Inst& end = f_.inst(f_.at_block(chain.back()).insts.back());
    end.op = Opcode::kBr;
    end.edges = {std::move(loop.edges[1])};
    loop.op = Opcode::kBr;
    loop.edges.resize(1);
  }

  // Appends what follows without a choice.
  void Merge(BlockId block) {
    ir::Block& into = f_.block(block);
    if (into.level != Level::kWarp || into.removed) return;
    while (true) {
      const ir::Inst& end = f_.terminator(block);
      if (end.op != Opcode::kBr) return;
      const ir::Edge edge = end.edges[0];
      ir::Block& next = f_.block(edge.to);
      if (edge.to == block || next.level != Level::kWarp || incoming_[edge.to.index] != 1) return;
      for (size_t n = 0; n < next.params.size(); ++n) replaced_[next.params[n].index] = edge.args[n];
      f_.inst(into.insts.back()).block = BlockId{};
      into.insts.pop_back();
      for (InstId id : next.insts) {
        f_.inst(id).block = block;
        for (ValueId result : f_.at_inst(id).results) f_.values[result.index].block = block;
        into.insts.push_back(id);
      }
      next.insts.clear();
      next.params.clear();
      next.removed = true;
    }
  }

  // -- what is known --

  struct Key {
    Opcode op;
    ir::Type type, from;
    uint64_t bits;
    uint32_t index;
    ir::Special special;
    ir::Compare compare;
    std::vector<ValueId> operands;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Known {
    std::unordered_map<uint32_t, ValueId> of_slot;
    std::unordered_map<uint32_t, InstId> unread;  // the last store of a slot that nothing has loaded since
    std::map<Key, InstId> computed;
  };

  ValueId Latest(ValueId value) const {
    while (replaced_[value.index].valid()) value = replaced_[value.index];
    return value;
  }

  // The block and those that it alone leads to, unless a block before it has led to it.
  void Number(BlockId first) {
    std::vector<std::pair<BlockId, Known>> work;
    work.emplace_back(first, Known{});
    while (!work.empty()) {
      auto [block, known] = std::move(work.back());
      work.pop_back();
      if (done_[block.index]) continue;
      done_[block.index] = true;
      for (InstId id : f_.at_block(block).insts) Visit(id, known);
      const ir::Inst& end = f_.terminator(block);
      if (end.op == Opcode::kForLanes) {
        ForgetChanged(end.edges[0].to, known);
        if (end.edges.size() != 2) known.unread.clear();
      } else if (end.edges.size() != 1) {
        known.unread.clear();
      }
      for (size_t e = end.op == Opcode::kForLanes ? 1 : 0; e < end.edges.size(); ++e) {
        const BlockId to = end.edges[e].to;
        if (f_.at_block(to).level != Level::kWarp || incoming_[to.index] != 1) continue;
        if (e + 1 == end.edges.size()) {
          work.emplace_back(to, std::move(known));
          break;
        }
        work.emplace_back(to, known);
      }
    }
  }

  void Visit(InstId id, Known& known) {
    const ir::Inst& inst = f_.at_inst(id);
    if (inst.op == Opcode::kSlotLoad) {
      const auto it = known.of_slot.find(inst.attrs.index);
      if (it != known.of_slot.end()) {
        replaced_[inst.results[0].index] = it->second;
        needless_.push_back(id);
        return;
      }
      known.of_slot[inst.attrs.index] = inst.results[0];
      known.unread.erase(inst.attrs.index);
      return;
    }
    if (inst.op == Opcode::kSlotStore) {
      const ValueId value = Latest(inst.operands[0]);
      const auto of_slot = known.of_slot.find(inst.attrs.index);
      if (of_slot != known.of_slot.end() && of_slot->second == value) {
        needless_.push_back(id);
        return;
      }
      const auto before = known.unread.find(inst.attrs.index);
      if (before != known.unread.end()) needless_.push_back(before->second);
      known.unread[inst.attrs.index] = id;
      // The lanes of what a narrower slot is given may differ, and it has that of one.
      if (f_.slots[inst.attrs.index].shape == Level::kLane) {
        known.of_slot[inst.attrs.index] = value;
      } else {
        known.of_slot.erase(inst.attrs.index);
      }
      return;
    }
    if (ir::Info(inst.op).effect != ir::Effect::kPure || inst.results.size() != 1 ||
        (inst.attrs.flags & ir::kVolatile) != 0)
      return;
    Key key{inst.op,          inst.type,          inst.from,          inst.attrs.bits,
            inst.attrs.index, inst.attrs.special, inst.attrs.compare, {}};
    for (ValueId operand : inst.operands) key.operands.push_back(Latest(operand));
    const auto [it, is_new] = known.computed.emplace(std::move(key), id);
    if (is_new || f_.at_inst(it->second).attrs != inst.attrs) return;
    replaced_[inst.results[0].index] = f_.at_inst(it->second).results[0];
    needless_.push_back(id);
  }

  void ForgetChanged(BlockId entry, Known& known) {
    for (BlockId block : reached_.From(entry)) {
      for (InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (!IsSlotAccess(inst.op)) continue;
        known.unread.erase(inst.attrs.index);
        if (inst.op == Opcode::kSlotStore) known.of_slot.erase(inst.attrs.index);
      }
    }
  }

  // -- what is left over --

  void Drop(const std::vector<bool>& gone) {
    for (ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      std::erase_if(block.insts, [&](InstId id) {
        if (!gone[id.index]) return false;
        f_.inst(id).block = BlockId{};
        return true;
      });
    }
  }

  // Stores that nothing reads, then what only they used.
  void RemoveNeedless() {
    std::vector<bool> gone(f_.insts.size());
    for (InstId id : needless_) gone[id.index] = true;
    Drop(gone);
    std::vector<uint32_t> uses(f_.values.size()), loads(f_.slots.size());
    const std::vector<BlockId> order = ir::ReversePostOrder(f_);
    for (BlockId block : order) {
      for (InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op == Opcode::kSlotLoad) ++loads[inst.attrs.index];
        for (ValueId operand : inst.operands) ++uses[operand.index];
        for (const ir::Edge& edge : inst.edges) {
          for (ValueId arg : edge.args) ++uses[arg.index];
        }
      }
    }
    for (bool changed = true; std::exchange(changed, false);) {
      for (size_t i = order.size(); i-- > 0;) {
        const std::vector<InstId>& insts = f_.at_block(order[i]).insts;
        for (size_t n = insts.size(); n-- > 0;) {
          const ir::Inst& inst = f_.at_inst(insts[n]);
          if (gone[insts[n].index] || !IsUnused(inst, uses, loads)) continue;
          gone[insts[n].index] = changed = true;
          if (inst.op == Opcode::kSlotLoad) --loads[inst.attrs.index];
          for (ValueId operand : inst.operands) --uses[operand.index];
        }
      }
    }
    Drop(gone);
  }

  bool IsUnused(const ir::Inst& inst, const std::vector<uint32_t>& uses,
                const std::vector<uint32_t>& loads) const {
    if (inst.op == Opcode::kSlotStore) return loads[inst.attrs.index] == 0;
    const bool removable = ir::Info(inst.op).effect == ir::Effect::kPure || inst.op == Opcode::kSlotLoad ||
                           (inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam);
    return removable && !inst.results.empty() &&
           std::ranges::all_of(inst.results, [&](ValueId r) { return uses[r.index] == 0; });
  }

  void DropSlots() {
    constexpr uint32_t kUnused = ~0u;
    std::vector<uint32_t> renamed(f_.slots.size(), kUnused);
    std::vector<ir::Slot> kept;
    for (BlockId block : ir::ReversePostOrder(f_)) {
      for (InstId id : f_.at_block(block).insts) {
        ir::Inst& inst = f_.inst(id);
        if (!IsSlotAccess(inst.op)) continue;
        uint32_t& slot = renamed[inst.attrs.index];
        if (slot == kUnused) {
          slot = static_cast<uint32_t>(kept.size());
          kept.push_back(f_.slots[inst.attrs.index]);
        }
        inst.attrs.index = slot;
      }
    }
    f_.slots = std::move(kept);
  }

  ir::Function& f_;
  analysis::ReachedBlocks reached_;
  std::vector<uint32_t> incoming_;  // edges, by block
  std::vector<bool> in_turn_;       // by block: of a warp's turn that has a collective
  std::vector<bool> done_;          // by block
  std::vector<ValueId> replaced_;   // by value: valid: what it is
  std::vector<InstId> needless_;
};

}  // namespace

Status JoinWarpCode(ir::Module&, ir::Function& f, const PassOptions&) {
  if (f.is_flat || f.resumes > ir::Resumes::kBlocks || f.parked_slot != ~0u) return {};
  WarpCodeJoiner(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
