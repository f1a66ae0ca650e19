// Threads that compile what can wait. They start when there is work that no other does, have a lower
// priority, and end with the process: running work is stopped and waited for. What they use is there until
// then, if the translator was loaded before the first work: lowering/translator/shared_object.cpp.
#pragma once

#include <atomic>
#include <functional>

namespace ptx2cpu::rt {

// So many at most: half of the processors, since kernels run meanwhile.
unsigned MaxBackgroundThreads();

// The work polls the flag and ends soon once it is set. False: too much is waiting, or the process
// ends; the work is not taken.
bool RunInBackground(std::function<void(const std::atomic<bool>& stop)> work);

// Until nothing waits or runs. For tests.
void WaitForBackground();

}  // namespace ptx2cpu::rt
