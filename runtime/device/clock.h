// The counter for %clock: the processor's time stamp counter if it exists, else nanoseconds.
#pragma once

#include <cstdint>

namespace ptx2cpu::rt {

uint64_t ReadClock();
// Ticks in a millisecond. Measured, as the processor's nominal rate is not always the counter's; the first
// call takes one.
int ClockKiloHertz();

}  // namespace ptx2cpu::rt
