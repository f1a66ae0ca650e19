#include "lowering/llvm/module/module_emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "lowering/llvm/module/names.h"
#include "lowering/llvm/module/services.h"
#include "lowering/llvm/module/steps.h"
#include "lowering/llvm/module/widen.h"
#include "lowering/load/kernel_image.h"

namespace ptx2cpu::lowering {

std::unexpected<Error> Refuse(const ir::Module& module, ErrorCode code, const ir::Position& at,
                              std::string message, std::string hint) {
  Error error{.code = code, .message = std::move(message), .hint = std::move(hint)};
  error.at = module.Place(at.ptx_line);
  error.excerpt = std::string(module.Line(at.ptx_line));
  return Fail(std::move(error));
}

namespace {

bool HasAtomics(const ir::Module& module) {
  return std::ranges::any_of(module.functions, [](const ir::Function& f) {
    return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
      return inst.block.valid() && (inst.op == ir::Opcode::kAtomic || inst.op == ir::Opcode::kAtomicCas ||
                                    inst.op == ir::Opcode::kReduceBulk);
    });
  });
}

}  // namespace

ModuleEmitter::ModuleEmitter(llvm::LLVMContext& context, const ir::Module& ir, const EmitOptions& options,
                             KernelLayout layout)
    : context(context),
      ir(ir),
      options(options),
      layout(std::move(layout)),
      traits(TraitsOf(options.target)),
      module(std::make_unique<llvm::Module>(ir.name, context)),
      variables_(ir.variables.size()),
      callees_(ir.functions.size()) {
  module->setTargetTriple(options.target.triple);
  if (HasAtomics(ir)) module->getOrInsertNamedMetadata(kAtomicsMetadata);
  if (options.debug_info) debug = std::make_unique<DebugInfo>(*module, ir, options.debug_variables);
  llvm::MDBuilder builder(context);
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain("memory");
  llvm::MDNode* scope[5];
  constexpr const char* kNames[] = {"global", "shared", "local", "slots", "context"};
  for (int i = 0; i < 5; ++i) {
    scope[i] = builder.createAnonymousAliasScope(domain, kNames[i]);
    scopes_[i] = llvm::MDNode::get(context, {scope[i]});
  }
  for (int i = 0; i < 5; ++i) {
    llvm::SmallVector<llvm::Metadata*, 4> rest;
    for (int j = 0; j < 5; ++j) {
      if (j != i) rest.push_back(scope[j]);
    }
    others_[i] = llvm::MDNode::get(context, rest);
  }
  constexpr auto kSlot = static_cast<int>(Memory::kSlot), kContext = static_cast<int>(Memory::kContext);
  others_[static_cast<int>(Memory::kGeneric)] = llvm::MDNode::get(context, {scope[kSlot], scope[kContext]});
}

void ModuleEmitter::Annotate(llvm::Instruction* access, Memory memory) {
  int index = static_cast<int>(memory);
  if (memory != Memory::kGeneric) access->setMetadata(llvm::LLVMContext::MD_alias_scope, scopes_[index]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, others_[index]);
}

llvm::Type* ModuleEmitter::TypeOf(ir::Type type) {
  switch (type) {
    case ir::Type::kVoid:
      return llvm::Type::getVoidTy(context);
    case ir::Type::kF32:
      return llvm::Type::getFloatTy(context);
    case ir::Type::kF64:
      return llvm::Type::getDoubleTy(context);
    case ir::Type::kI1:
    case ir::Type::kI8:
    case ir::Type::kI16:
    case ir::Type::kI32:
    case ir::Type::kI64:
    case ir::Type::kI128:
    case ir::Type::kF16:
    case ir::Type::kBF16:
      break;
  }
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(ir::Bits(type)));
}

llvm::Type* ModuleEmitter::MemoryTypeOf(ir::Type type) {
  return type == ir::Type::kI1 ? llvm::Type::getInt8Ty(context) : TypeOf(type);
}

llvm::Function* ModuleEmitter::Service(std::string_view name) {
  if (llvm::Function* known = module->getFunction(llvm::StringRef(name.data(), name.size()))) return known;
  const ServiceInfo* service = FindService(name);
  CHECK(service != nullptr, std::string(name));
  auto* function = llvm::Function::Create(service->type(context), llvm::GlobalValue::ExternalLinkage,
                                          llvm::StringRef(name.data(), name.size()), module.get());
  function->setDoesNotThrow();
  if (service->kind == ServiceKind::kEntryPoint && traits.is_riscv) {
    // The ABI passes 32-bit values sign-extended; callers must request it.
    for (llvm::Argument& argument : function->args()) {
      if (argument.getType()->isIntegerTy(32)) argument.addAttr(llvm::Attribute::SExt);
    }
    if (function->getReturnType()->isIntegerTy(32)) function->addRetAttr(llvm::Attribute::SExt);
  }
  if (name == "ptx2cpu_fault" || name == "ptx2cpu_assert_fail") {
    function->setDoesNotReturn();
    function->addFnAttr(llvm::Attribute::Cold);
  }
  return function;
}

llvm::Function* ModuleEmitter::WideService(std::string_view name, unsigned width) {
  const llvm::Function* scalar = Service(name);
  CHECK(FindService(name)->code == ServiceCode::kStraight, std::string(name));
  return DeclareWidened(*module, *scalar, width);
}

llvm::FunctionType* ModuleEmitter::CalleeType(const std::vector<llvm::Type*>& parameters,
                                              const std::vector<llvm::Type*>& results) {
  std::vector<llvm::Type*> types{llvm::PointerType::getUnqual(context), llvm::Type::getInt32Ty(context)};
  types.insert(types.end(), parameters.begin(), parameters.end());
  llvm::Type* result = llvm::Type::getVoidTy(context);
  if (results.size() == 1) result = results[0];
  if (results.size() > 1) result = llvm::StructType::get(context, results);
  return llvm::FunctionType::get(result, types, false);
}

Result<llvm::Function*> ModuleEmitter::Callee(uint32_t index) {
  const ir::Function* f = DefinitionOf(ir, ir.functions[index]);
  if (f == nullptr) {
    return Refuse(
        ir, ErrorCode::kUnsupported, ir.functions[index].at,
        "function " + ir.functions[index].name + " is called or its address taken, but it is not defined");
  }
  auto at = static_cast<size_t>(f - ir.functions.data());
  if (callees_[at] != nullptr) return callees_[at];
  std::vector<llvm::Type*> parameters, results;
  for (ir::ValueId value : f->at_block(f->entry).params) parameters.push_back(TypeOf(f->type_of(value)));
  for (const ir::Param& param : f->returns) {
    if (param.type != ir::Type::kVoid) results.push_back(TypeOf(param.type));
  }
  callees_[at] = llvm::Function::Create(CalleeType(parameters, results), llvm::GlobalValue::InternalLinkage,
                                        "ptx2cpu.function." + f->name, module.get());
  callees_[at]->setDoesNotThrow();
  if (f->is_noreturn) callees_[at]->setDoesNotReturn();
  return callees_[at];
}

Result<llvm::Constant*> ModuleEmitter::FunctionAddress(uint32_t index) {
  const std::string& function = ir.functions[index].name;
  const std::string name = IdentityName(function);
  if (llvm::GlobalVariable* known = module->getGlobalVariable(name, true)) return known;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt64Ty(context), 2);
  auto* identity =
      new llvm::GlobalVariable(*module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, name);
  identity->setAlignment(llvm::Align(16));
  if (options.storage == Storage::kDefine) {
    const uint64_t words[] = {ir::FunctionIdentity(function), 0};
    identity->setInitializer(llvm::ConstantDataArray::get(context, words));
    identity->setLinkage(llvm::GlobalValue::WeakODRLinkage);  // the same in every kernel's part of an object
  }
  return identity;
}

// -- variables --

Result<llvm::Constant*> ModuleEmitter::Relocated(const ir::Variable& variable,
                                                 const ir::Variable::Relocation& relocation) {
  auto* word = llvm::Type::getInt64Ty(context);
  llvm::Constant* target = nullptr;
  if (relocation.is_function) {
    target = llvm::ConstantExpr::getPtrToInt(TRY(FunctionAddress(relocation.index)), word);
  } else if (const ir::Variable& other = ir.variables[relocation.index]; other.space == ir::Space::kShared) {
    uint64_t offset = layout.shared_offset[relocation.index] + static_cast<uint64_t>(relocation.addend);
    return llvm::ConstantInt::get(llvm::Type::getIntNTy(context, 8 * relocation.size),
                                  offset >> relocation.shift);
  } else {
    target = llvm::ConstantExpr::getPtrToInt(TRY(VariableAddress(relocation.index)), word);
  }
  if (relocation.size != 8 || relocation.shift != 0) {
    return Refuse(ir, ErrorCode::kUnsupported, variable.at,
                  "the initialiser of " + variable.name +
                      " contains a part of an address, which object files cannot express");
  }
  if (relocation.addend == 0) return target;
  return llvm::ConstantExpr::getAdd(target,
                                    llvm::ConstantInt::get(word, static_cast<uint64_t>(relocation.addend)));
}

Result<llvm::Constant*> ModuleEmitter::Initialiser(const ir::Variable& variable) {
  auto* byte = llvm::Type::getInt8Ty(context);
  // Without the zeros at its end, which may be more than there is memory.
  llvm::ArrayRef<uint8_t> bytes(variable.initial.data(),
                                std::min<size_t>(variable.initial.size(), variable.size));
  while (!bytes.empty() && bytes.back() == 0) bytes = bytes.drop_back();
  std::vector<ir::Variable::Relocation> relocations = variable.relocations;
  std::ranges::sort(relocations, {}, &ir::Variable::Relocation::offset);
  std::vector<llvm::Constant*> parts;
  uint64_t done = 0;
  auto plain = [&](uint64_t end) {
    if (const uint64_t given = std::min<uint64_t>(end, bytes.size()); given > done) {
      parts.push_back(llvm::ConstantDataArray::get(context, bytes.slice(done, given - done)));
      done = given;
    }
    if (end > done) parts.push_back(llvm::ConstantAggregateZero::get(llvm::ArrayType::get(byte, end - done)));
    done = end;
  };
  for (const auto& relocation : relocations) {
    CHECK(relocation.offset >= done && relocation.offset + relocation.size <= variable.size,
          "relocations overlap");
    plain(relocation.offset);
    parts.push_back(TRY(Relocated(variable, relocation)));
    done += relocation.size;
  }
  plain(variable.size);
  if (parts.empty()) return llvm::ConstantAggregateZero::get(llvm::ArrayType::get(byte, 0));
  if (parts.size() == 1) return parts[0];
  return llvm::ConstantStruct::getAnon(context, parts, /*Packed=*/true);
}

Result<llvm::Constant*> ModuleEmitter::VariableAddress(uint32_t index) {
  if (variables_[index] != nullptr) return variables_[index];
  const ir::Variable& variable = ir.variables[index];
  using Linkage = ir::Variable::Linkage;
  bool defined = options.storage == Storage::kDefine && variable.linkage != Linkage::kExtern;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), variable.size);
  // Declared first: an initialiser may hold the variable's own address.
  auto* global = new llvm::GlobalVariable(*module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                          variable.name);
  global->setAlignment(llvm::Align(std::max(variable.align, 16u)));
  variables_[index] = global;
  if (!defined) return global;
  llvm::Constant* initialiser = TRY(Initialiser(variable));
  if (initialiser->getType() != type) {
    auto* typed = new llvm::GlobalVariable(*module, initialiser->getType(), false,
                                           llvm::GlobalValue::ExternalLinkage, nullptr);
    typed->setAlignment(global->getAlign());
    typed->takeName(global);
    global->replaceAllUsesWith(typed);
    global->eraseFromParent();
    variables_[index] = global = typed;
  }
  global->setInitializer(initialiser);
  // Several kernels of one object bring the same variable: one copy stays. Writers of objects hide internal
  // ones.
  global->setLinkage(llvm::GlobalValue::WeakODRLinkage);
  // .const is constant to kernels only: a host may set it before a launch, as cudaMemcpyToSymbol does.
  global->setExternallyInitialized(true);
  return global;
}

}  // namespace ptx2cpu::lowering
