// Addresses that give each thread of a launch an element of its own: p + s * (%ctaid.x * %ntid.x + %tid.x +
// k) + c with p a parameter of the kernel. Where the grid and its blocks have one dimension, accesses of one
// such form that are not wider than s never meet those of another thread.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/values/uniformity.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct GridElement {
  uint64_t parameter = 0;  // where p is, in bytes from the begin of the parameters
  int64_t stride = 0, offset = 0;
  uint32_t first = 0;      // k: the sum has 32 bits, and may wrap
  bool is_signed = false;  // how it was widened
  friend bool operator==(const GridElement&, const GridElement&) = default;
};

// What an address is, if it is of this form. `launch`: the shape of the block, where it is known.
std::optional<GridElement> GridElementAt(const ir::Function& f, ir::ValueId address,
                                         const std::optional<LaunchShape>& launch);

}  // namespace ptx2cpu::analysis
