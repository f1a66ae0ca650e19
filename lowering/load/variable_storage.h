// Storage of module variables inside a process.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/result.h"
#include "lowering/load/kernel_image.h"

namespace ptx2cpu::lowering {

class VariableStorage {
 public:
  // Storage for each variable that has none yet; returns those whose contents are new, for Relocate. Declared
  // ones are left out; ones that wait for a kernel too, unless `with_kernel`.
  Result<std::vector<const VariableImage*>> Provide(const std::vector<VariableImage>& variables,
                                                    bool with_kernel);
  // Writes the addresses that initialisers hold.
  Status Relocate(const std::vector<const VariableImage*>& variables);
  std::byte* Find(std::string_view name) const;  // null where it has no contents yet
  // The caller's memory; `filled`: with the caller's contents, else Provide writes the first contents there.
  bool Bind(std::string_view name, std::byte* address, bool filled);
  // All variables that Find finds, with their names. Where the caller provides the contents, the size is
  // unknown: 0.
  std::vector<std::pair<std::string, std::span<std::byte>>> All() const;

 private:
  // Memory of one variable, zero at first. Large ones are mapped: pages that are never written cost nothing.
  class Memory {
   public:
    Memory(size_t bytes, size_t align);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* address() const { return address_; }  // null: there is none

   private:
    std::byte* address_ = nullptr;
    void* mapping_ = nullptr;
    size_t mapped_ = 0;  // 0: from the heap
  };
  struct Place {
    std::byte* address = nullptr;
    bool filled = false;
    size_t size = 0;  // once Provide has filled it
  };
  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::unique_ptr<Memory>> owned_;
};

}  // namespace ptx2cpu::lowering
