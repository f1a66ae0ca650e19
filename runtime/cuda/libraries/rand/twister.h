// MT19937 in cuRAND's order: M. Matsumoto and T. Nishimura, Mersenne Twister: A 623-Dimensionally
// Equidistributed Uniform Pseudo-Random Number Generator (1998).
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/cuda/libraries/rand/sequences.h"

namespace ptx2cpu::libraries {

// 8192 sequences of one seed, 2^2048 words apart, of which each draws eight numbers in its turn. A number
// takes one word, whatever its type. The states of sequences are computed when the first number of them is
// drawn (all 8192: some seconds of one thread).
std::unique_ptr<RandomSequences> MakeTwister(uint32_t seed);

}  // namespace ptx2cpu::libraries
