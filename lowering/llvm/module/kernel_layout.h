// Sizes that a launcher must provide for a kernel, and the places of its shared variables and slots.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "ir/result.h"
#include "lowering/load/kernel_description.h"

namespace ptx2cpu::lowering {

struct KernelLayout : KernelDescription {
  std::vector<uint32_t>
      shared_offset;                // by variable; only .shared ones that the kernel reaches mean anything
  std::vector<bool> variables;      // by index: does the kernel reach it
  std::vector<uint32_t> functions;  // indices of the functions it reaches, callees and addresses taken
};

// The one Collapsed kernel of the module, or the one of that name.
Result<const ir::Function*> FindKernel(const ir::Module& module, std::string_view name);
// The fields that the kernel's declaration decides on.
void DescribeDeclared(const ir::Function& kernel, KernelDescription& description);
Result<KernelLayout> LayoutOf(const ir::Module& module, const ir::Function& kernel);
// The definition of a declaration with the same name, itself when defined, nullptr when there is none.
const ir::Function* DefinitionOf(const ir::Module& module, const ir::Function& function);

}  // namespace ptx2cpu::lowering
