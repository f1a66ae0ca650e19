// 9.7.12: calls and returns; 9.7.19: miscellaneous. function_translator.cpp translates branches, which make
// blocks.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/module_frame.h"
#include "ptx-parser/translate/parameters.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

void bra(Emitter&) { CHECK(false, "branches are translated with the blocks"); }
void brx_idx(Emitter&) { CHECK(false, "branches are translated with the blocks"); }

void ret(Emitter& e) {
  if (e.source.is_entry) {
    e.b.Ret();
  } else {
    StoreModuleRegisters(e);
    e.b.Ret(e.params->ReturnValues(e));
  }
}

void exit(Emitter& e) { e.b.Terminate(Opcode::kExit); }
void trap(Emitter& e) { e.b.Terminate(Opcode::kTrap); }

namespace {

// The pieces of `call (returns), callee, (arguments), prototype or targets`.
struct CallOperands {
  std::span<const ast::Operand> returns, arguments;
  const ast::Operand* callee = nullptr;
  const ast::Operand* type = nullptr;  // .callprototype or .calltargets of an indirect call
};

CallOperands Split(const Emitter& e) {
  CallOperands call;
  for (const ast::Operand& operand : e.ast.Operands(*e.instruction)) {
    if (operand.kind == OperandKind::kArguments) {
      (call.callee ? call.arguments : call.returns) = e.ast.Children(operand);
    } else if (!call.callee) {
      call.callee = &operand;
    } else {
      call.type = &operand;
    }
  }
  return call;
}

// Declared parameters of the callee: of the function itself, its prototype, or its first possible target.
struct CallType {
  ast::Range returns, parameters;
  bool noreturn = false;
};

std::optional<CallType> TypeOfCall(const Emitter& e, const CallOperands& call) {
  const ast::Operand* named = call.callee->symbol_kind == SymbolKind::kFunction ? call.callee : call.type;
  if (!named) return std::nullopt;
  if (named->symbol_kind == SymbolKind::kPrototype) {
    const ast::Prototype& prototype = e.ast.prototypes[named->symbol];
    return CallType{prototype.returns, prototype.parameters, prototype.noreturn};
  }
  if (named->symbol_kind == SymbolKind::kTargets) {
    auto targets = ast::Module::Slice(e.ast.operands, e.ast.targets[named->symbol].operands);
    if (targets.empty() || targets[0].symbol_kind != SymbolKind::kFunction) return std::nullopt;
    const ast::Function& target = e.ast.functions[targets[0].symbol];
    return CallType{target.returns, target.parameters, false};  // another target may return
  }
  if (named->symbol_kind != SymbolKind::kFunction) return std::nullopt;
  const ast::Function& function = e.ast.functions[named->symbol];
  return CallType{function.returns, function.parameters, function.noreturn};
}

bool IsParam(const Emitter& e, const ast::Operand& operand) {
  return operand.symbol_kind == SymbolKind::kVariable &&
         e.ast.variables[operand.symbol].space == ast::Space::kParam;
}

ValueId Argument(Emitter& e, const ast::Operand& operand, const ast::Variable& parameter) {
  if (IsAggregate(e.ast, parameter)) {
    if (IsParam(e, operand)) return e.params->Address(e, operand.symbol);
    e.Fail(ErrorCode::kSyntax,
           "the argument for `" + std::string(parameter.name) + "` must be a .param variable");
    return e.Const(Type::kI64, 0);
  }
  Type type = WholeType(FindType(parameter.type));
  if (!IsParam(e, operand)) return e.ReadOperand(operand, type);
  ValueId value = e.params->ReadScalar(e, operand.symbol);
  if (ir::Bits(e.f.type_of(value)) == ir::Bits(type)) return e.b.Bitcast(type, value);
  e.Fail(ErrorCode::kSyntax, "argument `" + std::string(operand.text) + "` and the parameter differ in size");
  return e.Const(type, 0);
}

void WriteResult(Emitter& e, const ast::Operand& operand, ValueId value) {
  if (IsParam(e, operand)) {
    Type type = WholeType(FindType(e.ast.variables[operand.symbol].type));
    if (ir::Bits(type) != ir::Bits(e.f.type_of(value))) {
      return e.Fail(ErrorCode::kSyntax,
                    "`" + std::string(operand.text) + "` and the returned value differ in size");
    }
    e.params->WriteScalar(e, operand.symbol, e.b.Bitcast(type, value));
  } else {
    e.WriteOperand(operand, value, false);
  }
}

// The registers of an operand for a vector register; none when it is no such vector.
std::span<const ast::Operand> ElementsOf(Emitter& e, const ast::Operand& operand,
                                         const ast::Variable& variable) {
  const bool fits = operand.kind == OperandKind::kVector && e.ast.Children(operand).size() == variable.vector;
  if (fits) return e.ast.Children(operand);
  e.Fail(ErrorCode::kSyntax, "the operand for `" + std::string(variable.name) + "` must be a vector of " +
                                 std::to_string(variable.vector) + " registers");
  return {};
}

// Each possible target of an indirect call is part of the translation.
void RequireTargets(Emitter& e, const CallOperands& call, const CallType& type) {
  if (!call.type || call.type->symbol_kind != SymbolKind::kTargets)
    return e.context.RequireIndirectTargets(type.returns, type.parameters);
  for (const ast::Operand& target :
       ast::Module::Slice(e.ast.operands, e.ast.targets[call.type->symbol].operands)) {
    if (target.symbol_kind == SymbolKind::kFunction) e.context.RequireFunction(target.symbol);
  }
}

}  // namespace

void call(Emitter& e) {
  CallOperands call = Split(e);
  std::optional<CallType> type = call.callee ? TypeOfCall(e, call) : std::nullopt;
  if (!type) return e.Fail(ErrorCode::kSyntax, "the call names no function, prototype or list of targets");
  std::span<const ast::Variable> returns = e.ast.Variables(type->returns),
                                 parameters = e.ast.Variables(type->parameters);
  if (returns.size() != call.returns.size() || parameters.size() != call.arguments.size()) {
    return e.Fail(ErrorCode::kSyntax, "the callee has " + std::to_string(returns.size()) + " results and " +
                                          std::to_string(parameters.size()) + " parameters, the call " +
                                          std::to_string(call.returns.size()) + " and " +
                                          std::to_string(call.arguments.size()));
  }
  bool direct = call.callee->symbol_kind == SymbolKind::kFunction;
  std::vector<ValueId> operands;
  if (!direct) operands.push_back(e.ReadOperand(*call.callee, Type::kI64));
  std::vector<Type> types;
  for (size_t i = 0; i < returns.size(); ++i) {  // aggregates first: where the callee puts them
    if (IsAggregate(e.ast, returns[i])) {
      operands.push_back(Argument(e, call.returns[i], returns[i]));
    } else {
      const size_t count = IsVectorRegister(returns[i]) ? returns[i].vector : 1;
      types.insert(types.end(), count, WholeType(FindType(returns[i].type)));
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!IsVectorRegister(parameters[i])) {
      operands.push_back(Argument(e, call.arguments[i], parameters[i]));
      continue;
    }
    for (const ast::Operand& element : ElementsOf(e, call.arguments[i], parameters[i]))
      operands.push_back(e.ReadOperand(element, WholeType(FindType(parameters[i].type))));
  }
  if (e.error) return;
  if (!direct) RequireTargets(e, call, *type);
  uint32_t index = direct ? e.context.RequireFunction(call.callee->symbol)
                          : e.context.AddSignature(type->returns, type->parameters);
  StoreModuleRegisters(e);
  std::vector<ValueId> results =
      e.b.Call(direct ? Opcode::kCall : Opcode::kCallIndirect, index, std::move(operands), types);
  if (type->noreturn) {
    e.b.Terminate(Opcode::kUnreachable);
    return;
  }
  LoadModuleRegisters(e);
  size_t next = 0;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (IsVectorRegister(returns[i])) {
      for (const ast::Operand& element : ElementsOf(e, call.returns[i], returns[i]))
        WriteResult(e, element, results[next++]);
    } else if (!IsAggregate(e.ast, returns[i])) {
      WriteResult(e, call.returns[i], results[next++]);
    }
  }
}

void nanosleep(Emitter& e) { e.b.Make(Opcode::kNanosleep, Type::kVoid, {e.Read(0, Type::kI32)}); }

// There is no debugger, no performance monitor, no register file to trade, and no dependent grid to wait for:
// grids of a stream run one after the other.
void brkpt(Emitter&) {}
void pmevent(Emitter&) {}
void setmaxnreg(Emitter&) {}
void griddepcontrol(Emitter&) {}

}  // namespace ptx2cpu::ptx::rows
