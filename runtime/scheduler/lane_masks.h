// Sets of a warp's lanes as bits of a word.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

inline uint32_t FirstLane(uint32_t lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

// Lanes whose entry in a row of 32 is `value`. Written so that compilers make vector compares of it.
inline uint32_t LanesEqual(const uint32_t* row, uint32_t value) {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < PTX2CPU_WARP_SIZE; ++lane) lanes |= row[lane] == value ? 1u << lane : 0;
  return lanes;
}

template <typename Visit>
void ForEachLane(uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(FirstLane(lanes));
}

}  // namespace ptx2cpu::rt
