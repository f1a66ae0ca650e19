// Operands of instructions, initial values, array sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class OperandBuilder final : public TreePart, public OperandActions {
 public:
  using TreePart::TreePart;

  // Operands that are read and belong to no statement or list yet.
  void Push(const ast::Operand& operand) { operands_.push_back(operand); }
  ast::Operand Pop() {
    const ast::Operand last = operands_.back();
    operands_.pop_back();
    return last;
  }
  ast::Range TakeAll() { return TakeFrom(0); }  // to the module's pool

  void Identifier() override;
  void Integer() override;
  void Float() override;
  void BeginList() override;
  void EndVector() override;
  void EndParentheses() override;
  void EndBracket() override;
  void AddressSuffix() override;
  void Field() override;
  void Element() override;
  void Call() override;
  void BeginPrefixes() override;
  void Prefix() override;
  void EndPrefixes() override;
  void BeginOperators() override;
  void Operator() override;
  void EndOperators() override;
  void EndConditional() override;

 private:
  // An operator waiting for its operand; kEnd marks where the operators of an expression begin.
  struct PendingOperator {
    TokenKind kind;
    bool is_prefix;
    uint8_t precedence;
    uint32_t token;
  };

  void SelectPart(ast::Operand& o, std::string_view word);
  void MarkOperators();
  void ApplyDownTo(uint8_t precedence);
  void Apply(const PendingOperator& op);
  void ApplyBinaryOperator(const PendingOperator& op);
  void MaskByte(const ast::Operand& value, ast::Operand& mask);
  ast::Range TakeFrom(size_t mark);
  void EndList(ast::OperandKind kind);

  std::vector<ast::Operand> operands_;
  std::vector<PendingOperator> operators_;
  std::vector<uint32_t> lists_;  // where in operands_ the open lists begin
};

}  // namespace ptx2cpu::ptx
