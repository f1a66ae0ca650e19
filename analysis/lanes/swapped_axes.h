// Whether threads that are neighbours along y, not x, access memory side by side. Reads IR only.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// For a flat kernel of one block shape (Collapsed): its threads depend on nothing but their coordinates, and
// fewer of its accesses are far apart from thread to thread along y than along x.
bool WalksAlongColumns(const ir::Function& f);

// The kernel for launches in which x and y of threads and blocks are exchanged.
ir::Function WithAxesSwapped(ir::Function f);

}  // namespace ptx2cpu::analysis
