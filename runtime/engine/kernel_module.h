// One PTX module (or several relocatable ones, linked) as a source of launches: parsed when first needed,
// kernels compiled one by one when first needed, variables with storage of their own or the caller's.
//
// Everything here may be called from several threads at once. A kernel is compiled once, however many threads
// request it at the same time; different kernels compile side by side. A module exists as long as something
// holds it or code of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "lowering/translator/translator.h"
#include "runtime/abi/abi.h"
#include "runtime/engine/better_code.h"
#include "runtime/engine/module_options.h"
#include "runtime/engine/ptx_text.h"
#include "runtime/launch/later_code.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

using ModuleVariable = lowering::DeclaredVariable;
using KernelDeclaration = lowering::KernelDeclaration;

class KernelModule;
struct CompileRequest;

// One form of a kernel's code. Code of the quick tier is replaced once there is better code.
struct CodeSlot {
  std::atomic<const ptx2cpu_kernel*> code = nullptr;
  std::unique_ptr<BetterCode> better;           // set before quick code is; else null
  std::atomic<bool> serves_all_shapes = false;  // set before the code is (KernelImage)
};

// A compiled kernel: for any block shape, or for the first shapes that it is launched with until further ones
// follow. Its descriptor has all sizes and parameters (runtime/abi/abi.h).
class KernelCode {
 public:
  KernelCode(KernelModule& module, std::string name);
  ~KernelCode();

  const std::string& name() const { return name_; }
  // The code for blocks of any shape. Large kernels are compiled quickly first, and again in the background:
  // then a later call may return better code for the same descriptor. Code that was returned stays valid.
  // Where the first request named a block's shape, such code may not exist yet: then the descriptor has sizes
  // and parameters, but no functions.
  const ptx2cpu_kernel& kernel() const {
    const ptx2cpu_kernel* any = any_.code.load(std::memory_order_acquire);
    return any != nullptr ? *any : description_;
  }
  // The code for blocks of this shape. If no code for any shape exists yet, it is compiled for this shape;
  // after two shapes, for any shape. If it exists: resumable code that has a better form for a known shape is
  // compiled at the first call for a shape. Other code has full vectors and no tests if the shape is known:
  // it is compiled in the background for a shape that is requested repeatedly, and returned at once if the
  // cache has it. Where launches have run quick code for as long as better code takes to compile, it is
  // compiled at once. `blocks`: the number of blocks of the launch; 1 if unknown. A launch of many blocks may
  // begin with slow code.
  Result<const ptx2cpu_kernel*> ForBlock(Dim3 block, uint64_t blocks = 1) const;
  // For launches of this code (LaunchOptions::later), with blocks of this shape; null: it is final.
  LaterCode* LaterThan(const ptx2cpu_kernel* code, std::optional<Dim3> block = std::nullopt) const {
    return BetterThan(code, block);
  }
  // `code`, or if it assumes aligned parameters and these are not: code that checks the addresses,
  // compiled at the first such call.
  Result<const ptx2cpu_kernel*> ForParameters(const ptx2cpu_kernel* code, Dim3 block,
                                              const std::byte* parameters) const {
    return AreAligned(*code, parameters) ? code : Noting(block);
  }
  double compile_milliseconds() const { return milliseconds_; }
  bool from_cache() const { return from_cache_; }
  KernelModule& module() const { return module_; }
  // Finds the thread of a hardware fault for which only the block is known, by running the block again in the
  // interpreter, for a second or two at most.
  void FindThread(const LaunchShape& shape, std::span<const std::byte> params, LaunchError& error) const;

 private:
  friend class KernelModule;
  struct Special;
  // The code that a launch needs.
  struct Wanted {
    std::optional<Dim3> block = {};  // any shape
    bool notes = false;              // of misaligned accesses, whatever the parameters are
    bool many_blocks = false;
    const std::atomic<bool>* stop = nullptr;  // set: in the background, until the flag is
  };
  Status Begin(const Wanted& wanted);
  Result<const ptx2cpu_kernel*> ForAnyShape(bool many_blocks) const;
  Special* FindSpecial(Dim3 block, bool notes) const;
  Result<const Special*> MakeSpecial(const Wanted& wanted, size_t most) const;
  Result<const ptx2cpu_kernel*> Choose(Dim3 block, bool many_blocks) const;
  Result<const ptx2cpu_kernel*> Choose(Dim3 block, const ptx2cpu_kernel* any, bool notes) const;
  BetterCode* BetterThan(const ptx2cpu_kernel* code, std::optional<Dim3> block) const;
  Result<const ptx2cpu_kernel*> Noting(Dim3 block) const;
  const ptx2cpu_kernel* WhenHot(Dim3 block, const ptx2cpu_kernel* any) const;

  KernelModule& module_;
  const std::string name_;
  mutable CodeSlot any_;             // for any shape
  ptx2cpu_kernel description_ = {};  // until there is `any_`
  double milliseconds_ = 0;
  bool from_cache_ = false;
  mutable std::mutex mutex_;
  mutable std::atomic<Special*> specials_ = nullptr;  // a list; grows at its head
  mutable size_t special_count_ = 0;
};

class KernelModule : public std::enable_shared_from_this<KernelModule> {
 public:
  // Reads only the names of kernels at first.
  static std::shared_ptr<KernelModule> Make(std::vector<PtxText> texts, ModuleOptions options = {});
  ~KernelModule();

  const std::vector<PtxText>& texts() const;
  const ModuleOptions& options() const;
  const std::vector<std::string>& Kernels() const;
  const std::string& name() const;
  bool Defines(std::string_view kernel) const;
  // Parses all of it and checks each instruction; otherwise errors show when a kernel is compiled.
  Status Check();
  uint32_t ptx_version() const;  // 90 for 9.0; 0 if the text does not state it
  uint32_t target() const;       // 90 for sm_90

  // Compiles at the first call, for blocks of `first_block` only where that is given, and for a launch of
  // `blocks` as in KernelCode::ForBlock; concurrent callers wait. The code holds the module. Errors:
  // kNotFound, kSyntax, kUnsupported ...; the same one again for each later call.
  Result<std::shared_ptr<const KernelCode>> Compile(std::string_view kernel,
                                                    std::optional<Dim3> first_block = {},
                                                    uint64_t blocks = 1);

  // Translates the kernel and what it calls, and compiles nothing. Errors: those of Compile that translation
  // finds.
  Result<KernelDeclaration> Declaration(std::string_view kernel);

  // The same, and what follows from the code's form, for blocks of any shape: a descriptor without functions,
  // which lives as long as the module. Generates no code. Errors: those of Compile that occur before that.
  Result<const ptx2cpu_kernel*> Description(std::string_view kernel);

  Result<std::vector<ModuleVariable>> Variables();
  // Storage of a __device__ or __constant__ variable. Compiles nothing. Errors: kNotFound, kUnsupported (its
  // first contents are an address in shared memory and no kernel that uses it was compiled yet).
  Result<std::span<std::byte>> Variable(std::string_view name);
  // Everything that has storage, by name: variables, and the identities that functions have as addresses.
  // Where the caller provides the contents, the size is unknown: 0.
  std::vector<std::pair<std::string, std::span<std::byte>>> Storage() const;
  // Storage that the caller owns (managed variables, what another module declares extern, or any name of
  // Storage() of a module with the same text); the first contents are written there. Before the first
  // Variable() or Compile(); kUsage after that.
  Status Bind(std::string_view name, std::byte* address);

  FaultPlace Locate(const LaunchError& fault) const;
  // The line that an instruction of its kernels was made from; 0: not known.
  uint32_t PtxLineOf(uintptr_t pc) const;
  // The thread that met the fault; nothing where another run of its block does not show
  // it.
  Result<std::optional<ir::FaultingAccess>> ThreadOf(std::string_view kernel, const ir::FaultOfBlock& fault,
                                                     std::span<const std::byte> params) const;

  struct State;

 private:
  friend class KernelCode;
  KernelModule(std::vector<PtxText> texts, ModuleOptions options);
  Result<std::unique_ptr<KernelCode>> MakeCode(std::string_view kernel, const KernelCode::Wanted& wanted);
  // Kernels that launches may need next, for blocks of this shape.
  void CompileAhead(std::string_view kernel, double milliseconds, Dim3 block, uint64_t blocks);
  void RegisterLaunchable();  // kernels whose address compiled code contains
  // For as many blocks, quick code may take long for each: the launch soon runs better code.
  static bool AreMany(uint64_t blocks);
  // Whether code for this shape is made before code for any shape is: not where the latter is kept already.
  bool BeginsWith(const std::string& kernel, Dim3 block, bool many_blocks);
  // Puts the code into `slot`, and later the better code; null where there is none for this block alone.
  // Returns whether it came from the cache.
  Result<bool> Provide(const std::string& kernel, const KernelCode::Wanted& wanted, CodeSlot& slot);
  // Loads the best code for this shape if the cache has it. Otherwise `slot.better` will make it, in the
  // background after BeginShape, or in a launch for which it is due; null where code for any shape is as
  // good.
  void PrepareShape(const std::string& kernel, Dim3 block, CodeSlot& slot);
  void BeginShape(const CodeSlot& slot);
  Result<bool> ProvideHere(const std::string& kernel, const KernelCode::Wanted& wanted, CodeSlot& slot);
  // False: it will not run.
  bool RunLater(std::function<void(const std::atomic<bool>& stop)> work);
  // The request's code replaces the slot's.
  void Improve(CompileRequest request, const std::atomic<bool>& stop, CodeSlot& slot);
  std::unique_ptr<State> state_;
};

// The text of a JIT's error log: the error with its line and excerpt, and those of the same run.
std::string JitLog(const Error& error);

}  // namespace ptx2cpu::rt
