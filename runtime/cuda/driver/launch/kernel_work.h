// Turns the launch that a program requests into work of a stream.
#pragma once

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/launch/launch.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

// One launch as a program requests it.
struct LaunchRequest {
  rt::LaunchShape shape;
  bool cooperative = false;
  void** parameters = nullptr;  // one address per parameter, or
  void** extra = nullptr;       // a buffer: CU_LAUNCH_PARAM_BUFFER_POINTER ...
};

// The work of a launch; checks shape and resources. For launches and for kernel nodes of graphs.
cuda::CUresult MakeKernelWork(Function& function, const LaunchRequest& request, rt::KernelWork& work);

// The code for another run of such work: quick code, or code for any shape, may have been replaced since the
// work was made. If newer code cannot be made, it is the code of the work.
rt::LaunchCode LatestCode(const rt::KernelWork& work);

}  // namespace ptx2cpu::driver
