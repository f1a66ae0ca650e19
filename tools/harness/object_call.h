// A launch of code that was compiled ahead of time: kernels as a shared object, loaded with dlopen.
//
// The program that uses this must export the runtime's entry points (link with ENABLE_EXPORTS).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "lowering/llvm/output/object.h"
#include "runtime/abi/abi.h"
#include "tools/harness/kernel_call.h"

namespace ptx2cpu::harness {

class SharedObject {
 public:
  // Compiles, writes to a temporary file and loads. `kernels`: one Collapsed kernel each.
  static Result<std::shared_ptr<SharedObject>> Make(std::span<const ir::Module* const> kernels,
                                                    const lowering::ObjectOptions& options);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  // Null when the object has no such kernel. Valid until Reload.
  const ptx2cpu_kernel* Kernel(const std::string& ptx_name) const;
  // Address of a visible variable, null when there is none.
  std::byte* Variable(const std::string& name) const;
  // Unloads and loads again: module variables are as at load.
  Status Reload();

 private:
  SharedObject() = default;
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace ptx2cpu::harness
