// PTX2CPU_RECORD=DIR (ptx2cpu exec --record): each launch of the process is written to DIR, with memory
// before and after it (runtime/recording). PTX2CPU_RECORD_LAUNCHES=FIRST[-LAST]: only those, numbered from 0.
// PTX2CPU_RECORD_OUTPUTS=1: the contents of memory after a launch are recorded, not only their hash.
#pragma once

#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

// Null: nothing is recorded. A failed write is reported once on stderr, and ends the recording.
rt::LaunchWitness* TheRecorder();

}  // namespace ptx2cpu::driver
