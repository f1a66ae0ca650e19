// Sets of a warp's lanes as bits of a word.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

inline uint32_t FirstLane(uint32_t lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

// Lanes whose entry in a row of 32 is `value`: eight compares of four lanes.
inline uint32_t LanesEqual(const uint32_t* row, uint32_t value) {
  using Four = uint32_t __attribute__((vector_size(16)));
  const Four wanted = {value, value, value, value};
  Four lanes = {0, 0, 0, 0}, bits = {1, 2, 4, 8};
  for (uint32_t first = 0; first < PTX2CPU_WARP_SIZE; first += 4, bits <<= 4) {
    Four own;
    std::memcpy(&own, row + first, sizeof own);
    lanes |= reinterpret_cast<Four>(own == wanted) & bits;
  }
  return lanes[0] | lanes[1] | lanes[2] | lanes[3];
}

template <typename Visit>
void ForEachLane(uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(FirstLane(lanes));
}

}  // namespace ptx2cpu::rt
