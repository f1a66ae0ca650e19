// Shapes of blocks that analyses treat differently: rows that are whole warps, parts of one or of several
// warps, one row, one column, incomplete last warps.
#pragma once

#include <iterator>

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::corpus_test {

inline constexpr analysis::LaunchShape kBlockShapes[] = {
    {1, 1, 1},  {31, 1, 1}, {32, 1, 1}, {33, 1, 1}, {64, 1, 1},  {256, 1, 1}, {1024, 1, 1},
    {32, 8, 1}, {32, 2, 4}, {64, 4, 1}, {96, 3, 1}, {16, 16, 1}, {8, 8, 1},   {16, 2, 1},
    {8, 8, 16}, {4, 4, 2},  {1, 32, 1}, {1, 1, 32}, {33, 3, 1},  {128, 1, 8},
};
static_assert(std::size(kBlockShapes) == 20);

}  // namespace ptx2cpu::corpus_test
