// What a function does beyond computing: the summary that choices between forms and tiers are made from.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

struct Effects {
  uint32_t block_barriers = 0;
  uint32_t collectives = 0;
  uint32_t atomics = 0;
  uint32_t calls = 0;
  bool exits = false;  // holds exit: ends its thread from within a function
  bool reads_shared = false, writes_shared = false;
  bool reads_global = false, writes_global = false;  // generic accesses count as global
  bool uses_local = false;
  bool volatile_access = false;        // may rely on lock step within a warp (code from before sm_70)
  uint32_t first_collective_line = 0;  // PTX line, 0: none
};

// Of this function alone; calls are counted, not followed.
Effects SummarizeEffects(const ir::Function& f);

}  // namespace ptx2cpu::analysis
