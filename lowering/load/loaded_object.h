// Loads a relocatable ELF object as code of this process: its sections get memory of their own, code and
// constants are not writable. It supports the objects that our code generation writes: no thread-local data,
// no common symbols, no constructors. A process whose kernels are all kept on disk loads them with this
// alone, without LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "ir/result.h"

namespace ptx2cpu::lowering {

class LoadedObject {
 public:
  // Address of a symbol that the object does not define; null: there is none.
  using Resolve = std::function<const void*(std::string_view name)>;

  // Errors: kInternal (not an object of this machine, an unknown relocation or symbol), kLaunch (no memory).
  static Result<std::unique_ptr<LoadedObject>> Load(std::string_view object, const Resolve& resolve);
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  // The address of a defined global symbol; 0: there is none.
  uint64_t AddressOf(std::string_view symbol) const;
  // Section .text.
  uint64_t text_begin() const;
  uint64_t text_size() const;

 private:
  struct State;
  class Symbols;
  explicit LoadedObject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ptx2cpu::lowering
