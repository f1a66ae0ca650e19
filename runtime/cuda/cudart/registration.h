// Registrations by the compiler's host code before main: fat binaries, and the kernels and variables that
// host addresses identify. Nothing is loaded before it is needed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cudart {

// One __cudaRegisterFatBinary: a wrapper with one container, or (device link) several that are linked
// together.
class Binary {
 public:
  explicit Binary(const void* wrapper) : wrapper_(wrapper) {}
  // Loads at the first call; if that fails, all later calls fail in the same way.
  cuda::cudaError_t Library(cuda::CUlibrary& library);
  // The loaded library. Null: none.
  cuda::CUlibrary loaded() const { return library_.load(std::memory_order_acquire); }

 private:
  const void* const wrapper_;
  std::mutex mutex_;
  std::atomic<cuda::CUlibrary> library_{nullptr};
  cuda::cudaError_t failure_ = cuda::cudaSuccess;
};

struct RegisteredFunction {
  RegisteredFunction(Binary& of, std::string called) : binary(of), name(std::move(called)) {}
  Binary& binary;
  const std::string name;
  std::atomic<cuda::CUkernel> kernel{nullptr};
};

struct RegisteredVariable {
  Binary* binary;
  std::string name;
  size_t size;
  bool managed;
};

struct RegisteredTexture {
  Binary* binary;
  std::string name;
  bool reads_fractions;  // integers are read as fractions of their range
};

// All registrations of the process.
class Registry {
 public:
  static Registry& Get();

  Binary& Add(const void* wrapper);
  void Remove(Binary& binary);
  void AddFunction(Binary& binary, const void* host, const char* name);
  void AddVariable(const void* host, RegisteredVariable variable);
  void AddManaged(Binary& binary, void** host, const char* name, size_t size);
  void AddTexture(const void* host, RegisteredTexture texture);
  // Storage for the binary's managed variables, so that the program can read their addresses.
  cuda::cudaError_t BindManaged(Binary& binary);
  cuda::cudaError_t BindAllManaged();

  // The kernel of a host address. cudaErrorInvalidDeviceFunction: none is registered there or the code lacks
  // it; or the error of loading the binary.
  cuda::cudaError_t Kernel(const void* host, cuda::CUkernel& kernel);
  std::optional<RegisteredVariable> Variable(const void* host);
  std::optional<RegisteredTexture> Texture(const void* host);
  // The host address of a kernel. Null: it is not a registered one.
  const void* HostOf(cuda::CUkernel kernel);

 private:
  struct Managed {
    Binary* binary;
    void** host;
    std::string name;
    size_t size;
    bool bound = false;
  };
  RegisteredFunction* Find(const void* host);

  std::mutex mutex_;
  std::unordered_map<Binary*, std::unique_ptr<Binary>> binaries_;
  std::unordered_map<const void*, std::shared_ptr<RegisteredFunction>> functions_;
  std::unordered_map<const void*, RegisteredVariable> variables_;
  std::unordered_map<const void*, RegisteredTexture> textures_;
  std::vector<Managed> managed_;
  std::vector<std::shared_ptr<RegisteredFunction>> removed_;  // threads may still read them
  std::atomic<uint32_t> removals_{0};                         // so that they stop
};

// The function handle for a `const void* func` argument: a host stub, or a CUkernel or CUfunction.
cuda::cudaError_t FunctionOf(const void* host, cuda::CUfunction& function);
// The storage of a symbol in this thread's context. cudaErrorInvalidSymbol.
cuda::cudaError_t SymbolAddress(const void* symbol, void*& address, size_t& size);

}  // namespace ptx2cpu::cudart
