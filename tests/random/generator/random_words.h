// splitmix64 (Steele, Lea, Flood 2014): the same sequence on every machine.
#pragma once

#include <cstdint>

namespace ptx2cpu::random_kernels {

class RandomWords {
 public:
  explicit RandomWords(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}
  uint32_t Word() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return static_cast<uint32_t>((z ^ z >> 31) >> 32);
  }
  uint32_t Below(uint64_t bound) { return static_cast<uint32_t>(Word() * bound >> 32); }
  bool Chance(uint32_t in) { return Below(in) == 0; }

 private:
  uint64_t state_;
};

}  // namespace ptx2cpu::random_kernels
