// A hardware fault in the code of a block whose thread is not known.
#pragma once

#include <cstdint>

#include "runtime/abi/guarded_memory.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::ir {

struct FaultOfBlock {
  Dim3 grid, block, cluster = {1, 1, 1};  // of the launch
  Dim3 place;                             // %ctaid of the block
  uint32_t dynamic_shared_bytes = 0;
  // The memory of the code that ran which the address is just outside of.
  GuardedMemory outside_of = GuardedMemory::kNone;
  // The address of the faulting byte. 0 may also be an address that is not canonical, which the hardware does
  // not report.
  uint64_t address = 0;
};

struct FaultingAccess {
  uint32_t thread = 0;   // the linear index in the block
  uint64_t address = 0;  // FaultOfBlock's, or the one that is not canonical
};

}  // namespace ptx2cpu::ir
