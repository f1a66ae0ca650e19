// Turns a fault inside generated code (trap, divergent barrier, bad address, stack overflow) into a
// LaunchError, after which the process continues: generated code runs under a landing point, and faults jump
// there.
#pragma once

#include <signal.h>

#include <csetjmp>
#include <cstdint>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

// The record of a fault.
struct FaultRecord {
  uint32_t kind = 0;    // ptx2cpu_fault_kind
  uint32_t joined = 1;  // the block or one of the next in its row (runtime/launch/joined_blocks.h)
  uint32_t thread = ~0u;
  uint32_t ptx_line = 0;
  uintptr_t pc = 0;
  uintptr_t address = 0;
  char text[256] = {};  // assert: the message
};

// One per block-running activation, on its stack.
struct LandingPoint {
  sigjmp_buf jump;
  ptx2cpu_block* block = nullptr;
  uint32_t float_control = 0;  // of the processor, which the code that faults may have changed
  LandingPoint* outer = nullptr;
  FaultRecord record;
};

// Makes `point` the current landing point of this thread. It installs our signal handlers, also where the
// program has replaced them since; they call the program's for faults that are not ours. Only the first of
// the scopes within some microseconds on one thread queries the system for the handlers. A worker that helps
// does not: the job's owner has done so.
class LandingScope {
 public:
  explicit LandingScope(LandingPoint& point, bool helps = false);
  ~LandingScope();
  LandingScope(const LandingScope&) = delete;
  LandingScope& operator=(const LandingScope&) = delete;

 private:
  bool UnblockForScope();  // whether the thread blocked signals of faults
  bool BlockedSome() const;
  sigset_t blocked_before_;  // signals of faults that the thread blocks arrive while the scope lasts
};

// Installs an alternate signal stack for the calling thread, so that stack overflow can be reported.
// Idempotent.
void PrepareThreadForFaults();
// The same for a thread of the pool, for as long as it lives: no code of the program runs on it.
void PrepareWorkerForFaults();

// Called at the target of the jump. Our handlers block no signals, but a tool that wraps them
// (ThreadSanitizer) may.
void UnblockFaultSignals();

[[noreturn]] void JumpToLandingPoint(const FaultRecord& record);

}  // namespace ptx2cpu::rt
