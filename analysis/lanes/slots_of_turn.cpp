#include "analysis/lanes/slots_of_turn.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Level;
using ir::Opcode;

namespace {

constexpr size_t kMaxSlots = 256;  // they are on the stack

bool AccessesSlot(const ir::Inst& inst) {
  return inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore;
}

// The way of one lane through a turn: a loop over lanes leads into its region, and the region's ends lead to
// what follows the loop. A slot is known where each way has stored it.
class Turn {
 public:
  Turn(const ir::Function& f, BlockId loop, std::vector<bool>& is_of_turn)
      : f_(f), is_of_turn_(is_of_turn), known_(f.blocks.size()), after_(f.blocks.size()) {
    Reach(f.terminator(loop).edges[0].to, std::vector<bool>(f.slots.size()));
    while (!work_.empty()) {
      const BlockId block = work_.back();
      work_.pop_back();
      Visit(block);
    }
  }

  std::vector<uint32_t> Used() const {
    std::vector<uint32_t> slots;
    for (uint32_t n = 0; n < known_.size(); ++n) {
      if (known_[n].empty()) continue;
      for (ir::InstId id : f_.blocks[n].insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (AccessesSlot(inst)) slots.push_back(inst.attrs.index);
      }
    }
    std::ranges::sort(slots);
    slots.erase(std::ranges::unique(slots).begin(), slots.end());
    return slots;
  }

 private:
  void Reach(BlockId block, const std::vector<bool>& known) {
    std::vector<bool>& here = known_[block.index];
    bool changed = here.empty();
    if (changed) here = known;
    for (size_t slot = 0; slot < here.size(); ++slot) {
      if (!here[slot] || known[slot]) continue;
      here[slot] = false;
      changed = true;
    }
    if (changed) work_.push_back(block);
  }

  // The region's ends, for all that is reached from its entry.
  void ConnectEnds(BlockId entry, BlockId after) {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> found{entry};
    for (size_t n = 0; n < found.size(); ++n) {
      if (f_.terminator(found[n]).op == Opcode::kEndLane) {
        std::vector<BlockId>& to = after_[found[n].index];
        if (std::ranges::find(to, after) == to.end()) {
          to.push_back(after);
          if (!known_[found[n].index].empty()) work_.push_back(found[n]);
        }
      }
      for (const ir::Edge& edge : f_.successors(found[n])) {
        if (seen[edge.to.index]) continue;
        seen[edge.to.index] = true;
        found.push_back(edge.to);
      }
    }
  }

  void Visit(BlockId block) {
    std::vector<bool> known = known_[block.index];
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (inst.op == Opcode::kSlotStore) known[inst.attrs.index] = true;
      if (inst.op == Opcode::kSlotLoad && !known[inst.attrs.index]) is_of_turn_[inst.attrs.index] = false;
    }
    const ir::Inst& end = f_.terminator(block);
    if (end.op == Opcode::kForLanes) {
      ConnectEnds(end.edges[0].to, end.edges[1].to);
      Reach(end.edges[0].to, known);
      return;
    }
    for (BlockId to : after_[block.index]) Reach(to, known);
    for (const ir::Edge& edge : end.edges) Reach(edge.to, known);
  }

  const ir::Function& f_;
  std::vector<bool>& is_of_turn_;
  std::vector<std::vector<bool>>
      known_;  // by block: slots that are stored when it begins; empty: not reached
  std::vector<std::vector<BlockId>> after_;  // by block that ends a lane's region
  std::vector<BlockId> work_;
};

}  // namespace

SlotsOfTurn FindSlotsOfTurn(const ir::Function& f) {
  SlotsOfTurn result{std::vector<bool>(f.slots.size()), std::vector<std::vector<uint32_t>>(f.blocks.size())};
  if (f.slots.empty() || f.is_flat || f.resumes > ir::Resumes::kBlocks || f.parked_slot != ~0u) return result;
  for (size_t n = 0; n < std::min(f.slots.size(), kMaxSlots); ++n)
    result.is_of_turn[n] = f.slots[n].shape != Level::kBlock;
  for (uint32_t n = 0; n < f.blocks.size(); ++n) {
    const ir::Block& block = f.blocks[n];
    if (block.removed) continue;
    if (block.level == Level::kBlock) {
      for (ir::InstId id : block.insts) {
        if (AccessesSlot(f.at_inst(id))) result.is_of_turn[f.at_inst(id).attrs.index] = false;
      }
    }
    if (f.terminator({n}).op == Opcode::kForWarps) result.turns[n] = Turn(f, {n}, result.is_of_turn).Used();
  }
  for (std::vector<uint32_t>& slots : result.turns) {
    std::erase_if(slots, [&](uint32_t slot) {
      return !result.is_of_turn[slot] || f.slots[slot].shape != Level::kLane;
    });
  }
  return result;
}

}  // namespace ptx2cpu::analysis
