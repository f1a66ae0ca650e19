// Runs the work of all streams one at a time while launches are recorded, so that all changes of memory
// during a launch are its own.
#pragma once

#include <mutex>

namespace ptx2cpu::rt {

bool OneAtATime();
// From now on, kernels, copies and fills of all streams of the process run one at a time.
void RunOneAtATime();
// Held while one runs. Without RunOneAtATime the lock is empty.
std::unique_lock<std::mutex> TakeTurn();

}  // namespace ptx2cpu::rt
