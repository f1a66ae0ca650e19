// The interface by which the library that `ptx2cpu exec` preloads passes the program's calls of sigaction to
// the runtime.
#pragma once

#include <signal.h>

using ptx2cpu_sigaction = int(int signal, const struct sigaction* action, struct sigaction* old);

// A function of the preloaded library: ptx2cpu_sigaction* ptx2cpu_keep_fault_handlers(ptx2cpu_sigaction*
// keep). From then on `keep` receives the program's calls of sigaction and signal. It returns
// PTX2CPU_NOT_KEPT for calls that the system must handle; the first caller's `keep` stays. The result is the
// system's own sigaction.
#define PTX2CPU_KEEP_FAULT_HANDLERS "ptx2cpu_keep_fault_handlers"
constexpr int PTX2CPU_NOT_KEPT = 1;
