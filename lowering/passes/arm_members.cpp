#include "lowering/passes/arm_members.h"

#include "lowering/passes/mask_divergent_arms.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

ArmMembers::ArmMembers(ir::Function& f, analysis::LaunchShape shape)
    : f_(f),
      tree_(analysis::Dominators(analysis::BuildCfg(f))),
      lanes_(f, shape),
      arms_of_(BlocksOfArms(f)) {}

const ir::Inst* ArmMembers::CollectiveOfOthers(ir::BlockId branch) const {
  const ir::Inst& end = f_.terminator(branch);
  const std::optional<std::vector<ir::BlockId>> arms = arms_of_(branch);
  if (!arms) return &end;  // run within those of another branch
  for (ir::BlockId block : *arms) {
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (!ir::HasMembermask(inst.op, inst.attrs.flags)) continue;
      bool within = false;
      for (size_t e : {0, 1}) {
        const ir::BlockId head = end.edges[e].to;
        const bool only =
            tree_.parent[head.index] == branch.index && tree_.Dominates(head.index, block.index);
        within |= only && Keeps(inst.operands.back(), end.operands[0], e == 0, head, 8);
      }
      if (!within) return &inst;
    }
  }
  return nullptr;
}

bool ArmMembers::Keeps(ir::ValueId mask, ir::ValueId decision, bool taken, ir::BlockId head,
                       int depth) const {
  const ir::Value& value = f_.at_value(mask);
  if (!value.def.valid() || depth == 0) return false;
  const ir::Inst& def = f_.at_inst(value.def);
  const ir::Value& source = f_.at_value(decision);
  if (source.def.valid() && f_.at_inst(source.def).op == Opcode::kNot) {
    return Keeps(mask, f_.at_inst(source.def).operands[0], !taken, head, depth - 1);
  }
  if (def.op == Opcode::kConst) return KeepsLanes(static_cast<uint32_t>(def.attrs.bits), decision, taken);
  if (def.op == Opcode::kActiveMask) {
    return tree_.Dominates(head.index, def.block.index);
  }
  if (def.op == Opcode::kBallot || def.op == Opcode::kMatchAny || def.op == Opcode::kMatchAll) {
    if (def.op == Opcode::kBallot && taken && def.operands[0] == decision) return true;
    return f_.type_of(mask) == ir::Type::kI32 && Keeps(def.operands.back(), decision, taken, head, depth - 1);
  }
  if (def.op == Opcode::kAnd) {
    return Keeps(def.operands[0], decision, taken, head, depth - 1) ||
           Keeps(def.operands[1], decision, taken, head, depth - 1);
  }
  if (def.op == Opcode::kNot) {
    const ir::Value& inner = f_.at_value(def.operands[0]);
    const bool ballot = inner.def.valid() && f_.at_inst(inner.def).op == Opcode::kBallot;
    return !taken && ballot && f_.at_inst(inner.def).operands[0] == decision;
  }
  return false;
}

// In each warp of which a lane takes the arm, all lanes that the mask names do. (Those that have no thread,
// or have ended, are no members.)
bool ArmMembers::KeepsLanes(uint32_t mask, ir::ValueId decision, bool taken) const {
  const std::vector<uint32_t>* lanes = lanes_.Of(decision);
  if (lanes == nullptr) return false;
  for (uint32_t warp = 0; warp < lanes->size(); ++warp) {
    const uint32_t others = lanes_.LanesOf(warp) & (taken ? ~(*lanes)[warp] : (*lanes)[warp]);
    if (others != lanes_.LanesOf(warp) && (mask & others) != 0) return false;
  }
  return true;
}

}  // namespace ptx2cpu::lowering
