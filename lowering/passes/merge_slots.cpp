// Slots that hold the same variable one after the other become one slot, and loops over lanes without any
// work are removed.
//
//   before                                     after
//     l0: %s = slot_load 5 ; ...                 l0: %s = slot_load 5 ; ...
//         slot_store 7, %t ; end_lane                slot_store 5, %t ; end_lane
//     l1: %u = slot_load 7                       (gone, with its for_lanes)
//         slot_store 5, %u ; end_lane
//
// A variable of a loop has a slot as the loop's parameter, one as the value of its last trip and one where
// the loop is left. They become one where a copy connects them and neither holds a value that is still needed
// when the other is stored (Chaitin's interference). Liveness is that of a single thread: it runs the code of
// a loop over lanes, then the code after the loop.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/regions/slot_liveness.h"
#include "ir/edit.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;

constexpr uint32_t kNone = ~0u;
constexpr size_t kMaxCandidates = 256;  // slots in copies

class Merger {
 public:
  explicit Merger(ir::Function& f) : f_(f), parent_(f.slots.size()), is_candidate_(f.slots.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }

  void Run() {
    FindCopies();
    if (!copies_.empty() && candidates_ <= kMaxCandidates) {
      FindInterference(analysis::SlotLiveness(f_, is_candidate_, kMaxCandidates));
      for (auto [to, from] : copies_) Merge(to, from);
      Rename();
    }
    RemoveIdleLoops();
  }

 private:
  const ir::Inst* StoredFrom(const ir::Inst& store) const {
    const ir::InstId def = f_.at_value(store.operands[0]).def;
    if (!def.valid() || f_.at_inst(def).op != Opcode::kSlotLoad) return nullptr;
    return &f_.at_inst(def);
  }

  bool OfLanes(uint32_t slot) const { return f_.slots[slot].shape == ir::Level::kLane; }

  template <typename Visit>
  void EachInst(BlockId block, Visit visit) const {
    for (ir::InstId id : f_.at_block(block).insts) visit(f_.at_inst(id));
  }

  void FindCopies() {
    order_ = ir::ReversePostOrder(f_);
    for (BlockId block : order_) {
      EachInst(block, [&](const ir::Inst& inst) {
        if (inst.op != Opcode::kSlotStore || !OfLanes(inst.attrs.index)) return;
        const ir::Inst* load = StoredFrom(inst);
        if (load == nullptr || !OfLanes(load->attrs.index) || load->attrs.index == inst.attrs.index) return;
        if (f_.slots[load->attrs.index].type != f_.slots[inst.attrs.index].type) return;
        copies_.push_back({inst.attrs.index, load->attrs.index});
        for (uint32_t slot : {inst.attrs.index, load->attrs.index}) {
          candidates_ += !is_candidate_[slot];
          is_candidate_[slot] = true;
        }
      });
    }
  }

  void FindInterference(const analysis::SlotLiveness& liveness) {
    liveness.EachStore([&](const ir::Inst& store, const std::set<uint32_t>& others) {
      for (uint32_t other : others) {
        const uint32_t slot = store.attrs.index;
        if (!Copies(store, other)) interferes_.insert({std::min(slot, other), std::max(slot, other)});
      }
    });
  }

  // The store leaves the same value in both slots.
  bool Copies(const ir::Inst& store, uint32_t slot) const {
    const ir::Inst* load = StoredFrom(store);
    if (load == nullptr || load->attrs.index != slot) return false;
    bool stored = false;
    for (BlockId within : {store.block, load->block}) {
      EachInst(within, [&](const ir::Inst& inst) {
        stored |= inst.op == Opcode::kSlotStore && inst.attrs.index == slot;
      });
    }
    return !stored;
  }

  // -- merging --
  uint32_t Find(uint32_t slot) {
    while (parent_[slot] != slot) slot = parent_[slot] = parent_[parent_[slot]];
    return slot;
  }

  void Merge(uint32_t a, uint32_t b) {
    a = Find(a), b = Find(b);
    if (a == b) return;
    for (auto [m, n] : interferes_) {
      const uint32_t x = Find(m), y = Find(n);
      if ((x == a && y == b) || (x == b && y == a)) return;
    }
    parent_[std::max(a, b)] = std::min(a, b);
  }

  void Rename() {
    std::vector<uint32_t> renamed(f_.slots.size());
    std::vector<ir::Slot> kept;
    for (uint32_t slot = 0; slot < f_.slots.size(); ++slot) {
      if (Find(slot) == slot) {
        renamed[slot] = static_cast<uint32_t>(kept.size());
        kept.push_back(f_.slots[slot]);
      } else {
        renamed[slot] = renamed[Find(slot)];
      }
    }
    f_.slots = std::move(kept);
    std::vector<ir::InstId> needless;
    for (BlockId block : order_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        ir::Inst& inst = f_.inst(id);
        if (inst.op != Opcode::kSlotLoad && inst.op != Opcode::kSlotStore) continue;
        inst.attrs.index = renamed[inst.attrs.index];
      }
    }
    for (BlockId block : order_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op != Opcode::kSlotStore || !OfLanes(inst.attrs.index)) continue;
        const ir::Inst* load = StoredFrom(inst);
        if (load != nullptr && load->attrs.index == inst.attrs.index && !StoredBetween(*load, inst))
          needless.push_back(id);
      }
    }
    ir::RemoveAll(f_, needless);
    if (f_.parked_slot != kNone) f_.parked_slot = renamed[f_.parked_slot];
  }

  // Merged slots do not interfere, so that only a store of the same block can be between the two.
  bool StoredBetween(const ir::Inst& load, const ir::Inst& store) const {
    bool between = false;
    EachInst(store.block, [&](const ir::Inst& inst) {
      between |= inst.op == Opcode::kSlotStore && &inst != &store && inst.attrs.index == load.attrs.index;
    });
    return between;
  }

  // -- loops without effect --
  void RemoveIdleLoops() {
    RemoveUnused();
    for (BlockId block : order_) {
      ir::Inst& end = f_.inst(f_.at_block(block).insts.back());
      if (end.op != Opcode::kForLanes || end.edges.size() != 2 || !IsIdle(end.edges[0].to)) continue;
      end.op = Opcode::kBr;
      end.edges.erase(end.edges.begin());
    }
    ir::RemoveUnreachableBlocks(f_);
  }

  // Values from which nothing follows.
  void RemoveUnused() {
    std::vector<uint32_t> uses(f_.values.size());
    for (BlockId block : order_) {
      EachInst(block, [&](const ir::Inst& inst) {
        for (ir::ValueId operand : inst.operands) ++uses[operand.index];
        for (const ir::Edge& edge : inst.edges) {
          for (ir::ValueId arg : edge.args) ++uses[arg.index];
        }
      });
    }
    std::vector<ir::InstId> unused;
    for (size_t i = order_.size(); i-- > 0;) {
      const std::vector<ir::InstId>& insts = f_.at_block(order_[i]).insts;
      for (size_t n = insts.size(); n-- > 0;) {
        const ir::Inst& inst = f_.at_inst(insts[n]);
        const bool removable = ir::Info(inst.op).effect == ir::Effect::kPure ||
                               inst.op == Opcode::kSlotLoad ||
                               (inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam);
        if (!removable || inst.results.empty() ||
            std::ranges::any_of(inst.results, [&](ir::ValueId r) { return uses[r.index] != 0; }))
          continue;
        for (ir::ValueId operand : inst.operands) --uses[operand.index];
        unused.push_back(insts[n]);
      }
    }
    ir::RemoveAll(f_, unused);
  }

  bool IsIdle(BlockId entry) const {
    std::vector<BlockId> found{entry};
    for (size_t i = 0; i < found.size(); ++i) {
      const std::vector<ir::InstId>& insts = f_.at_block(found[i]).insts;
      const ir::Inst& end = f_.terminator(found[i]);
      if (insts.size() != 1 || (end.op != Opcode::kBr && end.op != Opcode::kEndLane)) return false;
      for (const ir::Edge& edge : end.edges) {
        if (std::ranges::find(found, edge.to) != found.end()) return false;  // an endless loop
        found.push_back(edge.to);
      }
    }
    return true;
  }

  ir::Function& f_;
  std::vector<BlockId> order_;
  std::vector<std::pair<uint32_t, uint32_t>> copies_;  // to, from
  std::vector<uint32_t> parent_;                       // by slot: of those that become one
  std::vector<bool> is_candidate_;                     // by slot: it is copied to or from
  size_t candidates_ = 0;
  std::set<std::pair<uint32_t, uint32_t>> interferes_;
};

}  // namespace

Status MergeSlots(ir::Module&, ir::Function& f, const PassOptions&) {
  Merger(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
