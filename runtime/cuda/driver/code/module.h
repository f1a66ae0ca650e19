// Modules (code in one context) and libraries (code in every context that uses it).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/engine/images.h"
#include "runtime/engine/kernel_module.h"

namespace ptx2cpu::driver {

class Context;

using Sources = std::vector<rt::ModuleSource>;

class Module {
 public:
  using Handle = cuda::CUmodule;
  static constexpr HandleKind kKind = HandleKind::kModule;

  // `library`: null for modules that cuModuleLoad makes.
  Module(Context& context, const Sources& sources, Library* library = nullptr);
  ~Module();

  Context& context() const { return context_; }
  uint64_t context_id() const { return context_id_; }
  Library* library() const { return library_; }
  const std::vector<std::shared_ptr<rt::KernelModule>>& parts() const { return parts_; }
  std::vector<std::string> KernelNames() const;
  // Checks all of the PTX now, not at first use.
  Status Check();
  // Compiles all kernels (CUDA_MODULE_LOADING=EAGER), in parallel. A kernel that cannot be compiled reports
  // its error when it is used.
  void CompileAll();
  // The same function each time. NOT_FOUND.
  cuda::CUresult GetFunction(std::string_view name, std::shared_ptr<FunctionSettings> settings,
                             Function*& function);
  // Storage of a variable. NOT_FOUND.
  cuda::CUresult GetVariable(std::string_view name, std::span<std::byte>& storage);

 private:
  Context& context_;
  const uint64_t context_id_;
  Library* const library_;
  std::vector<std::shared_ptr<rt::KernelModule>> parts_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::map<std::string, std::span<std::byte>, std::less<>> variables_;
};

class Library {
 public:
  using Handle = cuda::CUlibrary;
  static constexpr HandleKind kKind = HandleKind::kLibrary;

  explicit Library(Sources sources);
  ~Library();

  const std::vector<std::string>& KernelNames() const { return kernel_names_; }
  cuda::CUresult GetKernel(std::string_view name, Kernel*& kernel);
  // The library in a context; loaded there at the first call.
  cuda::CUresult In(Context& context, Module*& module);
  // Storage of a __managed__ variable: one for all contexts. NOT_FOUND.
  cuda::CUresult GetManaged(std::string_view name, std::span<std::byte>& storage);
  // Checks all of the PTX now, not at first use.
  Status Check();
  // Forgets the library's module in a context, which has ended.
  void Forget(uint64_t context_id);

 private:
  struct Managed;
  cuda::CUresult FindManaged();
  cuda::CUresult BindManaged(rt::KernelModule& part);
  cuda::CUresult BindManaged(Module& module);

  const Sources sources_;
  const bool has_managed_;
  std::vector<std::string> kernel_names_;
  std::vector<std::shared_ptr<rt::KernelModule>> probes_;  // to query variables before any context has them
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
  std::unordered_map<uint64_t, Module*> modules_;  // by context id; owned by the contexts
  std::map<std::string, std::unique_ptr<Managed>, std::less<>> managed_;
  bool managed_known_ = false;
};

}  // namespace ptx2cpu::driver
