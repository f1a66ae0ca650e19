// Work of all streams one at a time: while launches are recorded, so that what changes during a launch is its
// own.
#pragma once

#include <mutex>

namespace ptx2cpu::rt {

bool OneAtATime();
// From now on, kernels, copies and fills of all streams of the process run one at a time.
void RunOneAtATime();
// To be held while one runs. Without RunOneAtATime it holds nothing.
std::unique_lock<std::mutex> TakeTurn();

}  // namespace ptx2cpu::rt
