#include "lowering/llvm/lanes/joined_rows.h"

#include <algorithm>

#include "analysis/lanes/joined_blocks.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

bool MayJoinBlocks(const ir::Function& kernel) { return analysis::JoinsBlocks(kernel); }

unsigned LongestRow(const FunctionEmitter& e) {
  const uint32_t* shape = e.f.required_threads;
  const uint32_t threads = shape[0] * std::max(shape[1], 1u) * std::max(shape[2], 1u);
  return threads == 0 ? 0 : shape[0] * ptx2cpu_max_joined_blocks(e.m.layout.flags, threads);
}

}  // namespace ptx2cpu::lowering
