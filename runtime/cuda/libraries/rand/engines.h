// The generators that cuRAND has, as published: G. Marsaglia, Xorshift RNGs (2003), for XORWOW; P. L'Ecuyer,
// Good Parameters and Implementations for Combined Multiple Recursive Random Number Generators (1999), for
// MRG32k3a; J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011), for Philox4x32-10.
//
// Each makes `kSequences` sequences of one seed, far apart in the generator's period. What one draws at a
// time is a block: some words, which become uniform or normal numbers (sequences.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ptx2cpu::libraries {

struct Xorwow {
  static constexpr int64_t kSequences = 4096;
  std::array<uint32_t, 5> v;
  uint32_t d;
  uint32_t Next();
};

struct Mrg32k3a {
  static constexpr int64_t kSequences = 81920;
  static constexpr int64_t kLegacySequences = 4096;
  std::array<uint64_t, 3> a, b;
  uint64_t Next();  // 1 ... m1
};

struct Philox {
  static constexpr int64_t kSequences = 65536;
  uint64_t key, sequence, counter;
  std::array<uint32_t, 4> Next();
};

// The first states of `count` sequences, each after `skip` draws; the first `more` of them after one more.
std::vector<Xorwow> XorwowSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more);
// The same, with a seed of its own for each sequence in place of a distance.
std::vector<Xorwow> SeededXorwowSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more);
std::vector<Mrg32k3a> MrgSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more);
std::vector<Philox> PhiloxSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more);

}  // namespace ptx2cpu::libraries
