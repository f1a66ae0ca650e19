// Launches of kernels whose code has x and y exchanged (runtime/abi/swapped_axes.h).
#pragma once

#include <utility>

#include "runtime/abi/swapped_axes.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

inline bool SwapsAxes(const ptx2cpu_kernel& kernel) {
  return (kernel.flags & PTX2CPU_KERNEL_SWAPS_AXES) != 0;
}

inline Dim3 WithAxesOf(const ptx2cpu_kernel& kernel, Dim3 extent) {
  if (SwapsAxes(kernel)) std::swap(extent.x, extent.y);
  return extent;
}

inline LaunchShape WithAxesExchanged(LaunchShape shape) {
  for (Dim3* extent : {&shape.grid, &shape.block, &shape.cluster}) std::swap(extent->x, extent->y);
  return shape;
}

// Converts the shape of the program's launch to the axes of its code, and back.
inline LaunchShape ShapeWithAxesOf(const ptx2cpu_kernel& kernel, LaunchShape shape) {
  return SwapsAxes(kernel) ? WithAxesExchanged(shape) : shape;
}

}  // namespace ptx2cpu::rt
