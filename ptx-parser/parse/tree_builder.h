// Builds the Module from the grammar's events. One class in four files: modules and functions, variables,
// statements, operands (tree_builder_*.cpp). What is grammatical but wrong is reported here (unknown types,
// bad numbers, operators on registers); names are resolved afterwards (names.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/ast.h"
#include "ptx-parser/parse/scanner.h"

namespace ptx2cpu::ptx {

// A run stops reporting here.
inline constexpr size_t kMaxErrors = 20;

class TreeBuilder final : public Actions {
 public:
  // `cursor` counts the tokens the parser has consumed.
  TreeBuilder(ast::Module& module, const std::vector<Token>& tokens, const size_t& cursor);
  const std::vector<Error>& errors() const { return errors_; }

  void Version() override;
  void Target() override;
  void AddressSize() override;
  void Linkage() override;
  void FileIndex() override;
  void FileName() override;
  void Section() override;
  void AliasName() override;
  void AliasTarget() override;
  void Pragma() override;
  void EndModulePragma() override;

  void BeginFunction(bool is_entry) override;
  void EndReturns() override;
  void FunctionName() override;
  void EndParameters() override;
  void EndDeclaration() override;
  void BeginBody() override;
  void EndBody() override;
  void BeginParameter() override;
  void BeginDimensions() override;
  void Dimension() override;
  void BeginLimit() override;
  void Limit() override;
  void FunctionFlag() override;
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

  void GuardNot() override;
  void Guard() override;
  void Name() override;
  void Label() override;
  void Opcode() override;
  void SpacedModifier() override;
  void EndInstruction() override;
  void LocFile() override;
  void LocLine() override;
  void LocColumn() override;
  void LocAttribute() override;
  void InlinedFile() override;
  void InlinedLine() override;
  void InlinedColumn() override;
  void FunctionLabel() override;
  void FunctionOffset() override;
  void EndLoc() override;
  void EndStatementPragma() override;
  void BeginScope() override;
  void EndScope() override;
  void BeginTargets() override;
  void TargetName() override;
  void TargetCount() override;
  void EndTargets() override;
  void BeginPrototype() override;
  void PrototypeSink() override;
  void EndPrototype() override;

  void Identifier() override;
  void SelectPart(ast::Operand& o, std::string_view word);
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
  enum class Place : uint8_t { kModule, kHeader, kBody, kPrototype };
  // An operator waiting for its operand; kEnd marks where the operators of an expression begin.
  struct PendingOperator {
    TokenKind kind;
    bool is_prefix;
    uint8_t precedence;
    uint32_t token;
  };

  const Token& Last() const { return tokens_[cursor_ - 1]; }
  std::string_view TextOf(const Token& t) const { return text_.substr(t.offset, t.length); }
  std::string_view LastText() const { return TextOf(Last()); }
  static ast::Position PositionOf(const Token& t) { return {t.line, t.column}; }
  ast::Position LastPosition() const { return PositionOf(Last()); }
  void Report(const Token& at, std::string message, std::string hint = {});
  void Report(std::string message, std::string hint = {}) {
    Report(Last(), std::move(message), std::move(hint));
  }
  // The integer literal just read as a 32-bit or 64-bit unsigned number; 0 and an error if it is too large.
  uint32_t LastNumber();
  uint64_t LastLongNumber();
  // The name just read, which must have no dots.
  std::string_view LastName();
  std::string_view Spell(std::string text);
  void Add(ast::StatementKind kind, size_t index);
  ast::Function& function() { return module_.functions.back(); }

  void CheckTargetVersion();
  bool IsBefore(uint32_t major, uint32_t minor) const;  // whether the module's version is below major.minor
  void TakeBodyParameters();

  uint32_t InternOpcode(std::string_view text, bool spelled);
  void RehashOpcodes();
  void EndHeader();

  void DeclareRegisters(uint32_t variable);
  void CheckDeclarator();
  void PushVariable(const ast::Variable& variable);

  void MarkOperators();
  void ApplyDownTo(uint8_t precedence);
  void Apply(const PendingOperator& op);
  void ApplyBinaryOperator(const PendingOperator& op);
  void MaskByte(const ast::Operand& value, ast::Operand& mask);
  ast::Range TakeFrom(size_t mark);
  void EndList(ast::OperandKind kind);

  ast::Module& module_;
  const std::vector<Token>& tokens_;
  const size_t& cursor_;
  const std::string_view text_;
  std::vector<Error> errors_;

  Place place_ = Place::kModule;
  ast::Linkage linkage_ = ast::Linkage::kNone;
  size_t first_pragma_ = 0;  // of the .pragma being read

  // Function header or prototype being read. `first_parameter_`: of the list being read.
  size_t first_parameter_ = 0;
  ast::Range returns_;
  ast::Dimensions* dimensions_ = nullptr;
  uint32_t dimension_ = 0;
  TokenKind limit_ = TokenKind::kEnd;

  std::vector<ast::Variable> body_parameters_;  // of the kernel being read

  // Declaration being read: what all its declarators share, and the current one.
  ast::Variable shared_;
  ast::Variable variable_;
  bool is_declaring_ = false;  // attributes and so on belong to a variable, not to the function
  bool has_space_ = false;
  uint32_t name_token_ = 0;  // of the declarator, label or opcode

  // Instruction being read.
  ast::Instruction instruction_;
  bool is_call_ = false;
  bool guard_negated_ = false;
  std::vector<uint32_t> opcode_slots_;  // hash table of Module::opcodes, kNone is free
  ast::Loc loc_;
  std::string_view loc_attribute_;

  // Operands being read.
  std::vector<ast::Operand> operands_;
  std::vector<PendingOperator> operators_;
  std::vector<uint32_t> lists_;  // where in operands_ the open lists begin
};

}  // namespace ptx2cpu::ptx
