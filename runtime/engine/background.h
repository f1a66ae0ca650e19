// One thread that compiles what can wait. It starts with the first work, has a lower priority, and ends with
// the process: work under way is told to stop and waited for, because the compiler's own data goes away with
// the process.
#pragma once

#include <atomic>
#include <functional>

namespace ptx2cpu::rt {

// The work looks at the flag and gives up soon once it is set. False: too much is waiting, or the process
// ends; the work is not taken.
bool RunInBackground(std::function<void(const std::atomic<bool>& stop)> work);

// Until nothing waits or runs. For tests.
void WaitForBackground();

}  // namespace ptx2cpu::rt
