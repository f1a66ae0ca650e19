// Kernels that walk memory along y (analysis/lanes/swapped_axes.h).
#pragma once

#include <optional>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// The module with the kernel's form for launches whose x and y are exchanged (runtime/abi/swapped_axes.h).
// Nothing: that form is not better.
std::optional<ir::Module> WithBetterAxes(const ir::Module& module, const ir::Function& kernel);

}  // namespace ptx2cpu::lowering
