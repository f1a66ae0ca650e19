#include "analysis/lanes/values_from_memory.h"

#include <algorithm>
#include <utility>

namespace ptx2cpu::analysis {

namespace {

// Whether a result comes from memory although its operands do not.
bool IsRead(const ir::Inst& inst) {
  if (inst.op == ir::Opcode::kLoad) return inst.attrs.space != ir::Space::kParam;
  return inst.op == ir::Opcode::kAtomic || inst.op == ir::Opcode::kAtomicCas;
}

}  // namespace

std::vector<bool> ValuesFromMemory(const ir::Function& f, const LaneRegion& region) {
  std::vector<bool> found(f.values.size());
  bool changed = true;
  const auto is_found = [&](ir::ValueId value) { return found[value.index]; };
  const auto add = [&](ir::ValueId value, bool is) {
    if (!is || found[value.index] || !region.shapes[value.index].varying()) return;
    found[value.index] = changed = true;
  };
  while (std::exchange(changed, false)) {
    for (const ir::BlockId block : region.blocks) {
      for (const ir::InstId id : f.at_block(block).insts) {
        const ir::Inst& inst = f.at_inst(id);
        const bool follows =
            ir::Info(inst.op).effect == ir::Effect::kPure && std::ranges::any_of(inst.operands, is_found);
        for (const ir::ValueId result : inst.results) add(result, IsRead(inst) || follows);
        for (const ir::Edge& edge : inst.edges) {
          const std::vector<ir::ValueId>& params = f.at_block(edge.to).params;
          for (size_t i = 0; i < params.size(); ++i) add(params[i], found[edge.args[i].index]);
        }
      }
    }
  }
  return found;
}

}  // namespace ptx2cpu::analysis
