#include "analysis/values/linear_in_thread.h"

#include <algorithm>

#include "analysis/values/linear_rules.h"

namespace ptx2cpu::analysis {

namespace {

bool IsCoordinate(const ir::Inst& inst) {
  if (inst.op != ir::Opcode::kSpecialRegister) return false;
  const ir::Varies varies = ir::Info(inst.attrs.special).varies;
  return varies == ir::Varies::kAffineInTid || varies == ir::Varies::kAffineInLane;
}

// Masks and shifts to the right are linear in some places only, which the rules decide; so is `or`, which
// takes no part here: without loops over lanes that compute addresses again, matrices are multiplied faster.
// Quotients are steps.
bool KeepsForm(const ir::Inst& inst) {
  using ir::Opcode;
  if (inst.op == Opcode::kSelect || inst.op == Opcode::kOr || LinearRuleOf(inst.op) == nullptr) return false;
  if (ir::Info(inst.op).cost == ir::Cost::kCostly) return false;
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
    return inst.attrs.space != ir::Space::kLocal;
  return ir::IsInteger(inst.type) && ir::Bits(inst.type) <= 64;
}

}  // namespace

std::vector<bool> LinearInThread(const ir::Function& f, const UniformityResult& uniformity, ir::Level level) {
  std::vector<bool> linear(f.values.size());
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::ValueId param : f.at_block(block).params)
      linear[param.index] = uniformity.UniformAt(param, level);
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      const bool of_linear =
          std::ranges::all_of(inst.operands, [&](ir::ValueId v) { return linear[v.index]; });
      for (ir::ValueId result : inst.results) {
        linear[result.index] =
            uniformity.UniformAt(result, level) || IsCoordinate(inst) || (of_linear && KeepsForm(inst));
      }
    }
  }
  return linear;
}

}  // namespace ptx2cpu::analysis
