// Stores of arrays that the kernel only writes. Where such an array is larger than the caches, its lines need
// not be read before they are written, nor kept afterwards.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// By instruction: weak stores to memory outside the block through a pointer parameter through which nothing
// is loaded. None in a kernel whose stores another block may wait for: streamed ones become visible late.
std::vector<bool> FindStreamingStores(const ir::Function& f);

}  // namespace ptx2cpu::analysis
