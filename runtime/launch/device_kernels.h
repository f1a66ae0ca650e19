// The kernels that kernels may launch: modules register how to find the code of each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/abi/abi.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

// One such kernel. Device code names it by its address there: the variable of a function's identity.
class KernelFinder {
 public:
  virtual ~KernelFinder() = default;
  // The code for blocks of a shape and these parameters (null: not known yet; its sizes are the same); null
  // with a reason in `why`.
  virtual const ptx2cpu_kernel* Find(Dim3 block, const std::byte* parameters, std::string* why) = 0;
};
void RegisterDeviceKernel(const void* identity, std::shared_ptr<KernelFinder> finder);
void ForgetDeviceKernel(const void* identity);
std::shared_ptr<KernelFinder> FindDeviceKernel(const void* identity);

}  // namespace ptx2cpu::rt
