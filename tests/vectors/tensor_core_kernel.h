// A kernel around one operation of the tensor cores of tcgen05: it fills shared and tensor memory, thread 0
// of the first block does the operation, and all of tensor memory comes back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::vectors_test {

inline constexpr uint32_t kTensorLanes = 128;

struct TensorKernel {
  // PTX. %t: address of tensor memory, %q0 to %q7: `numbers` (%w0 to %w7: their low words), %counts: whether
  // %q7 is not 0. Offsets in `tile`, where the shared memory is, are added by Descriptor.
  std::string operation;
  uint32_t blocks = 1;                // 2: a pair
  uint32_t columns = 0;               // of tensor memory that are filled and read
  std::vector<uint32_t> shared = {};  // of each block
  std::vector<uint32_t> memory = {};  // lane by lane, of each block
  std::vector<uint64_t> numbers = {};

  uint32_t& Cell(uint32_t block, uint32_t lane, uint32_t column) {
    return memory[(block * kTensorLanes + lane) * columns + column];
  }
};

std::string TextOf(const TensorKernel& kernel);

// Tensor memory after the kernel in the interpreter, and as compiled code; Catch fails where they do not run.
struct TensorResult {
  std::vector<uint32_t> interpreted, compiled;
};
TensorResult RunTensorKernel(const TensorKernel& kernel);
// Catch fails where one of them is not as expected.
void CheckTensorKernel(const TensorKernel& kernel, const std::vector<uint32_t>& expected);

}  // namespace ptx2cpu::vectors_test
