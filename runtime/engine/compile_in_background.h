// Compiling on the background thread, and the end of the process meanwhile.
#pragma once

#include <atomic>
#include <functional>

namespace ptx2cpu::rt {

// As RunInBackground. LLVM and the parser keep tables in static variables of functions, which a process whose
// code is all in the cache does not have yet. Exit handlers run in the reverse order of their registration:
// tables that the background thread constructs would be destroyed before the handler runs that stops this
// thread. Therefore the first call compiles a small kernel (about 15 ms) before the thread starts.
bool CompileInBackground(std::function<void(const std::atomic<bool>& stop)> work);

}  // namespace ptx2cpu::rt
