// Parameters of functions and prototypes, declarations of variables and registers.
#pragma once

#include <cstdint>

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/operand_builder.h"
#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class VariableBuilder final : public TreePart, public VariableActions {
 public:
  VariableBuilder(TreeState& state, OperandBuilder& operands) : TreePart(state), operands_(operands) {}

  void BeginParameter() override;
  void Attribute() override;
  void BeginDeclaration() override;
  void Space() override;
  void ConstBank() override;
  void TypeOrVector() override;
  void Align() override;
  void Pointer() override;
  void BeginDeclarator() override;
  void NameCount() override;
  void DimensionSize() override;
  void DimensionUnsized() override;
  void Initializer() override;
  void EndDeclarator() override;

 private:
  void CheckDeclarator();
  void PushVariable(const ast::Variable& variable);
  void DeclareRegisters(uint32_t variable);

  OperandBuilder& operands_;  // has read sizes and initial values
  // The declaration being read: the part that all its declarators share, and the current declarator.
  ast::Variable shared_;
  ast::Variable variable_;
  bool has_space_ = false;
};

}  // namespace ptx2cpu::ptx
