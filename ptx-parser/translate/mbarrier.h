// What asynchronous copies do to mbarrier objects.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

// These bytes have come: complete-tx of the object at the place.
void CompleteBytes(Emitter& e, const Place& place, ir::ValueId bytes);

}  // namespace ptx2cpu::ptx::rows
