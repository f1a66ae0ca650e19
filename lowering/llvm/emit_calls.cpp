// Calls: of functions with a body, of addresses, and of the CUDA device runtime's functions that PTX only
// declares.
#include <llvm/IR/Constants.h>

#include "ir/external_functions.h"
#include "lowering/llvm/function_emitter.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {

void ReturnAll(Site& s, Value call) {
  if (s.inst.results.size() == 1) {
    s.Return(call->getType()->isStructTy() ? s.b.CreateExtractValue(call, 0) : call);
    return;
  }
  for (size_t i = 0; i < s.inst.results.size(); ++i)
    s.Return(s.b.CreateExtractValue(call, static_cast<unsigned>(i)), i);
}

Value PointerTo(Site& s, size_t operand) { return s.b.CreateIntToPtr(s.Raw(operand), s.b.getPtrTy()); }

Status CallVprintf(Site& s) {
  Value count =
      s.b.CreateCall(s.e.m.Service("ptx2cpu_vprintf"), {s.e.Block(), PointerTo(s, 0), PointerTo(s, 1)});
  if (!s.inst.results.empty()) s.Return(count);
  return {};
}

Status CallMalloc(Site& s) {
  Value pointer = s.b.CreateCall(s.e.m.Service("ptx2cpu_malloc"), {s.e.Block(), s.Raw(0)});
  if (!s.inst.results.empty()) s.Return(s.b.CreatePtrToInt(pointer, s.e.I(64)));
  return {};
}

Status CallFree(Site& s) {
  s.b.CreateCall(s.e.m.Service("ptx2cpu_free"), {s.e.Block(), PointerTo(s, 0)});
  return {};
}

// Parameters: message, file, line, function, bytes per character. It does not return, but PTX goes on behind
// it.
Status CallAssertFail(Site& s) {
  s.b.CreateCall(s.e.m.Service("ptx2cpu_assert_fail"),
                 {s.e.Block(), s.e.step.thread, s.b.getInt32(s.inst.at.ptx_line), PointerTo(s, 0),
                  PointerTo(s, 1), s.Raw(2), PointerTo(s, 3), s.Raw(4)});
  s.b.CreateUnreachable();
  s.b.SetInsertPoint(s.e.NewBlock("behind_assert"));
  for (size_t i = 0; i < s.inst.results.size(); ++i)
    s.Return(llvm::PoisonValue::get(s.e.m.TypeOf(s.e.TypeOf(s.inst.results[i]))), i);
  return {};
}

struct External {
  std::string_view name;
  size_t arguments, results;
  Status (*emit)(Site&);
};
constexpr External kExternals[] = {
#define EXTERNAL(name, function, arguments, results, meaning) {#name, arguments, results, Call##function},
#include "ir/external_functions.def"
#undef EXTERNAL
};

Status CallExternal(Site& s, const std::string& name) {
  for (const External& external : kExternals) {
    if (external.name != name) continue;
    if (s.inst.operands.size() < external.arguments || s.inst.results.size() > external.results) {
      return s.Unsupported(name + " with " + std::to_string(s.inst.operands.size()) + " arguments");
    }
    return external.emit(s);
  }
  return Refuse(s.e.m.ir, ErrorCode::kUnsupported, s.inst.at,
                "call of " + name + ", which is declared but not defined",
                "known without a definition are " + ir::ExternalFunctionNames());
}

std::vector<Value> Arguments(Site& s, size_t first) {
  std::vector<Value> arguments{s.e.Block(), s.e.step.thread};
  for (size_t i = first; i < s.inst.operands.size(); ++i) arguments.push_back(s.Raw(i));
  return arguments;
}

}  // namespace

Status EmitCall(Site& s) {
  if (s.e.step.level != ir::Level::kLane) return s.Broken("above lane level");
  const ir::Function& callee = s.e.m.ir.functions[s.inst.attrs.index];
  if (DefinitionOf(s.e.m.ir, callee) == nullptr) return CallExternal(s, callee.name);
  llvm::Function* target = TRY(s.e.m.Callee(s.inst.attrs.index));
  std::vector<Value> arguments = Arguments(s, 0);
  llvm::FunctionType* type = target->getFunctionType();
  bool fits = type->getNumParams() == arguments.size();
  for (unsigned i = 0; fits && i < arguments.size(); ++i)
    fits = arguments[i]->getType() == type->getParamType(i);
  if (!fits) return s.Broken("arguments do not fit " + callee.name);
  ReturnAll(s, s.b.CreateCall(target, arguments));
  return {};
}

Status EmitCallIndirect(Site& s) {
  if (s.e.step.level != ir::Level::kLane) return s.Broken("above lane level");
  std::vector<llvm::Type*> parameters, results;
  for (size_t i = 1; i < s.inst.operands.size(); ++i) parameters.push_back(s.Raw(i)->getType());
  for (ir::ValueId result : s.inst.results) results.push_back(s.e.m.TypeOf(s.e.TypeOf(result)));
  ReturnAll(s, s.b.CreateCall(s.e.m.CalleeType(parameters, results), PointerTo(s, 0), Arguments(s, 1)));
  return {};
}

Status EmitNanosleep(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  s.b.CreateCall(s.e.m.Service("ptx2cpu_nanosleep"), {s.e.Block(), s.Raw(0)});
  return {};
}

}  // namespace ptx2cpu::lowering
