// The limits on grids and blocks of a launch.
#pragma once

#include <cstdint>

#include "runtime/abi/limits.h"

namespace ptx2cpu {

constexpr uint64_t Volume(const Dim3& d) { return uint64_t{d.x} * d.y * d.z; }

constexpr bool IsLegalGrid(const Dim3& grid) {
  return grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= kMaxGridX && grid.y <= kMaxGridYZ &&
         grid.z <= kMaxGridYZ;
}
constexpr bool IsLegalBlock(const Dim3& block) {
  return block.x != 0 && block.y != 0 && block.z != 0 && block.x <= kMaxBlockXY && block.y <= kMaxBlockXY &&
         block.z <= kMaxBlockZ && Volume(block) <= kMaxThreads;
}

}  // namespace ptx2cpu
