// What the grammar calls while it parses: one event per call, right after the token the event is about (the
// calls of BeginParameter, BeginDeclaration, BeginPrefixes and BeginOperators come before any). The tree
// builder overrides all of them; the base class does nothing and serves the second run that only collects
// syntax errors.
//
// The generated parser is compiled as C++17, so this header may use nothing newer and names no type of ast.h.
#pragma once

namespace ptx2cpu::ptx {

class Actions {
 public:
  virtual ~Actions() = default;

  // Module.
  virtual void Version() {}
  virtual void Target() {}
  virtual void AddressSize() {}
  virtual void Linkage() {}
  virtual void FileIndex() {}
  virtual void FileName() {}
  virtual void Section() {}
  virtual void AliasName() {}
  virtual void AliasTarget() {}
  virtual void Pragma() {}
  virtual void EndModulePragma() {}

  // Functions.
  virtual void BeginFunction(bool is_entry) {}
  virtual void EndReturns() {}
  virtual void FunctionName() {}
  virtual void EndParameters() {}
  virtual void EndDeclaration() {}
  virtual void BeginBody() {}
  virtual void EndBody() {}
  virtual void BeginParameter() {}
  virtual void BeginDimensions() {}
  virtual void Dimension() {}
  virtual void BeginLimit() {}
  virtual void Limit() {}
  virtual void FunctionFlag() {}
  virtual void Attribute() {}

  // Variables.
  virtual void BeginDeclaration() {}
  virtual void Space() {}
  virtual void ConstBank() {}
  virtual void TypeOrVector() {}
  virtual void Align() {}
  virtual void Pointer() {}
  virtual void BeginDeclarator() {}
  virtual void NameCount() {}
  virtual void DimensionSize() {}
  virtual void DimensionUnsized() {}
  virtual void Initializer() {}
  virtual void EndDeclarator() {}

  // Statements.
  virtual void GuardNot() {}
  virtual void Guard() {}
  virtual void Name() {}  // of a label, or the opcode
  virtual void Label() {}
  virtual void Opcode() {}
  virtual void SpacedModifier() {}
  virtual void EndInstruction() {}
  virtual void LocFile() {}
  virtual void LocLine() {}
  virtual void LocColumn() {}
  virtual void LocAttribute() {}
  virtual void InlinedFile() {}
  virtual void InlinedLine() {}
  virtual void InlinedColumn() {}
  virtual void FunctionLabel() {}
  virtual void FunctionOffset() {}
  virtual void EndLoc() {}
  virtual void EndStatementPragma() {}
  virtual void BeginScope() {}
  virtual void EndScope() {}
  virtual void BeginTargets() {}
  virtual void TargetName() {}
  virtual void TargetCount() {}
  virtual void EndTargets() {}
  virtual void BeginPrototype() {}
  virtual void PrototypeSink() {}
  virtual void EndPrototype() {}

  // Operands.
  virtual void Identifier() {}
  virtual void Integer() {}
  virtual void Float() {}
  virtual void BeginList() {}
  virtual void EndVector() {}
  virtual void EndParentheses() {}
  virtual void EndBracket() {}
  virtual void AddressSuffix() {}
  virtual void Field() {}
  virtual void Element() {}
  virtual void Call() {}
  virtual void BeginPrefixes() {}
  virtual void Prefix() {}
  virtual void EndPrefixes() {}
  virtual void BeginOperators() {}
  virtual void Operator() {}
  virtual void EndOperators() {}
  virtual void EndConditional() {}
};

}  // namespace ptx2cpu::ptx
