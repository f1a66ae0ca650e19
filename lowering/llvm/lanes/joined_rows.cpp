#include "lowering/llvm/lanes/joined_rows.h"

#include <algorithm>

#include "analysis/lanes/joined_blocks.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

uint32_t FlagsOfJoinedBlocks(const ir::Function& kernel) {
  if (!analysis::JoinsBlocks(kernel)) return 0;
  return PTX2CPU_KERNEL_JOINS_BLOCKS |
         (analysis::WalksAlongRows(kernel) ? PTX2CPU_KERNEL_JOINS_LONG_ROWS : 0);
}

unsigned LongestRow(const FunctionEmitter& e) {
  const uint32_t* shape = e.f.required_threads;
  const uint32_t threads = shape[0] * std::max(shape[1], 1u) * std::max(shape[2], 1u);
  return threads == 0 ? 0 : shape[0] * ptx2cpu_max_joined_blocks(e.m.layout.flags, threads);
}

}  // namespace ptx2cpu::lowering
