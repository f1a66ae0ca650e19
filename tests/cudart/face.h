// The exported functions of libcudart.so.11.0, .12 and .13, called as programs call them, with the
// registrations of a compiler's host code before main: fat binaries, kernels and variables by host address.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cudart_test {

using namespace cuda;

// One of the three libraries; all are in this process at once.
class Face {
 public:
  static const Face& Of(int major);  // 11, 12, 13
  int major() const { return major_; }
  // The exported function, with the type that its caller knows; fails the test if it is not there.
  template <typename Signature>
  Signature* Get(const char* name) const {
    return reinterpret_cast<Signature*>(Find(name));
  }
  // Calls a function that returns cudaError_t with these arguments. They are passed as a C program would,
  // whose header has types of its own (int for an enumeration, another struct of the same layout): the same
  // call, but not the same C++ type.
  template <typename... Args>
  __attribute__((no_sanitize("function"))) cudaError_t Call(const char* name, Args... args) const {
    return Get<cudaError_t(Args...)>(name)(args...);
  }
  bool Has(const char* name) const;
  cudaError_t Last() const { return Call("cudaGetLastError"); }

 private:
  explicit Face(int major);
  void* Find(const char* name) const;
  const int major_;
  void* const library_;
};

inline constexpr int kMajors[] = {11, 12, 13};

// PTX for a test, with the directives that come first.
std::string Module(std::string_view body);

// A registered fat binary, as an object file of nvcc has it. Unregisters at the end.
class Registered {
 public:
  // Several texts are the pieces of a device link.
  Registered(const Face& face, const std::vector<std::string>& texts, uint32_t sm = 80);
  ~Registered();
  Registered(const Registered&) = delete;

  void Function(const void* host, const char* name);
  void Variable(void* host, const char* name, size_t size);
  void Managed(void** host, const char* name, size_t size);
  void End();
  void** handle() const { return handle_; }

 private:
  struct Wrapper {
    uint32_t magic = 0x466243B1, version = 1;
    const void* container = nullptr;
    const void* const* linked = nullptr;
  };
  const Face& face_;
  std::vector<std::unique_ptr<std::byte[]>> containers_;
  std::vector<const void*> pieces_;
  Wrapper wrapper_;
  void** handle_ = nullptr;
};

}  // namespace ptx2cpu::cudart_test
