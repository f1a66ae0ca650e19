// Where an instruction came from.
#pragma once

#include <cstdint>

namespace ptx2cpu::ir {

// The PTX text's line, and the source line of the last .loc before it.
struct Position {
  uint32_t ptx_line = 0;     // 1-based line in the PTX module, 0: made by a pass
  uint32_t source_file = 0;  // .file index, 0: none
  uint32_t source_line = 0;
};

}  // namespace ptx2cpu::ir
