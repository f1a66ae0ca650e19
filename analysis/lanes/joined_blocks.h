// Whether blocks that are neighbours along x can run as one block with longer rows.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// For a flat kernel of one block shape (Collapsed): threads depend on tid.x and ctaid.x only by
// ctaid.x * ntid.x + tid.x, and neither wait for each other nor share memory of a block.
bool JoinsBlocks(const ir::Function& f);

// For such a kernel: whether threads that are neighbours along x access neighbouring memory, or the same
// memory, so that longer rows give longer runs of memory; and whether no value of a thread is kept elsewhere.
bool WalksAlongRows(const ir::Function& f);

}  // namespace ptx2cpu::analysis
