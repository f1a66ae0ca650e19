// Slots of lanes that are never needed at the same time share one.
//
//   before                                       after
//     slot_store 0, %a ; barrier                   slot_store 0, %a ; barrier
//     %x = slot_load 0 ; slot_store 1, %b ;        %x = slot_load 0 ; slot_store 0, %b ;
//     barrier ; %y = slot_load 1                   barrier ; %y = slot_load 0
//
// Unrolled code has a value of its own for each copy of a loop's body, and collapsing gives each its own
// array for all threads of the block: thousands of arrays where a cache holds a hundred. Two slots interfere
// where one is live when the other is stored (Chaitin); the slots are coloured in the order of the code. What
// is live is asked for a single thread, as in merge_slots.cpp. Slots of one turn of a warp are registers
// later and stay as they are.
#include <algorithm>
#include <set>

#include "analysis/lanes/slots_of_turn.h"
#include "ir/function.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;

constexpr size_t kFewSlots = 32;  // they fit into any cache
constexpr size_t kMaxLive = 256;  // at one place: time grows with the square, and little would be shared
constexpr uint32_t kNone = ~0u;

class Sharing {
 public:
  explicit Sharing(ir::Function& f) : f_(f), order_(ir::ReversePostOrder(f)), number_(f.slots.size(), kNone) {
    const std::vector<bool> of_turn = analysis::FindSlotsOfTurn(f).is_of_turn;
    for (BlockId block : order_) {
      for (ir::InstId id : f.at_block(block).insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (inst.op != Opcode::kSlotLoad && inst.op != Opcode::kSlotStore) continue;
        const uint32_t slot = inst.attrs.index;
        if (number_[slot] != kNone || f.slots[slot].shape != ir::Level::kLane || of_turn[slot]) continue;
        number_[slot] = static_cast<uint32_t>(candidates_.size());
        candidates_.push_back(slot);
      }
    }
  }

  void Run() {
    if (candidates_.size() <= kFewSlots) return;
    Connect();
    if (!FindLive()) return;
    FindInterference();
    Rename(Colour());
  }

 private:
  using Numbers = std::set<uint32_t>;

  bool IsLoop(BlockId block) const {
    const Opcode op = f_.terminator(block).op;
    return op == Opcode::kForLanes || op == Opcode::kForWarps;
  }

  // -- the graph as one thread runs it: from a loop's begin into its code, from that code's ends to what
  // follows the loop --
  void Connect() {
    to_.resize(f_.blocks.size());
    from_.resize(f_.blocks.size());
    for (BlockId block : order_) {
      const ir::Inst& end = f_.terminator(block);
      if (!IsLoop(block)) {
        for (const ir::Edge& edge : end.edges) Connect(block, edge.to);
        continue;
      }
      Connect(block, end.edges[0].to);
      for (BlockId last : EndsOf(end.edges[0].to, end.op)) {
        for (size_t e = 1; e < end.edges.size(); ++e) Connect(last, end.edges[e].to);
      }
    }
  }

  void Connect(BlockId from, BlockId to) {
    to_[from.index].push_back(to);
    from_[to.index].push_back(from);
  }

  std::vector<BlockId> EndsOf(BlockId entry, Opcode loop) const {
    std::vector<BlockId> ends, found{entry};
    std::set<BlockId> seen{entry};
    for (size_t n = 0; n < found.size(); ++n) {
      const ir::Inst& end = f_.terminator(found[n]);
      if (end.op == (loop == Opcode::kForLanes ? Opcode::kEndLane : Opcode::kEndWarp))
        ends.push_back(found[n]);
      for (size_t e = IsLoop(found[n]) ? 1 : 0; e < end.edges.size(); ++e) {
        if (seen.insert(end.edges[e].to).second) found.push_back(end.edges[e].to);
      }
    }
    return ends;
  }

  // -- what is live --
  template <typename AtStore>
  void Backward(BlockId block, Numbers& live, AtStore at_store) const {
    const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
    for (size_t i = insts.size(); i-- > 0;) {
      const ir::Inst& inst = f_.at_inst(insts[i]);
      if (inst.op != Opcode::kSlotLoad && inst.op != Opcode::kSlotStore) continue;
      const uint32_t n = number_[inst.attrs.index];
      if (n == kNone) continue;
      if (inst.op == Opcode::kSlotLoad) {
        live.insert(n);
      } else {
        live.erase(n);
        at_store(n, live);
      }
    }
  }

  Numbers LiveOut(BlockId block) const {
    Numbers live;
    for (BlockId to : to_[block.index]) live.insert(live_in_[to.index].begin(), live_in_[to.index].end());
    return live;
  }

  // False: too many at once.
  bool FindLive() {
    live_in_.resize(f_.blocks.size());
    std::vector<BlockId> work = order_;
    while (!work.empty()) {
      const BlockId block = work.back();
      work.pop_back();
      Numbers live = LiveOut(block);
      bool too_many = live.size() > kMaxLive;
      Backward(block, live, [&](uint32_t, const Numbers& now) { too_many |= now.size() > kMaxLive; });
      if (too_many || live.size() > kMaxLive) return false;
      if (live == live_in_[block.index]) continue;
      live_in_[block.index] = std::move(live);
      work.insert(work.end(), from_[block.index].begin(), from_[block.index].end());
    }
    return true;
  }

  void FindInterference() {
    interferes_.resize(candidates_.size());
    for (BlockId block : order_) {
      Numbers live = LiveOut(block);
      Backward(block, live, [&](uint32_t n, const Numbers& others) {
        for (uint32_t m : others) {
          interferes_[n].insert(m);
          interferes_[m].insert(n);
        }
      });
    }
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
      if (n != kNone && owner[n] != n) continue;
      renamed[slot] = static_cast<uint32_t>(kept.size());
      kept.push_back(f_.slots[slot]);
    }
    for (BlockId block : order_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        ir::Inst& inst = f_.inst(id);
        if (inst.op != Opcode::kSlotLoad && inst.op != Opcode::kSlotStore) continue;
        const uint32_t n = number_[inst.attrs.index];
        inst.attrs.index = renamed[n == kNone ? inst.attrs.index : candidates_[owner[n]]];
      }
    }
    f_.slots = std::move(kept);
  }

  ir::Function& f_;
  const std::vector<BlockId> order_;
  std::vector<uint32_t> number_, candidates_;  // by slot, and back
  std::vector<std::vector<BlockId>> to_, from_;
  std::vector<Numbers> live_in_;     // by block
  std::vector<Numbers> interferes_;  // by candidate
};

}  // namespace

Status ShareSlots(ir::Module&, ir::Function& f, const PassOptions&) {
  // Elsewhere a thread continues where its graph does not lead.
  if (f.resumes != ir::Resumes::kNever || f.parked_slot != ~0u) return {};
  Sharing(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
