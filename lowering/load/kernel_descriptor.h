// The descriptor of a loaded kernel, from its image. Internal to this folder.
#pragma once

#include <utility>
#include <vector>

#include "lowering/load/kernel_image.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

// A descriptor and what it points to; stays where it is made.
struct DescribedKernel {
  explicit DescribedKernel(KernelImage from) : image(std::move(from)) {}
  DescribedKernel(const DescribedKernel&) = delete;
  DescribedKernel& operator=(const DescribedKernel&) = delete;

  // Fills the descriptor; `entry` is the address of its code.
  void Describe(uint64_t entry);

  KernelImage image;
  std::vector<ptx2cpu_parameter> parameters;
  std::vector<ptx2cpu_point> points;
  std::vector<ptx2cpu_alignment> alignments;
  ptx2cpu_kernel descriptor = {};
};

}  // namespace ptx2cpu::lowering
