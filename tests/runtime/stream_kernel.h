// Kernels made by hand, as work for streams.
#pragma once

#include <cstring>
#include <span>

#include "runtime/stream/event.h"
#include "runtime/stream/executor.h"
#include "runtime/stream/stream_group.h"

namespace ptx2cpu::test {

inline ptx2cpu_kernel HandMade(const char* name, ptx2cpu_block_function function, uint32_t parameter_bytes) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = name;
  kernel.run_block = function;
  kernel.parameter_bytes = parameter_bytes;
  return kernel;
}

template <typename T>
rt::KernelWork KernelOf(const ptx2cpu_kernel& kernel, const T& parameters, uint32_t blocks = 1) {
  rt::KernelWork work;
  work.kernel = &kernel;
  work.shape = {{blocks, 1, 1}, {32, 1, 1}};
  work.params = rt::ParameterBlock(std::as_bytes(std::span<const T, 1>(&parameters, 1)));
  return work;
}

template <typename T>
T ParametersOf(const ptx2cpu_block* block) {
  T value;
  std::memcpy(&value, block->params, sizeof value);
  return value;
}

}  // namespace ptx2cpu::test
