#include "runtime/launch/joined_blocks.h"

#include <algorithm>

#include "runtime/abi/joined_blocks.h"
#include "runtime/abi/launch_shape.h"
#include "runtime/launch/launch_job.h"
#include "runtime/worker/current_block.h"

namespace ptx2cpu::rt {

namespace {
constexpr uint64_t kJoinedPerWorker = 16;  // at least
}  // namespace

uint32_t JoinedBlocks(const ptx2cpu_kernel& kernel, const LaunchShape& shape, uint32_t workers) {
  if (ListsForDebugger()) return 1;  // which shows each block
  const Dim3 &block = shape.block, &grid = shape.grid;
  const uint64_t largest = ptx2cpu_max_joined_blocks(kernel.flags, block.x * block.y * block.z);
  const uint64_t most = std::min<uint64_t>(largest, grid.x), blocks = Volume(grid);
  const uint64_t shared_out = workers == 1 ? most : blocks / (kJoinedPerWorker * workers);
  return static_cast<uint32_t>(std::max<uint64_t>(1, std::min(most, shared_out)));
}

void NameBlock(const Dim3& ntid, ptx2cpu_block& block, FaultRecord& record) {
  const uint32_t row = block.ntid[0];
  if (row == ntid.x) return;
  SetExtent(block, ntid);
  if (record.thread == ~0u) {
    record.joined = row / ntid.x;
    return;
  }
  const uint32_t x = record.thread % row;
  block.ctaid[0] += x / ntid.x;
  record.thread = record.thread / row * ntid.x + x % ntid.x;
}

}  // namespace ptx2cpu::rt
