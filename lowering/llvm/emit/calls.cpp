// Calls: of functions with a body, of addresses, and of the CUDA device runtime's functions that PTX only
// declares.
#include <llvm/IR/Constants.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>
#include <string>

#include "ir/external_functions.h"
#include "lowering/llvm/emit/warps.h"
#include "runtime/abi/abi.h"

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
      s.b.CreateCall(s.e.m.Service("ptx2cpu_vprintf"), {s.e.body.Block(), PointerTo(s, 0), PointerTo(s, 1)});
  if (!s.inst.results.empty()) s.Return(count);
  return {};
}

Status CallMalloc(Site& s) {
  Value pointer = s.b.CreateCall(s.e.m.Service("ptx2cpu_malloc"), {s.e.body.Block(), s.Raw(0)});
  if (!s.inst.results.empty()) s.Return(s.b.CreatePtrToInt(pointer, s.e.I(64)));
  return {};
}

Status CallFree(Site& s) {
  if ((s.e.m.layout.flags & PTX2CPU_KERNEL_IS_CHECKED) != 0) {
    s.b.CreateCall(s.e.m.Service("ptx2cpu_check_free"),
                   {s.e.body.Block(), s.e.step->thread, s.b.getInt32(s.inst.at.ptx_line), PointerTo(s, 0)});
  }
  s.b.CreateCall(s.e.m.Service("ptx2cpu_free"), {s.e.body.Block(), PointerTo(s, 0)});
  return {};
}

Status CallAlignedMalloc(Site& s) {
  Value pointer =
      s.b.CreateCall(s.e.m.Service("ptx2cpu_aligned_malloc"), {s.e.body.Block(), s.Raw(0), s.Raw(1)});
  if (!s.inst.results.empty()) s.Return(s.b.CreatePtrToInt(pointer, s.e.I(64)));
  return {};
}

// Parameters: message, file, line, function, bytes per character. It does not return, although PTX continues
// after it: the thread ends. If no thread waits for it, nothing else happens, so that the assertions of other
// threads are reported as well.
Status CallAssertFail(Site& s) {
  const bool ends_alone = LaneMayEnd(s.e);
  s.b.CreateCall(s.e.m.Service(ends_alone ? "ptx2cpu_assert_note" : "ptx2cpu_assert_fail"),
                 {s.e.body.Block(), s.e.step->thread, s.b.getInt32(s.inst.at.ptx_line), PointerTo(s, 0),
                  PointerTo(s, 1), s.Raw(2), PointerTo(s, 3), s.Raw(4)});
  if (ends_alone)
    s.b.CreateBr(s.e.step->end);
  else
    s.b.CreateUnreachable();
  s.b.SetInsertPoint(s.e.body.NewBlock("behind_assert"));
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

struct DeviceFunction {
  std::string_view name;
  size_t arguments;
};
constexpr DeviceFunction kDeviceRuntime[] = {
#define DEVICE_RUNTIME(name, arguments, meaning) {#name, arguments},
#include "runtime/abi/device_runtime.def"
#undef DEVICE_RUNTIME
};

// One entry point for all: arguments as words in memory.
Status CallDeviceRuntime(Site& s, uint32_t number) {
  const DeviceFunction& function = kDeviceRuntime[number];
  const ir::Function& callee = s.e.m.ir.functions[s.inst.attrs.index];
  if (s.inst.operands.size() != function.arguments || callee.params.size() != function.arguments ||
      s.inst.results.size() > 1) {
    return s.Unsupported("cuda" + std::string(function.name) + " with " +
                         std::to_string(s.inst.operands.size()) + " arguments");
  }
  auto* type = llvm::ArrayType::get(s.e.I(64), std::max<size_t>(function.arguments, 1));
  llvm::IRBuilder<> entry(&s.e.body.function->getEntryBlock(), s.e.body.function->getEntryBlock().begin());
  Value words = entry.CreateAlloca(type);
  for (unsigned i = 0; i < function.arguments; ++i) {
    Value word = s.Raw(i);
    // An aggregate is where its copy lies in the thread's local window.
    if (callee.params[i].type == ir::Type::kVoid)
      word = s.b.CreatePtrToInt(s.b.CreateGEP(s.b.getInt8Ty(), s.e.memory.LocalBase(), word), s.e.I(64));
    if (word->getType()->isFloatingPointTy())
      word = s.b.CreateBitCast(word, s.e.I(static_cast<unsigned>(word->getType()->getPrimitiveSizeInBits())));
    s.b.CreateStore(s.b.CreateZExt(word, s.e.I(64)), s.b.CreateConstInBoundsGEP2_64(type, words, 0, i));
  }
  Value result = s.b.CreateCall(s.e.m.Service("ptx2cpu_device_runtime"),
                                {s.e.body.Block(), s.e.step->thread, s.b.getInt32(number), words});
  if (!s.inst.results.empty())
    s.Return(s.b.CreateZExtOrTrunc(result, s.e.m.TypeOf(s.e.TypeOf(s.inst.results[0]))));
  return {};
}

Status CallExternal(Site& s, const std::string& name) {
  const auto device = std::ranges::find(kDeviceRuntime, ir::DeviceRuntimeName(name), &DeviceFunction::name);
  if (device != std::end(kDeviceRuntime))
    return CallDeviceRuntime(s, static_cast<uint32_t>(device - kDeviceRuntime));
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
  std::vector<Value> arguments{s.e.body.Block(), s.e.step->thread};
  for (size_t i = first; i < s.inst.operands.size(); ++i) arguments.push_back(s.Raw(i));
  return arguments;
}

}  // namespace

Status EmitCall(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("above lane level");
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

namespace {

// A function that an indirect call may mean: by the number that the address leads to.
struct CallTarget {
  uint64_t identity;
  llvm::Function* function;
};

bool SameWidth(llvm::Type* a, llvm::Type* b) {
  return a->getPrimitiveSizeInBits() == b->getPrimitiveSizeInBits();
}

// Bits pass as they are: prototypes may have .b32 where the function has .f32.
bool Fits(Site& s, const std::vector<Value>& arguments, const llvm::FunctionType* type) {
  if (arguments.size() != type->getNumParams()) return false;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (arguments[i]->getType() != type->getParamType(i) &&
        !SameWidth(arguments[i]->getType(), type->getParamType(i)))
      return false;
  }
  llvm::Type* result = type->getReturnType();
  if (result->isVoidTy()) return s.inst.results.empty();
  const bool several = result->isStructTy();
  if (s.inst.results.size() != (several ? result->getStructNumElements() : 1)) return false;
  for (unsigned i = 0; i < s.inst.results.size(); ++i) {
    llvm::Type* one = several ? result->getStructElementType(i) : result;
    if (!SameWidth(one, s.e.m.TypeOf(s.e.TypeOf(s.inst.results[i])))) return false;
  }
  return true;
}

Result<std::vector<CallTarget>> TargetsOf(Site& s, const std::vector<Value>& arguments) {
  const ir::Module& module = s.e.m.ir;
  const std::vector<bool> possible = ir::IndirectTargets(module);
  std::vector<CallTarget> targets;
  std::map<uint64_t, llvm::Function*> known;
  for (uint32_t i = 0; i < possible.size(); ++i) {
    const ir::Function* body = DefinitionOf(module, module.functions[i]);
    if (!possible[i] || body == nullptr || body->is_kernel) continue;
    llvm::Function* function = TRY(s.e.m.Callee(i));
    const uint64_t identity = ir::FunctionIdentity(module.functions[i].name);
    if (!Fits(s, arguments, function->getFunctionType())) continue;
    if (!known.try_emplace(identity, function).second) {
      if (known[identity] != function) return s.Broken("two functions have one identity");
      continue;
    }
    targets.push_back({identity, function});
  }
  return targets;
}

// From so many on, calls do not each compare with all of them.
constexpr size_t kManyTargets = 64;

// The function that returns the address of a target by its identity, null for others: one for all calls of a
// type.
llvm::Function* Finder(Site& s, const std::vector<CallTarget>& targets) {
  llvm::Module& module = *s.e.m.module;
  std::string name = "ptx2cpu.target.";
  llvm::raw_string_ostream(name) << *targets[0].function->getFunctionType();
  if (llvm::Function* made = module.getFunction(name)) return made;
  auto* type = llvm::FunctionType::get(s.b.getPtrTy(), {s.b.getInt64Ty()}, false);
  llvm::Function* finder = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  finder->addFnAttr(llvm::Attribute::NoInline);
  finder->addFnAttr(llvm::Attribute::NoUnwind);
  finder->setDoesNotAccessMemory();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", finder));
  auto* none = llvm::BasicBlock::Create(module.getContext(), "none", finder);
  llvm::SwitchInst* choice = b.CreateSwitch(finder->getArg(0), none, static_cast<unsigned>(targets.size()));
  for (const CallTarget& target : targets) {
    auto* found = llvm::BasicBlock::Create(module.getContext(), "found", finder);
    choice->addCase(b.getInt64(target.identity), found);
    b.SetInsertPoint(found);
    b.CreateRet(target.function);
  }
  b.SetInsertPoint(none);
  b.CreateRet(llvm::ConstantPointerNull::get(b.getPtrTy()));
  return finder;
}

void NoFunction(Site& s) {
  s.b.CreateCall(s.e.m.Service("ptx2cpu_fault"), {s.e.body.Block(), s.b.getInt32(PTX2CPU_FAULT_BAD_FUNCTION),
                                                  s.e.step->thread, s.b.getInt32(s.inst.at.ptx_line)});
  s.b.CreateUnreachable();
}

// All targets have one type.
void CallOneOfMany(Site& s, std::vector<Value> arguments, const std::vector<CallTarget>& targets,
                   Value identity) {
  llvm::FunctionType* type = targets[0].function->getFunctionType();
  Value target = s.b.CreateCall(Finder(s, targets), {identity});
  llvm::BasicBlock *none = s.e.body.NewBlock("no_function"), *some = s.e.body.NewBlock("call");
  s.b.CreateCondBr(s.b.CreateIsNull(target), none, some);
  s.b.SetInsertPoint(none);
  NoFunction(s);
  s.b.SetInsertPoint(some);
  for (unsigned i = 0; i < arguments.size(); ++i)
    arguments[i] = s.b.CreateBitCast(arguments[i], type->getParamType(i));
  Value call = s.b.CreateCall(type, target, arguments);
  for (size_t i = 0; i < s.inst.results.size(); ++i) {
    Value one = call->getType()->isStructTy() ? s.b.CreateExtractValue(call, static_cast<unsigned>(i)) : call;
    s.Return(s.b.CreateBitCast(one, s.e.m.TypeOf(s.e.TypeOf(s.inst.results[i]))), i);
  }
}

}  // namespace

Status EmitCallIndirect(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("above lane level");
  const std::vector<Value> arguments = Arguments(s, 1);
  const std::vector<CallTarget> targets = TRY(TargetsOf(s, arguments));
  Value identity = s.b.CreateAlignedLoad(s.e.I(64), PointerTo(s, 0), llvm::Align(1));
  const bool is_one_type = std::ranges::all_of(targets, [&](const CallTarget& target) {
    return target.function->getFunctionType() == targets[0].function->getFunctionType();
  });
  if (targets.size() >= kManyTargets && is_one_type) {
    CallOneOfMany(s, arguments, targets, identity);
    return {};
  }
  llvm::BasicBlock *none = s.e.body.NewBlock("no_function"), *after = s.e.body.NewBlock("called");
  llvm::SwitchInst* choice = s.b.CreateSwitch(identity, none, static_cast<unsigned>(targets.size()));
  std::vector<llvm::PHINode*> results;
  for (ir::ValueId result : s.inst.results) {
    results.push_back(llvm::PHINode::Create(s.e.m.TypeOf(s.e.TypeOf(result)),
                                            static_cast<unsigned>(targets.size()), "", after));
  }
  for (const CallTarget& target : targets) {
    llvm::BasicBlock* block = s.e.body.NewBlock("call");
    choice->addCase(s.b.getInt64(target.identity), block);
    s.b.SetInsertPoint(block);
    std::vector<Value> passed = arguments;
    for (unsigned i = 0; i < passed.size(); ++i)
      passed[i] = s.b.CreateBitCast(passed[i], target.function->getFunctionType()->getParamType(i));
    Value call = s.b.CreateCall(target.function, passed);
    for (unsigned i = 0; i < results.size(); ++i) {
      Value one = call->getType()->isStructTy() ? s.b.CreateExtractValue(call, i) : call;
      results[i]->addIncoming(s.b.CreateBitCast(one, results[i]->getType()), block);
    }
    s.b.CreateBr(after);
  }
  s.b.SetInsertPoint(none);
  NoFunction(s);
  s.b.SetInsertPoint(after);
  for (size_t i = 0; i < results.size(); ++i) {
    // A call that no function of the program fits never returns.
    s.Return(targets.empty() ? llvm::PoisonValue::get(results[i]->getType()) : static_cast<Value>(results[i]),
             i);
    if (targets.empty()) results[i]->eraseFromParent();
  }
  return {};
}

// Lanes sleep together, as long as the first one.
Status EmitNanosleep(Site& s) {
  Value time = s.Raw(0);
  if (time->getType()->isVectorTy()) time = s.b.CreateExtractElement(time, s.b.getInt32(0));
  s.b.CreateCall(s.e.m.Service("ptx2cpu_nanosleep"), {s.e.body.Block(), time});
  return {};
}

}  // namespace ptx2cpu::lowering
