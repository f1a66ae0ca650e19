// One PTX module (or several relocatable ones, linked) as something to launch from: parsed when first asked about,
// kernels compiled one by one when first wanted, variables with storage of their own or the caller's.
//
// Everything here may be called from several threads at once. A kernel is compiled once however many ask for it at the
// same time; different kernels compile side by side. A module lives as long as anybody holds it or code of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "lowering/compile.h"
#include "runtime/abi/abi.h"
#include "runtime/launch.h"

namespace ptx2cpu::rt {

struct PtxText {
  std::string text;
  std::string name;  // for messages
};

struct ModuleOptions {
  bool contract = true;    // the image's --fmad
  int optimisation = 3;    // 0..3
  bool line_info = true;   // PTX lines of faults
  lowering::Tier tier = lowering::Tier::kAuto;
  lowering::CollapseForm collapse = lowering::CollapseForm::kAuto;
};

struct ModuleVariable {
  std::string name;
  uint64_t size = 0;  // bytes
  uint32_t align = 1;
  bool is_constant = false;
  bool is_managed = false;
  bool is_extern = false;    // declared only
  bool is_internal = false;  // no linkage: `static` in C++
};

// Where a fault happened. line is 0 where that is not known.
struct FaultPlace {
  std::string file;
  uint32_t line = 0;
  std::string excerpt;  // the line of PTX
  std::string source_file;
  uint32_t source_line = 0;  // of builds with -lineinfo or -g; else 0
};

class KernelModule;

// A compiled kernel. Its descriptor says all sizes and parameters (runtime/abi/abi.h).
class KernelCode {
 public:
  KernelCode(KernelModule& module, std::string name, const ptx2cpu_kernel* code, double milliseconds);
  ~KernelCode();

  const std::string& name() const { return name_; }
  const ptx2cpu_kernel& kernel() const { return *code_.load(std::memory_order_acquire); }  // blocks of any shape
  // The code for blocks of this shape: resumable code may have a better form when the shape is known. Compiles at the
  // first call for a shape; later calls take no lock.
  Result<const ptx2cpu_kernel*> ForBlock(Dim3 block) const;
  double compile_milliseconds() const { return milliseconds_; }
  KernelModule& module() const { return module_; }

 private:
  struct Special;
  const Special* FindSpecial(Dim3 block) const;

  KernelModule& module_;
  const std::string name_;
  std::atomic<const ptx2cpu_kernel*> code_;
  const double milliseconds_;
  mutable std::mutex mutex_;
  mutable std::atomic<const Special*> specials_ = nullptr;  // a list; grows at its head
  mutable size_t special_count_ = 0;
};

class KernelModule : public std::enable_shared_from_this<KernelModule> {
 public:
  // Reads nothing yet but the names of kernels.
  static std::shared_ptr<KernelModule> Make(std::vector<PtxText> texts, ModuleOptions options = {});
  ~KernelModule();

  const std::vector<std::string>& Kernels() const;
  const std::string& name() const;
  bool Defines(std::string_view kernel) const;
  // Parses all of it and checks each instruction; otherwise errors show when a kernel is compiled.
  Status Check();
  uint32_t ptx_version() const;  // 90 for 9.0; 0 where the text does not say
  uint32_t target() const;       // 90 for sm_90

  // Compiled at the first call, waited for by those who ask meanwhile. Holds the module too.
  // Errors: kNotFound, kSyntax, kUnsupported ...; the same one again for each later call.
  Result<std::shared_ptr<const KernelCode>> Compile(std::string_view kernel);

  Result<std::vector<ModuleVariable>> Variables();
  // Storage of a __device__ or __constant__ variable. Compiles nothing. Errors: kNotFound, kUnsupported (its
  // first contents are an address in shared memory and no kernel that uses it was compiled yet).
  Result<std::span<std::byte>> Variable(std::string_view name);
  // Storage that the caller owns (managed variables, or what another module declares extern); the first contents are
  // written there. Before the first Variable() or Compile(); kUsage after that.
  Status Bind(std::string_view name, std::byte* address);

  FaultPlace Locate(const LaunchError& fault) const;

  struct State;

 private:
  friend class KernelCode;
  KernelModule(std::vector<PtxText> texts, ModuleOptions options);
  // Code for one block shape where that is better than the code for any; else null.
  Result<const ptx2cpu_kernel*> Specialise(const std::string& kernel, Dim3 block);
  std::unique_ptr<State> state_;
};

// What a JIT's error log says: the error with its line and excerpt, and those of the same run.
std::string JitLog(const Error& error);

}  // namespace ptx2cpu::rt
