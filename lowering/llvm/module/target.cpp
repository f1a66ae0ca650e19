#include "lowering/llvm/module/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/TargetParser/Triple.h>

#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "ir/internal_error.h"
#include "lowering/llvm/module/machines.h"
#include "lowering/llvm/module/target_machine.h"

namespace ptx2cpu::lowering {

namespace {

constexpr std::string_view kHostTriple = "x86_64-unknown-linux-gnu";

// In other cases LLVM continues as it does without a handler.
void OnFatalError(void*, const char* reason, bool) {
  if (ThrowInternalErrors::Active()) throw InternalError(std::string("LLVM: ") + reason);
}
void OnNoMemory(void*, const char*, bool) {
  if (ThrowInternalErrors::Active()) throw std::bad_alloc();
}

void InitialiseTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    // LLVM is built without exceptions, but with tables to unwind by: what its frames own is lost, not the
    // process.
    llvm::install_fatal_error_handler(OnFatalError);
    llvm::install_bad_alloc_error_handler(OnNoMemory);
    InitialiseMachines();
  });
}

std::string KeyOf(const Target& target) { return target.triple + '\n' + target.cpu + '\n' + target.features; }

Target FindNativeTarget() {
  Target target{"native", llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), ""};
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.getKey(), feature.getValue());
  target.features = features.getString();
  return target;
}

const Target& NativeTarget() {
  static const auto* const native = new Target(FindNativeTarget());
  return *native;
}

// What is known of targets, by name. As for idle machines, no thread waits for the lock.
template <typename T>
class Known {
 public:
  std::optional<T> Find(const std::string& key) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    const auto found = known_.find(key);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void Put(const std::string& key, T value) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) known_.try_emplace(key, std::move(value));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, T> known_;
};

// By triple. Threads ask until the process ends.
Known<std::string>& DataLayouts() {
  static auto* const layouts = new Known<std::string>;
  return *layouts;
}

// Machines that no thread uses. Making one takes a millisecond, as long as emitting a small
// kernel. No thread waits for the lock: in a forked process it may be held for ever.
class IdleMachines {
 public:
  static IdleMachines& Get() {
    static auto* const idle = new IdleMachines;  // threads compile until the process ends
    return *idle;
  }
  std::unique_ptr<llvm::TargetMachine> Take(const std::string& key) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto found = machines_.find(key);
    if (found == machines_.end()) return nullptr;
    auto machine = std::move(found->second);
    machines_.erase(found);
    return machine;
  }
  void Put(const std::string& key, std::unique_ptr<llvm::TargetMachine> machine) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) machines_.emplace(key, std::move(machine));
  }

 private:
  std::mutex mutex_;
  std::multimap<std::string, std::unique_ptr<llvm::TargetMachine>> machines_;
};

}  // namespace

Result<Target> ResolveTarget(std::string_view name) {
  InitialiseTargets();
  if (name.empty() || name == "native") return NativeTarget();
  if (name == "x86-64-v2" || name == "x86-64-v3" || name == "x86-64-v4") {
    return Target{std::string(name), std::string(kHostTriple), std::string(name), ""};
  }
  llvm::Triple triple(llvm::Triple::normalize(std::string(name)));
  Target target{std::string(name), triple.str(), "", ""};
  std::string why;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, why);
  bool known = triple.getArch() == llvm::Triple::x86_64 || triple.getArch() == llvm::Triple::aarch64 ||
               triple.isRISCV64();
  if (found == nullptr || !known) {
    return Fail(
        {.code = ErrorCode::kUsage,
         .message = "unknown target '" + std::string(name) + "'",
         .hint = "native, x86-64-v2, x86-64-v3, x86-64-v4, aarch64-linux-gnu, riscv64-linux-gnu, or another "
                 "triple of these machines"});
  }
  if (triple.isX86()) target.cpu = "x86-64-v3";
  if (triple.isAArch64()) target.cpu = "generic";
  if (triple.isRISCV64()) {
    target.cpu = "generic-rv64";
    target.features = "+m,+a,+f,+d,+c";
  }
  return target;
}

Result<Target> TargetWanted() {
  const char* name = std::getenv("PTX2CPU_TARGET");
  return ResolveTarget(name == nullptr ? "native" : name);
}

uint32_t LaneWidthWanted() {
  const char* number = std::getenv("PTX2CPU_WIDTH");
  return number == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(number, nullptr, 10));
}

Result<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target, int optimisation,
                                                                 bool for_jit) {
  InitialiseTargets();
  std::string why;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, why);
  if (found == nullptr) return Fail(ErrorCode::kUsage, "target '" + target.name + "': " + why);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // contraction is the PTX instruction's decision
  // Code that is proved never to be reached ends there, and does not run on into what follows in memory.
  options.TrapUnreachable = true;
  options.NoTrapAfterNoreturn = true;
  if (llvm::Triple(target.triple).isRISCV64()) options.MCOptions.ABIName = "lp64d";
  constexpr llvm::CodeGenOptLevel kLevels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                               llvm::CodeGenOptLevel::Default,
                                               llvm::CodeGenOptLevel::Aggressive};
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                 for_jit ? std::optional(llvm::CodeModel::Small) : std::nullopt,
                                 kLevels[std::clamp(optimisation, 0, 3)], for_jit));
  if (machine == nullptr)
    return Fail(ErrorCode::kUsage, "target '" + target.name + "' makes no machine code");
  DataLayouts().Put(target.triple, machine->createDataLayout().getStringRepresentation());
  return machine;
}

Result<std::string> DataLayoutOf(const Target& target) {
  if (auto known = DataLayouts().Find(target.triple)) return *std::move(known);
  return TRY(BorrowTargetMachine(target, 3))->createDataLayout().getStringRepresentation();
}

void ReturnMachine::operator()(llvm::TargetMachine* machine) const {
  std::unique_ptr<llvm::TargetMachine> owned(machine);
  // What it was doing when it was left is not known.
  if (std::uncaught_exceptions() == 0) IdleMachines::Get().Put(key, std::move(owned));
}

Result<BorrowedMachine> BorrowTargetMachine(const Target& target, int optimisation) {
  const std::string key = KeyOf(target) + '\n' + std::to_string(optimisation);
  std::unique_ptr<llvm::TargetMachine> machine = IdleMachines::Get().Take(key);
  if (machine == nullptr) machine = TRY(CreateTargetMachine(target, optimisation, true));
  return BorrowedMachine(machine.release(), ReturnMachine{key});
}

namespace {

TargetTraits FindTraits(const Target& target) {
  TargetTraits traits;
  llvm::Triple triple(target.triple);
  traits.is_x86 = triple.isX86();
  traits.is_aarch64 = triple.isAArch64();
  traits.is_riscv = triple.isRISCV64();
  InitialiseTargets();
  std::string why;
  const llvm::Target* machine = llvm::TargetRegistry::lookupTarget(target.triple, why);
  if (machine == nullptr) return traits;
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      machine->createMCSubtargetInfo(target.triple, target.cpu, target.features));
  auto has = [&](const char* feature) { return info->checkFeatures(std::string("+") + feature); };
  traits.has_fma = !traits.is_x86 || has("fma");
  if (traits.is_x86) {
    traits.has_half_conversion = has("f16c");
    traits.has_native_half_fma = has("avx512fp16");
    traits.has_atomic_128 = has("cx16");
    traits.has_avx512 =
        has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") && has("avx512cd");
    traits.has_vnni = traits.has_avx512 && has("avx512vnni");
    traits.has_byte_tiles = traits.has_vnni && has("amx-tile") && has("amx-int8");
    traits.has_vbmi = traits.has_avx512 && has("avx512vbmi");
    traits.has_bf16_dot = traits.has_avx512 && has("avx512bf16");
    traits.has_masked_words = traits.has_avx512 || has("avx2");
    traits.vector_bytes = traits.has_avx512 ? 64 : has("avx2") ? 32 : 16;
    traits.warp_library = traits.has_avx512 ? WarpLibrary::kAvx512
                          : has("avx2")     ? WarpLibrary::kAvx2
                                            : WarpLibrary::kPlain;
  } else if (traits.is_aarch64) {
    traits.has_half_conversion = true;
    traits.vector_bytes = 16;
    traits.has_native_half_fma = has("fullfp16");
    traits.has_atomic_128 = true;
  } else if (traits.is_riscv) {
    traits.has_half_conversion = has("zfhmin") || has("zfh");
  }
  return traits;
}

}  // namespace

TargetTraits TraitsOf(const Target& target) {
  static auto* const known = new Known<TargetTraits>;
  const std::string key = KeyOf(target);
  if (const auto traits = known->Find(key)) return *traits;
  const TargetTraits traits = FindTraits(target);
  known->Put(key, traits);
  return traits;
}

}  // namespace ptx2cpu::lowering
