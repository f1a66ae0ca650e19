#include "analysis/values/linear_in_thread.h"

#include <algorithm>
#include <ranges>

#include "analysis/values/linear_rules.h"

namespace ptx2cpu::analysis {

namespace {

bool IsCoordinate(const ir::Inst& inst) {
  if (inst.op != ir::Opcode::kSpecialRegister) return false;
  const ir::Varies varies = ir::Info(inst.attrs.special).varies;
  return varies == ir::Varies::kAffineInTid || varies == ir::Varies::kAffineInLane;
}

// Values that addresses of loads and stores are computed from, in any block.
std::vector<bool> PartsOfAddresses(const ir::Function& f) {
  std::vector<bool> parts(f.values.size());
  for (ir::BlockId block : ir::ReversePostOrder(f) | std::views::reverse) {
    for (ir::InstId id : f.at_block(block).insts | std::views::reverse) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore) {
        parts[inst.operands[0].index] = true;
        continue;
      }
      const bool is_part =
          std::ranges::any_of(inst.results, [&](ir::ValueId result) { return parts[result.index]; });
      if (!is_part || ir::Info(inst.op).effect != ir::Effect::kPure) continue;
      for (ir::ValueId operand : inst.operands) parts[operand.index] = true;
    }
  }
  return parts;
}

// Masks and shifts to the right are linear in some places only, which the rules decide. Quotients are steps.
// The rule for bit fields is for emission: to compute them again, in warps that multiply matrices, costs more
// than to keep them.
bool KeepsForm(const ir::Inst& inst) {
  using ir::Opcode;
  if (inst.op == Opcode::kSelect || inst.op == Opcode::kBfi || LinearRuleOf(inst.op) == nullptr) return false;
  if (ir::Info(inst.op).cost == ir::Cost::kCostly) return false;
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
    return inst.attrs.space != ir::Space::kLocal;
  return ir::IsInteger(inst.type) && ir::Bits(inst.type) <= 64;
}

// A comparison of such values, or what follows from some: along a row it changes once, so that what it
// chooses from linear values is linear in pieces.
bool KeepsPieces(const ir::Inst& inst, const std::vector<bool>& linear, const std::vector<bool>& decided) {
  using ir::Opcode;
  const auto holds = [](const std::vector<bool>& which) {
    return [&which](ir::ValueId v) { return which[v.index]; };
  };
  if (inst.op == Opcode::kIcmp) return std::ranges::all_of(inst.operands, holds(linear));
  if (inst.type != ir::Type::kI1) return false;
  const bool combines = inst.op == Opcode::kAnd || inst.op == Opcode::kOr || inst.op == Opcode::kNot;
  return combines && std::ranges::all_of(inst.operands, holds(decided));
}

}  // namespace

std::vector<bool> LinearInThread(const ir::Function& f, const UniformityResult& uniformity, ir::Level level) {
  std::vector<bool> linear(f.values.size()), decided(f.values.size());
  const std::vector<bool> of_addresses = PartsOfAddresses(f);
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::ValueId param : f.at_block(block).params)
      linear[param.index] = uniformity.UniformAt(param, level);
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      const bool of_linear =
          std::ranges::all_of(inst.operands, [&](ir::ValueId v) { return linear[v.index]; });
      const bool is_choice = inst.op == ir::Opcode::kSelect && ir::IsInteger(inst.type) &&
                             decided[inst.operands[0].index] && linear[inst.operands[1].index] &&
                             linear[inst.operands[2].index];
      const bool is_decided = KeepsPieces(inst, linear, decided);
      // Addresses of matrices' rows are in slots anyway: without loops over lanes that compute them again,
      // matrices are multiplied faster.
      const bool keeps_form =
          KeepsForm(inst) && (inst.op != ir::Opcode::kOr || of_addresses[inst.results[0].index]);
      for (ir::ValueId result : inst.results) {
        const bool uniform = uniformity.UniformAt(result, level);
        linear[result.index] = uniform || is_choice || IsCoordinate(inst) || (of_linear && keeps_form);
        decided[result.index] = uniform || is_decided;
      }
    }
  }
  return linear;
}

}  // namespace ptx2cpu::analysis
