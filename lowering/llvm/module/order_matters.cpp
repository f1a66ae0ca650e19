#include "lowering/llvm/module/order_matters.h"

#include <algorithm>
#include <vector>

namespace ptx2cpu::lowering {

namespace {

using ir::Opcode;
using ir::Space;

// Whether other blocks may access the memory. A generic address may also be a shared one; that is not
// followed.
bool MayBeOfOthers(Space space) {
  return space == Space::kGlobal || space == Space::kGeneric || space == Space::kSharedCluster;
}

std::vector<bool> UsedValues(const ir::Function& f) {
  std::vector<bool> used(f.values.size());
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (const ir::InstId id : block.insts) {
      const ir::Inst& inst = f.at_inst(id);
      for (const ir::ValueId operand : inst.operands) used[operand.index] = true;
      for (const ir::Edge& edge : inst.edges) {
        for (const ir::ValueId arg : edge.args) used[arg.index] = true;
      }
    }
  }
  return used;
}

bool OrderMatters(const ir::Inst& inst, const std::vector<bool>& used) {
  if (inst.op == Opcode::kReduceBulk) return !Commutes(inst.attrs.atomic);
  const bool result_used =
      std::ranges::any_of(inst.results, [&](ir::ValueId result) { return used[result.index]; });
  if (!MayBeOfOthers(inst.attrs.space)) return false;
  if (inst.op == Opcode::kAtomic) return !Commutes(inst.attrs.atomic) || result_used;
  if (inst.op == Opcode::kAtomicCas) return true;
  return inst.op == Opcode::kLoad && inst.attrs.order != ir::MemoryOrder::kWeak;
}

}  // namespace

bool OrderMatters(const ir::Function& f) {
  const std::vector<bool> used = UsedValues(f);
  return std::ranges::any_of(f.blocks, [&](const ir::Block& block) {
    return !block.removed &&
           std::ranges::any_of(block.insts, [&](ir::InstId id) { return OrderMatters(f.at_inst(id), used); });
  });
}

}  // namespace ptx2cpu::lowering
