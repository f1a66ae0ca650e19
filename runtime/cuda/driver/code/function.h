// Kernels as programs hold them: a CUfunction is a kernel in one context, a CUkernel is the kernel of a
// library in any context. Each is accepted in place of the other, since programs rely on that. Nothing is
// compiled before a launch or a query that needs the code.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

class Context;
class Device;
class Library;
class Module;

// The attributes that a program sets for a kernel (cuFuncSetAttribute, cuKernelSetAttribute). -1: not set.
struct FunctionSettings {
  std::atomic<int> max_dynamic_shared{-1};  // bytes; not set: up to 48 KiB with the static part
  std::atomic<int> shared_carveout{-1};     // per cent; accepted
  std::atomic<int> cluster_width{0}, cluster_height{0}, cluster_depth{0};  // 0: none
  std::atomic<int> non_portable_cluster{0};
  std::atomic<int> cluster_scheduling{0};
  std::atomic<int> cache_config{0};
  std::atomic<int> shared_config{0};
};

// cuFuncSetBlockShape and the like: the launch interface of CUDA 1 to 3.
struct LegacyLaunch {
  std::mutex mutex;
  Dim3 block;
  unsigned shared_bytes = 0;
  std::vector<std::byte> parameters;
};

class Function {
 public:
  using Handle = cuda::CUfunction;
  static constexpr HandleKind kKind = HandleKind::kFunction;

  Function(Module& module, std::shared_ptr<rt::KernelModule> part, std::string name,
           std::shared_ptr<FunctionSettings> settings);
  ~Function();

  const std::string& name() const { return name_; }
  Module& module() const { return module_; }
  Context& context() const;
  rt::KernelModule& part() const { return *part_; }
  FunctionSettings& settings() const { return *settings_; }
  LegacyLaunch& legacy() { return legacy_; }

  bool compiled() const { return code_.load(std::memory_order_acquire) != nullptr; }
  // The code; compiles at the first call, as rt::KernelModule::Compile. The error is reported on stderr once,
  // with its PTX line.
  cuda::CUresult Code(const rt::KernelCode*& code, std::optional<Dim3> first_block = {}, uint64_t blocks = 1);
  // The object that keeps the code alive, for launches. Only after Code() has succeeded.
  const std::shared_ptr<const rt::KernelCode>& shared_code() const { return shared_code_; }

  // The declarations of its text; compiles nothing. Errors are reported as those of Code().
  cuda::CUresult Declaration(const rt::KernelDeclaration*& declaration);

  // Its sizes, from the code if there is some; compiles nothing. Errors are reported as those of Code().
  cuda::CUresult Description(const ptx2cpu_kernel*& kernel);

  // INVALID_VALUE: no such attribute, or not one to be set.
  cuda::CUresult Attribute(cuda::CUfunction_attribute attribute, int& value);
  cuda::CUresult SetAttribute(cuda::CUfunction_attribute attribute, int value);
  // Bytes of dynamic shared memory that a launch may request.
  uint32_t MaxDynamicShared(const ptx2cpu_kernel& kernel) const;

 private:
  Module& module_;
  const std::shared_ptr<rt::KernelModule> part_;
  const std::string name_;
  const std::shared_ptr<FunctionSettings> settings_;
  // `size` of the kernel's description.
  template <typename Size>
  cuda::CUresult CodeSize(int& value, const Size& size);
  // Reports the reason why there is no code and keeps it.
  cuda::CUresult FailWith(const Error& error);

  std::mutex mutex_;  // shared_code_, failure_ until code_ is set; declaration_, description_
  std::optional<rt::KernelDeclaration> declaration_;
  const ptx2cpu_kernel* description_ = nullptr;  // of the part
  std::shared_ptr<const rt::KernelCode> shared_code_;
  cuda::CUresult failure_ = cuda::CUDA_SUCCESS;
  std::atomic<const rt::KernelCode*> code_{nullptr};
  LegacyLaunch legacy_;
};

class Kernel {
 public:
  using Handle = cuda::CUkernel;
  static constexpr HandleKind kKind = HandleKind::kKernel;

  Kernel(Library& library, std::string name);
  ~Kernel();

  const std::string& name() const { return name_; }
  Library& library() const { return library_; }
  // The kernel in a context; loads the library there at the first call.
  cuda::CUresult In(Context& context, Function*& function);
  // Forgets the library in a context, which has ended.
  void Forget(uint64_t context_id);
  // The settings for one device, in all contexts.
  std::shared_ptr<FunctionSettings> settings(const Device& device);

 private:
  Library& library_;
  const std::string name_;
  std::atomic<Function*> last_function_{
      nullptr};       // the last result of In: launches mostly use the same context
  std::mutex mutex_;  // settings_
  std::map<int, std::shared_ptr<FunctionSettings>> settings_;
};

// The function of a CUfunction or a CUkernel in this context. INVALID_HANDLE, or the error of loading the
// library there.
cuda::CUresult FunctionOf(cuda::CUfunction handle, Context& context, Function*& function);
// The same in the thread's context.
cuda::CUresult FunctionOf(cuda::CUfunction handle, Function*& function);

}  // namespace ptx2cpu::driver
