// Takes over the C library's sigaction where the program's calls do not reach ours: libraries opened with
// dlopen come after the C library in the order in which names are looked up.
#pragma once

#include "runtime/abi/fault_handlers.h"

namespace ptx2cpu::redirect {

// From then on every call of the C library's sigaction, also by its own signal() and its kin, arrives at
// `ours`. Returns what still reaches the system; null where the processor or the system (which may forbid
// writing to code) does not allow it, and then nothing has changed. Once a process.
ptx2cpu_sigaction* TakeSigaction(ptx2cpu_sigaction* ours);

}  // namespace ptx2cpu::redirect
