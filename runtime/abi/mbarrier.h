// The 64 bits of an mbarrier object, which PTX leaves to the implementation.
//
//   bits  0..19   arrivals that this phase still waits for
//        20..39   arrivals that the next phase will wait for
//        40..60   bytes that asynchronous copies still owe this phase, two's complement
//        63       parity of the phase
//
// The operand of atomic {mbarrier} is the change: arrivals to count in bits 0..19 and to drop
// from all later phases in bits 20..39, bytes to add in bits 40..60. When neither arrivals nor bytes are
// missing any more, the next phase begins. The value before is the state token of PTX.
#pragma once

#include <cstdint>

namespace ptx2cpu::mbarrier {

inline constexpr int kExpectedShift = 20, kBytesShift = 40, kPhaseShift = 63;
inline constexpr uint64_t kCountMask = (uint64_t{1} << 20) - 1;
inline constexpr uint64_t kBytesMask = (uint64_t{1} << 21) - 1;

constexpr uint64_t Update(uint64_t object, uint64_t change) {
  const uint64_t pending = (object - change) & kCountMask;
  const uint64_t expected = ((object >> kExpectedShift) - (change >> kExpectedShift)) & kCountMask;
  const uint64_t bytes = ((object >> kBytesShift) + (change >> kBytesShift)) & kBytesMask;
  const uint64_t phase = object >> kPhaseShift;
  if (pending == 0 && bytes == 0) return expected | expected << kExpectedShift | (phase ^ 1) << kPhaseShift;
  return pending | expected << kExpectedShift | bytes << kBytesShift | phase << kPhaseShift;
}

}  // namespace ptx2cpu::mbarrier
