#include "analysis/lanes/slots_of_turn.h"

#include <algorithm>
#include <bitset>
#include <map>

#include "analysis/graph/reached_blocks.h"
#include "analysis/regions/thread_graph.h"

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Level;
using ir::Opcode;

namespace {

constexpr size_t kMaxSlots = 256;  // they are on the stack
using Slots = std::bitset<kMaxSlots>;

// Whether it accesses a slot that this analysis examines.
bool AccessesSlot(const ir::Inst& inst) {
  return (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) && inst.attrs.index < kMaxSlots;
}

// The way of one lane through a turn: a loop over lanes leads into its region, and the region's ends lead to
// what follows the loop. A slot is known where each way has stored it.
class Turn {
 public:
  Turn(const ir::Function& f, BlockId loop, std::vector<bool>& is_of_turn) : f_(f), is_of_turn_(is_of_turn) {
    Reach(f.terminator(loop).edges[0].to, {});
    while (!work_.empty()) {
      const BlockId block = work_.back();
      work_.pop_back();
      Visit(block);
    }
  }

  std::vector<uint32_t> Used() const {
    std::vector<uint32_t> slots;
    for (const auto& [block, known] : known_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (AccessesSlot(inst)) slots.push_back(inst.attrs.index);
      }
    }
    std::ranges::sort(slots);
    slots.erase(std::ranges::unique(slots).begin(), slots.end());
    return slots;
  }

 private:
  void Reach(BlockId block, const Slots& known) {
    const auto [here, is_new] = known_.emplace(block, known);
    const Slots before = here->second;
    here->second &= known;
    if (is_new || here->second != before) work_.push_back(block);
  }

  void ConnectEnds(BlockId loop) {
    const BlockId after = f_.terminator(loop).edges[1].to;
    for (BlockId end : EndsOfTurn(f_, loop)) {
      std::vector<BlockId>& to = after_[end];
      if (std::ranges::find(to, after) != to.end()) continue;
      to.push_back(after);
      if (known_.contains(end)) work_.push_back(end);
    }
  }

  void Visit(BlockId block) {
    Slots known = known_.at(block);
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (!AccessesSlot(inst)) continue;
      if (inst.op == Opcode::kSlotStore) known[inst.attrs.index] = true;
      if (inst.op == Opcode::kSlotLoad && !known[inst.attrs.index]) is_of_turn_[inst.attrs.index] = false;
    }
    const ir::Inst& end = f_.terminator(block);
    if (end.op == Opcode::kForLanes) {
      ConnectEnds(block);
      Reach(end.edges[0].to, known);
      return;
    }
    for (BlockId to : after_[block]) Reach(to, known);
    for (const ir::Edge& edge : end.edges) Reach(edge.to, known);
  }

  const ir::Function& f_;
  std::vector<bool>& is_of_turn_;
  std::map<BlockId, Slots> known_;                 // by block that is reached: what is stored when it begins
  std::map<BlockId, std::vector<BlockId>> after_;  // by block that ends a lane's region
  std::vector<BlockId> work_;
};

// Slots that are accessed elsewhere than in the code that begins at the block.
void LeaveOutOthers(const ir::Function& f, BlockId start, std::vector<bool>& is_of_turn) {
  ReachedBlocks reached(f);
  reached.From(start);
  for (uint32_t n = 0; n < f.blocks.size(); ++n) {
    if (reached.Contains({n})) continue;
    for (ir::InstId id : f.blocks[n].insts) {
      if (AccessesSlot(f.at_inst(id))) is_of_turn[f.at_inst(id).attrs.index] = false;
    }
  }
}

}  // namespace

SlotsOfTurn FindSlotsOfTurn(const ir::Function& f) {
  SlotsOfTurn result{std::vector<bool>(f.slots.size()), std::vector<std::vector<uint32_t>>(f.blocks.size())};
  const bool together = std::ranges::count_if(ir::TogetherByPoint(f), &BlockId::valid) == 1;
  if (f.slots.empty() || f.is_flat || (f.resumes > ir::Resumes::kBlocks && !together) || f.parked_slot != ~0u)
    return result;
  for (size_t n = 0; n < std::min(f.slots.size(), kMaxSlots); ++n)
    result.is_of_turn[n] = f.slots[n].shape != Level::kBlock;
  if (together) {
    const BlockId warps = f.successors(f.entry)[0].to;
    LeaveOutOthers(f, f.successors(warps)[0].to, result.is_of_turn);
    result.turns[warps.index] = Turn(f, warps, result.is_of_turn).Used();
  }
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
