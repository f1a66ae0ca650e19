// Storage of module variables inside a process. Internal to this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/function.h"
#include "lowering/llvm/kernel_layout.h"

namespace ptx2cpu::lowering {

class VariableStorage {
 public:
  // Storage for all .global and .const variables of a module that have none yet; returns the indices of new
  // ones. One that holds addresses of functions waits for a kernel that reaches it, because the functions
  // come with it.
  Result<std::vector<uint32_t>> Provide(const ir::Module& module, const KernelLayout& layout);
  // Writes the addresses that initialisers of the new variables hold.
  Status Relocate(const ir::Module& module, const std::vector<uint32_t>& variables,
                  const KernelLayout& layout,
                  const std::function<Result<uint64_t>(uint32_t function)>& function_address);
  std::byte* Find(std::string_view name) const;
  bool Bind(std::string_view name, std::byte* address);

 private:
  struct FreeDeleter {
    void operator()(std::byte* memory) const;
  };
  std::map<std::string, std::byte*, std::less<>> address_;
  std::vector<std::unique_ptr<std::byte, FreeDeleter>> owned_;
};

}  // namespace ptx2cpu::lowering
