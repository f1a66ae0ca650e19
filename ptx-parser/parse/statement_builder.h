// Labels, instructions, scopes and lists of targets.
#pragma once

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/opcode_table.h"
#include "ptx-parser/parse/operand_builder.h"
#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class StatementBuilder final : public TreePart, public StatementActions {
 public:
  StatementBuilder(TreeState& state, OperandBuilder& operands)
      : TreePart(state), operands_(operands), opcodes_(state) {}

  void GuardNot() override;
  void Guard() override;
  void Name() override;
  void Label() override;
  void Opcode() override;
  void SpacedModifier() override;
  void EndInstruction() override;
  void BeginScope() override;
  void EndScope() override;
  void BeginTargets() override;
  void TargetName() override;
  void TargetCount() override;
  void EndTargets() override;

 private:
  OperandBuilder& operands_;  // has read those of the statement
  OpcodeTable opcodes_;
  ast::Instruction instruction_;  // being read
  bool guard_negated_ = false;
};

}  // namespace ptx2cpu::ptx
