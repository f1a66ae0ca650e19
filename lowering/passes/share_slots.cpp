// Lane slots that are never live at the same time share one slot.
//
//   before                                       after
//     slot_store 0, %a ; barrier                   slot_store 0, %a ; barrier
//     %x = slot_load 0 ; slot_store 1, %b ;        %x = slot_load 0 ; slot_store 0, %b ;
//     barrier ; %y = slot_load 1                   barrier ; %y = slot_load 0
//
// Unrolled code has a value of its own for each copy of a loop's body, and collapsing gives each its own
// array for all threads of the block: thousands of arrays where a cache holds a hundred. Two slots interfere
// where one is live when the other is stored (Chaitin); the slots are coloured in the order of the code.
// Liveness is that of a single thread, as in merge_slots.cpp: a thread runs one arm of a divergent branch, so
// this pass comes before lanes wait for those of the other arm. Slots of one turn of a warp become registers
// and stay as they are; so do the slots by which suspended lanes exchange values with the operation that they
// wait for.
#include <algorithm>
#include <set>

#include "analysis/lanes/slots_of_turn.h"
#include "analysis/regions/slot_liveness.h"
#include "ir/function.h"
#include "ir/verify/verify.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;

constexpr size_t kFewSlots = 32;  // they fit into any cache
constexpr size_t kMaxLive = 256;  // at one place: time grows with the square, and little would be shared
constexpr uint32_t kNoSharedSlot = ~0u;

class Sharing {
 public:
  explicit Sharing(ir::Function& f)
      : f_(f), order_(ir::ReversePostOrder(f)), number_(f.slots.size(), kNoSharedSlot) {
    std::vector<bool> keeps = ir::HasDivergentBranches(f) ? std::vector<bool>(f.slots.size())
                                                          : analysis::FindSlotsOfTurn(f).is_of_turn;
    if (f.resumes == ir::Resumes::kLanes) KeepMail(keeps);
    for (BlockId block : order_) {
      EachAccess(block, [&](uint32_t slot) {
        if (number_[slot] != kNoSharedSlot || f.slots[slot].shape != ir::Level::kLane || keeps[slot]) return;
        number_[slot] = static_cast<uint32_t>(candidates_.size());
        candidates_.push_back(slot);
      });
    }
  }

  void Run() {
    if (candidates_.size() <= kFewSlots) return;
    std::vector<bool> is_candidate(f_.slots.size());
    for (uint32_t slot : candidates_) is_candidate[slot] = true;
    const analysis::SlotLiveness liveness(f_, std::move(is_candidate), kMaxLive);
    if (liveness.gave_up()) return;
    FindInterference(liveness);
    Rename(Colour());
  }

 private:
  using Numbers = std::set<uint32_t>;

  template <typename Visit>
  void EachAccess(BlockId block, const Visit& visit) const {
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) visit(inst.attrs.index);
    }
  }

  void KeepMail(std::vector<bool>& keeps) const {
    for (BlockId block : order_) {
      if (f_.at_block(block).level == ir::Level::kLane) continue;
      EachAccess(block, [&](uint32_t slot) { keeps[slot] = true; });
    }
  }

  void FindInterference(const analysis::SlotLiveness& liveness) {
    interferes_.resize(candidates_.size());
    liveness.EachStore([&](const ir::Inst& store, const std::set<uint32_t>& others) {
      const uint32_t n = number_[store.attrs.index];
      for (uint32_t slot : others) {
        interferes_[n].insert(number_[slot]);
        interferes_[number_[slot]].insert(n);
      }
    });
  }

  // By candidate: the one whose slot it gets.
  std::vector<uint32_t> Colour() const {
    std::vector<uint32_t> owner(candidates_.size()), owners;
    for (uint32_t n = 0; n < candidates_.size(); ++n) {
      Numbers taken;
      for (uint32_t m : interferes_[n]) {
        if (m < n) taken.insert(owner[m]);
      }
      const auto free = std::ranges::find_if(owners, [&](uint32_t m) {
        return f_.slots[candidates_[m]].type == f_.slots[candidates_[n]].type && !taken.contains(m);
      });
      owner[n] = free == owners.end() ? n : *free;
      if (owner[n] == n) owners.push_back(n);
    }
    return owner;
  }

  void Rename(const std::vector<uint32_t>& owner) {
    std::vector<uint32_t> renamed(f_.slots.size());
    std::vector<ir::Slot> kept;
    for (uint32_t slot = 0; slot < f_.slots.size(); ++slot) {
      const uint32_t n = number_[slot];
      if (n != kNoSharedSlot && owner[n] != n) continue;
      renamed[slot] = static_cast<uint32_t>(kept.size());
      kept.push_back(f_.slots[slot]);
    }
    for (BlockId block : order_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        ir::Inst& inst = f_.inst(id);
        if (inst.op != Opcode::kSlotLoad && inst.op != Opcode::kSlotStore) continue;
        const uint32_t n = number_[inst.attrs.index];
        inst.attrs.index = renamed[n == kNoSharedSlot ? inst.attrs.index : candidates_[owner[n]]];
      }
    }
    f_.slots = std::move(kept);
  }

  ir::Function& f_;
  const std::vector<BlockId> order_;
  std::vector<uint32_t> number_, candidates_;  // by slot, and back
  std::vector<Numbers> interferes_;            // by candidate
};

}  // namespace

Status ShareSlotsOfArms(ir::Module&, ir::Function& f, const PassOptions&) {
  if (f.resumes == ir::Resumes::kNever && ir::HasDivergentBranches(f)) Sharing(f).Run();
  return {};
}

Status ShareSlots(ir::Module&, ir::Function& f, const PassOptions&) {
  // Elsewhere a thread continues where its graph does not lead.
  const bool follows = f.resumes == ir::Resumes::kNever
                           ? f.parked_slot == ~0u
                           : f.resumes == ir::Resumes::kLanes && !ir::RunsTogether(f);
  if (follows) Sharing(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
