// Provides the driver's allocations and the lines of kernels to checks of device code (PTX2CPU_CHECK).
#pragma once

#include <memory>

#include "runtime/engine/kernel_module.h"

namespace ptx2cpu::driver {

class Context;

// Before a launch of the kernel in the context. `keep` owns the code.
void PrepareChecks(const rt::KernelCode& code, std::shared_ptr<const void> keep, Context& context);

}  // namespace ptx2cpu::driver
