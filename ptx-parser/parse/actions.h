// What the grammar calls while it parses: one event per call, right after the token the event is about (the
// calls of BeginParameter, BeginDeclaration, BeginPrefixes and BeginOperators come before any). Each kind of
// construct has an interface, which a part of the tree builder overrides. The base classes do nothing and
// serve the second run that only collects syntax errors.
//
// The generated parser is compiled as C++17, so this header may use nothing newer and names no type of ast.h.
#pragma once

namespace ptx2cpu::ptx {

// Version, target, files, sections, aliases and pragmas.
class ModuleActions {
 public:
  virtual ~ModuleActions() = default;
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
  virtual void EndStatementPragma() {}
};

// Headers and bodies of functions, and prototypes of indirect calls.
class FunctionActions {
 public:
  virtual ~FunctionActions() = default;
  virtual void BeginFunction(bool is_entry) {}
  virtual void EndReturns() {}
  virtual void FunctionName() {}
  virtual void EndParameters() {}
  virtual void EndDeclaration() {}
  virtual void BeginBody() {}
  virtual void EndBody() {}
  virtual void BeginDimensions() {}
  virtual void Dimension() {}
  virtual void BeginLimit() {}
  virtual void Limit() {}
  virtual void FunctionFlag() {}
  virtual void BeginPrototype() {}
  virtual void PrototypeSink() {}
  virtual void EndPrototype() {}
};

// Parameters and declarations.
class VariableActions {
 public:
  virtual ~VariableActions() = default;
  virtual void BeginParameter() {}
  virtual void Attribute() {}
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
};

// Labels, instructions, scopes and lists of targets.
class StatementActions {
 public:
  virtual ~StatementActions() = default;
  virtual void GuardNot() {}
  virtual void Guard() {}
  virtual void Name() {}  // of a label, or the opcode
  virtual void Label() {}
  virtual void Opcode() {}
  virtual void SpacedModifier() {}
  virtual void EndInstruction() {}
  virtual void BeginScope() {}
  virtual void EndScope() {}
  virtual void BeginTargets() {}
  virtual void TargetName() {}
  virtual void TargetCount() {}
  virtual void EndTargets() {}
};

// A .loc directive.
class LocationActions {
 public:
  virtual ~LocationActions() = default;
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
};

// Operands of instructions, initial values, array sizes.
class OperandActions {
 public:
  virtual ~OperandActions() = default;
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

struct Actions {
  ModuleActions& module;
  FunctionActions& functions;
  VariableActions& variables;
  StatementActions& statements;
  LocationActions& locations;
  OperandActions& operands;
};

}  // namespace ptx2cpu::ptx
