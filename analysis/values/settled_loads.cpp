#include "analysis/values/settled_loads.h"

#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;

bool IsWeakLoad(const ir::Inst& inst) { return inst.op == Opcode::kLoad && !IsStrong(inst, false); }

// All threads of the block have come when one continues.
bool MeetsWholeBlock(const ir::Inst& inst) {
  if (!ir::IsBlockBarrier(inst.op) || inst.op == Opcode::kBarrierArrive) return false;
  return inst.operands.size() == (inst.results.empty() ? 1 : 2);
}

// Whether the thread may learn what another has done.
bool Learns(const ir::Inst& inst) {
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
    case ir::Effect::kWrites:
    case ir::Effect::kTerminator:
      return false;
    case ir::Effect::kReads:
      return inst.op == Opcode::kLoad && IsStrong(inst, false);
    case ir::Effect::kMemory:
    case ir::Effect::kCollective:
    case ir::Effect::kBarrier:
    case ir::Effect::kOpaque:
      return true;
  }
  return true;
}

}  // namespace

std::vector<bool> FindSettledLoads(const ir::Function& f) {
  std::vector<bool> settled(f.insts.size());
  if (!f.is_kernel || f.phase == ir::Phase::kCollapsed || !f.entry.valid()) return settled;
  const std::vector<ir::BlockId> order = ir::ReversePostOrder(f);
  std::vector<bool> learned(f.blocks.size());  // at the block's start
  const auto walk = [&](ir::BlockId block, const auto& visit) {
    bool state = learned[block.index];
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      visit(id, inst, state);
      state = !MeetsWholeBlock(inst) && (state || Learns(inst));
    }
    return state;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (ir::BlockId block : order) {
      if (!walk(block, [](ir::InstId, const ir::Inst&, bool) {})) continue;
      for (const ir::Edge& edge : f.successors(block)) {
        changed |= !learned[edge.to.index];
        learned[edge.to.index] = true;
      }
    }
  }
  for (ir::BlockId block : order) {
    walk(block, [&](ir::InstId id, const ir::Inst& inst, bool state) {
      if (!state && IsWeakLoad(inst) && inst.attrs.space != ir::Space::kLocal) settled[id.index] = true;
    });
  }
  return settled;
}

}  // namespace ptx2cpu::analysis
