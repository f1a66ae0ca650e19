// Finds loops that walk down columns: consecutive memory is accessed from thread to thread, not from trip to
// trip.
#pragma once

#include "lowering/passes/thread_loop.h"
#include "lowering/passes/thread_strides.h"

namespace ptx2cpu::lowering {

// Whether neighbouring threads access neighbouring elements of arrays, and each trip continues far from
// there, by a distance that is large or not known. Not so: loops that walk a thread's own elements side by
// side, and loops with atomics. `strides` are those of the function, which are found for each loop anew.
bool WalksFar(const ir::Function& f, const ThreadLoop& loop, ThreadStrides& strides);

}  // namespace ptx2cpu::lowering
