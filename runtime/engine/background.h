// Threads for compilations that can wait. They start when there is work that no other thread does, have a
// lower priority, and end with the process, which stops running work and waits for it. Objects that they use
// exist until then if the translator was loaded before the first work: lowering/translator/shared_object.cpp.
#pragma once

#include <atomic>
#include <functional>

namespace ptx2cpu::rt {

// The maximum number of threads: half of the processors, since kernels run meanwhile.
unsigned MaxBackgroundThreads();

// The work polls the flag and ends soon once it is set. False: too much is waiting, or the process
// ends; the work is not taken.
bool RunInBackground(std::function<void(const std::atomic<bool>& stop)> work);

// Waits until nothing waits or runs. For tests.
void WaitForBackground();

}  // namespace ptx2cpu::rt
