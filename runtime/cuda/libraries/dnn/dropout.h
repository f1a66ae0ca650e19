// Dropout. Which elements remain follows from the seed and the number of the call alone, not from cuDNN's
// sequence, which is not documented.
#pragma once

#include <cstdint>
#include <cstring>

namespace ptx2cpu::cudnn {

// What the states hold, in device memory: work that is replayed continues the sequence.
struct DropoutStates {
  uint64_t seed, calls;
};

// G. Steele et al., Fast Splittable Pseudorandom Number Generators (2014): numbers of one sequence by their
// places.
inline uint64_t Mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
inline float Uniform(const DropoutStates& states, int64_t place) {
  const uint64_t start = Mixed(states.seed + states.calls * 0x9e3779b97f4a7c15u);
  return static_cast<float>(Mixed(start + static_cast<uint64_t>(place) * 0x9e3779b97f4a7c15u) >> 40) *
         0x1p-24f;
}

// The states of a call, which are the descriptor's from now on.
inline DropoutStates NextCall(void* at) {
  DropoutStates states;
  std::memcpy(&states, at, sizeof states);
  ++states.calls;
  std::memcpy(at, &states, sizeof states);
  return states;
}

}  // namespace ptx2cpu::cudnn
