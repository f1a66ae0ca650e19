// Kernels that walk memory along y (analysis/lanes/swapped_axes.h).
#pragma once

#include <optional>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// The module with the kernel as it is for launches whose x and y are exchanged (runtime/abi/swapped_axes.h).
// Nothing: it is not better so.
std::optional<ir::Module> WithBetterAxes(const ir::Module& module, const ir::Function& kernel);

}  // namespace ptx2cpu::lowering
