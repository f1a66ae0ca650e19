// Where lanes that exit early may be missing: code that runs before every exit of its warp has all lanes and
// needs no live masks. Reads IR only.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// By block of warp or block level, in the Collapsed phase. Without early exits, and in code of warps or lanes
// that suspend, nothing is looked at: `before` is has_early_exit everywhere.
struct EarlyExits {
  std::vector<bool> before;  // lanes may have exited when the block begins
  std::vector<bool> within;  // lanes may exit in the loop that ends the block
  std::vector<bool> apart;   // the block runs lanes one by one, each until it suspends
};
EarlyExits FindEarlyExits(const ir::Function& f);

}  // namespace ptx2cpu::analysis
