#include "analysis/regions/slot_liveness.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Opcode;

SlotLiveness::SlotLiveness(const ir::Function& f, std::vector<bool> is_candidate, size_t max_live)
    : f_(f),
      is_candidate_(std::move(is_candidate)),
      order_(ir::ReversePostOrder(f)),
      graph_(f),
      live_in_(f.blocks.size()),
      gave_up_(!Find(max_live)) {}

void SlotLiveness::EachStore(const AtStore& visit) const {
  for (BlockId block : order_) {
    Slots live = LiveOut(block);
    Backward(block, live, visit);
  }
}

SlotLiveness::Slots SlotLiveness::LiveOut(BlockId block) const {
  Slots live;
  for (BlockId to : graph_.successors[block.index])
    live.insert(live_in_[to.index].begin(), live_in_[to.index].end());
  return live;
}

void SlotLiveness::Backward(BlockId block, Slots& live, const AtStore& visit) const {
  const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
  for (size_t n = insts.size(); n-- > 0;) {
    const ir::Inst& inst = f_.at_inst(insts[n]);
    if (inst.op != Opcode::kSlotLoad && inst.op != Opcode::kSlotStore) continue;
    const uint32_t slot = inst.attrs.index;
    if (!is_candidate_[slot]) continue;
    if (inst.op == Opcode::kSlotLoad) {
      live.insert(slot);
    } else {
      live.erase(slot);
      visit(inst, live);
    }
  }
}

bool SlotLiveness::Find(size_t max_live) {
  std::vector<BlockId> work = order_;
  while (!work.empty()) {
    const BlockId block = work.back();
    work.pop_back();
    Slots live = LiveOut(block);
    size_t most = live.size();
    Backward(block, live,
             [&](const ir::Inst&, const Slots& others) { most = std::max(most, others.size()); });
    if (std::max(most, live.size()) > max_live) return false;
    if (live == live_in_[block.index]) continue;
    live_in_[block.index] = std::move(live);
    const std::vector<BlockId>& before = graph_.predecessors[block.index];
    work.insert(work.end(), before.begin(), before.end());
  }
  return true;
}

}  // namespace ptx2cpu::analysis
