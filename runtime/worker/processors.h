// The processors that this process may use: those of its affinity when it began (not of the thread that
// happens to call: OpenMP binds threads to one core each), and no more than its control groups give it time
// for.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ptx2cpu::rt {

// Threads that can run at once; at least 1. Fixed at the first call.
unsigned UsableProcessors();

// The least limit of the process's control groups (versions 1 and 2), in processors; none: no limit.
// `root` is put before each path that is read, for tests.
std::optional<double> ProcessorQuota(const std::string& root = "");

// The calling thread may run on all processors that the process had when it began.
void UseAllProcessors();

// Which processor the calling thread is on; -1: the system does not report it.
int CurrentProcessor();

// If the calling thread is on this processor, it moves to another of the process's, if there is one.
void LeaveProcessor(int processor);

// Blocks all signals of the calling thread but those of faults: the program's handlers run on the program's
// threads.
void BlockSignalsOfProgram();

// Starts a detached thread on all processors, with BlockSignalsOfProgram. False: the system
// provides no thread.
bool StartThread(std::function<void()> work);

}  // namespace ptx2cpu::rt
