// Arrays of which a thread reads several elements that are one row of the block apart:
//
//   sum = x[i] + x[i + blockDim.x] + x[i + 2 * blockDim.x];
//
// Thread by thread, or a few threads at a time, these accesses are as many streams of memory as there are
// elements; the first elements of all threads, then all second ones, are one stream.
#pragma once

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

// The block's loads from memory outside the block in the order of their addresses, if they read such rows, at
// least two of them. None where other loads are among them, where the launch's extents are not known, or
// where the emitter could not keep a row in registers.
std::vector<ir::InstId> RowsLoaded(const ir::Function& f, ir::BlockId block, const LaunchShape& launch);

}  // namespace ptx2cpu::analysis
