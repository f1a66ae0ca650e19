#include "lowering/passes/inductions.h"

#include <algorithm>

namespace ptx2cpu::lowering {

namespace {
constexpr size_t kMaxSteps = 8;
}

std::optional<std::vector<InductionStep>> StepsTo(const ir::Function& f, ir::ValueId value, ir::ValueId param,
                                                  const std::function<bool(ir::ValueId)>& is_uniform) {
  using ir::Opcode;
  std::vector<InductionStep> steps;
  while (value != param) {
    const ir::InstId def = f.at_value(value).def;
    if (!def.valid() || steps.size() == kMaxSteps) return std::nullopt;
    const ir::Inst& inst = f.at_inst(def);
    if ((inst.op != Opcode::kAdd && inst.op != Opcode::kSub) || inst.attrs.flags != 0) return std::nullopt;
    const bool swapped = inst.op == Opcode::kAdd && is_uniform(inst.operands[0]);
    const ir::ValueId by = inst.operands[swapped ? 0 : 1];
    if (!is_uniform(by)) return std::nullopt;
    steps.push_back({inst.op, by});
    value = inst.operands[swapped ? 1 : 0];
  }
  std::ranges::reverse(steps);
  return steps;
}

}  // namespace ptx2cpu::lowering
