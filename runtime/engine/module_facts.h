// The declarations of a module's text, without code: from the cache, or from the translator, whose results
// the cache then keeps.
#pragma once

#include <string_view>

#include "lowering/translator/translator.h"
#include "runtime/engine/kernel_source.h"
#include "runtime/engine/module_options.h"

namespace ptx2cpu::rt {

// Safe to use from several threads at once.
class ModuleFacts {
 public:
  ModuleFacts(KernelSource& source, KernelCache* cache) : source_(source), cache_(cache) {}

  // Checks that the whole text parses and each instruction is known.
  Status Check() const;
  Result<lowering::DeclaredVariables> Variables() const;
  // Errors: those that translation finds.
  Result<lowering::KernelDeclaration> Declaration(std::string_view kernel) const;

 private:
  template <typename T, typename Make>
  Result<T> Kept(const Digest& key, const Make& make) const;

  KernelSource& source_;
  KernelCache* const cache_;  // null: nothing is kept
};

}  // namespace ptx2cpu::rt
