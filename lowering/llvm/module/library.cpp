#include "lowering/llvm/module/library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

#include <string_view>

#include "lowering/llvm/module/services.h"
#include "lowering/llvm/module/widen.h"

// Built by CMake and included by embedded_bitcode.S.
extern "C" {
#define BITCODE(name) extern const char ptx2cpu_bitcode_##name[], ptx2cpu_bitcode_##name##_end[];
#include "lowering/llvm/module/bitcode.def"
#undef BITCODE
}

namespace ptx2cpu::lowering {

namespace {

struct Bitcode {
  std::string_view name;
  const char *begin, *end;
};
const Bitcode kBitcode[] = {
#define BITCODE(name) {#name, ptx2cpu_bitcode_##name, ptx2cpu_bitcode_##name##_end},
#include "lowering/llvm/module/bitcode.def"
#undef BITCODE
};

std::string_view MachineOf(const TargetTraits& traits) {
  if (traits.is_aarch64) return "aarch64";
  if (traits.is_riscv) return "riscv64";
  return "x86_64";
}

std::string WarpName(const TargetTraits& traits) {
  if (traits.is_x86 && traits.warp_library == WarpLibrary::kAvx512) return "warp_avx512";
  if (traits.is_x86 && traits.warp_library == WarpLibrary::kAvx2) return "warp_avx2";
  return "warp_plain_" + std::string(MachineOf(traits));
}

// The parts of runtime/warp/matrix.def, in an order in which each uses those after it only; and their builds
// for some machines, the first that the target has. Others have one for the machine, but of tiles only AMX
// has one.
constexpr std::string_view kMatrixParts[] = {"rows", "tiles",   "float", "chain",
                                             "wide", "integer", "exact", "general"};
struct MatrixBuild {
  std::string_view part, name;
  bool (*runs)(const TargetTraits&);
};
constexpr MatrixBuild kMatrixBuilds[] = {
    {"tiles", "amx", [](const TargetTraits& t) { return t.has_byte_tiles; }},
    {"float", "avx512", [](const TargetTraits& t) { return t.has_avx512; }},
    {"float", "avx2",
     [](const TargetTraits& t) { return t.warp_library == WarpLibrary::kAvx2 && t.has_fma; }},
    {"chain", "bf16", [](const TargetTraits& t) { return t.has_bf16_dot; }},
    {"chain", "avx512", [](const TargetTraits& t) { return t.has_avx512; }},
    {"integer", "vnni", [](const TargetTraits& t) { return t.has_vnni; }},
    {"integer", "avx512", [](const TargetTraits& t) { return t.has_avx512; }},
    {"integer", "avx2", [](const TargetTraits& t) { return t.warp_library == WarpLibrary::kAvx2; }},
};

std::string MatrixName(std::string_view part, const TargetTraits& traits) {
  std::string_view name = MachineOf(traits);
  for (const MatrixBuild& build : kMatrixBuilds) {
    if (build.part != part || !build.runs(traits)) continue;
    name = build.name;
    break;
  }
  return "matrix_" + std::string(part) + "_" + std::string(name);
}

Status LinkOne(llvm::Module& module, const std::string& name) {
  for (const Bitcode& bitcode : kBitcode) {
    if (bitcode.name != name) continue;
    llvm::StringRef bytes(bitcode.begin, static_cast<size_t>(bitcode.end - bitcode.begin));
    auto library = llvm::getOwningLazyBitcodeModule(llvm::MemoryBuffer::getMemBuffer(bytes, name, false),
                                                    module.getContext());
    if (!library)
      return Fail(ErrorCode::kInternal, "library " + name + ": " + llvm::toString(library.takeError()));
    (*library)->setDataLayout(module.getDataLayout());
    (*library)->setTargetTriple(module.getTargetTriple());
    if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded)) {
      return Fail(ErrorCode::kInternal, "library " + name + " does not link");
    }
    return {};
  }
  return Fail(ErrorCode::kInternal, "no library for " + name);
}

bool UsesLibrary(const llvm::Module& module, ServiceKind kind) {
  for (const llvm::Function& function : module) {
    const ServiceInfo* service =
        FindService(std::string_view(function.getName().data(), function.getName().size()));
    if (service != nullptr && service->kind == kind && function.isDeclaration()) return true;
  }
  return false;
}

// Products and sums that may be fused are fused here: the target machine fuses none on its own.
void Fuse(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& inst : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
      if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::fmuladd) continue;
      llvm::IRBuilder<> b(call);
      call->replaceAllUsesWith(
          b.CreateIntrinsic(llvm::Intrinsic::fma, {call->getType()},
                            {call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2)}));
      call->eraseFromParent();
    }
  }
}

// Whether copies of the function would be most of the module, and take most of LLVM's time: then it stays a
// function. Functions of one block are copied in any case, since a call would keep loops from becoming
// vectors.
bool HasManyCopies(const llvm::Function& function, const ServiceInfo* service) {
  if (service != nullptr && service->kind == ServiceKind::kMath && service->code == ServiceCode::kStraight)
    return false;
  constexpr uint64_t kMaxInstructions = 16384;
  return uint64_t{function.getInstructionCount()} * function.getNumUses() > kMaxInstructions;
}

// No function may keep the features its library was compiled for: those that differ are not inlined.
void Unify(llvm::Module& module, const Target& target, const TargetTraits& traits) {
  constexpr const char* kDropped[] = {"target-cpu",
                                      "target-features",
                                      "tune-cpu",
                                      "frame-pointer",
                                      "stack-protector-buffer-size",
                                      "min-legal-vector-width",
                                      "no-trapping-math",
                                      "uwtable"};
  for (llvm::Function& function : module) {
    // A product of matrices has hundreds of instructions and stays a function.
    const ServiceInfo* service =
        FindService(std::string_view(function.getName().data(), function.getName().size()));
    const bool is_product = service != nullptr && service->kind == ServiceKind::kMatrix;
    bool library = IsLibraryFunction(std::string_view(function.getName().data(), function.getName().size()));
    if (function.isIntrinsic()) continue;
    for (const char* attribute : kDropped) function.removeFnAttr(attribute);
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::UWTable);
    function.removeFnAttr(llvm::Attribute::MustProgress);
    function.removeFnAttr(llvm::Attribute::StackProtect);
    function.removeFnAttr(llvm::Attribute::StackProtectStrong);
    // An access to address 0 is a fault of the kernel, not a reason to believe that it is never reached.
    function.addFnAttr(llvm::Attribute::NullPointerIsValid);
    if (!target.cpu.empty()) function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty()) function.addFnAttr("target-features", target.features);
    if (traits.has_avx512) function.addFnAttr("prefer-vector-width", "512");
    if (library) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.removeFnAttr(llvm::Attribute::NoInline);
      const bool stays = is_product || HasManyCopies(function, service);
      function.addFnAttr(stays ? llvm::Attribute::NoInline : llvm::Attribute::AlwaysInline);
    }
  }
}

}  // namespace

Status LinkLibraries(llvm::Module& module, const Target& target) {
  TargetTraits traits = TraitsOf(target);
  if (UsesLibrary(module, ServiceKind::kWarp)) TRY_STATUS(LinkOne(module, WarpName(traits)));
  if (UsesLibrary(module, ServiceKind::kMath)) {
    std::string machine(MachineOf(traits));
    TRY_STATUS(LinkOne(module, "math_" + machine));
    if (UsesLibrary(module, ServiceKind::kMath)) TRY_STATUS(LinkOne(module, "find_nth_set_" + machine));
  }
  for (std::string_view part : kMatrixParts) {
    if (part == "tiles" && !traits.has_byte_tiles) continue;
    if (UsesLibrary(module, ServiceKind::kMatrix)) TRY_STATUS(LinkOne(module, MatrixName(part, traits)));
  }
  if (traits.has_fma) Fuse(module);
  TRY_STATUS(DefineWidened(module));
  Unify(module, target, traits);
  return {};
}

}  // namespace ptx2cpu::lowering
