// Random orders that depend on a seed only: they decide what comes next where CUDA leaves it open.
#pragma once

#include <bit>
#include <cstdint>

namespace ptx2cpu::rt {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), its last
// step: neighbouring words become unrelated ones.
inline uint64_t Scatter(uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

class RandomOrder {
 public:
  explicit RandomOrder(uint64_t seed = 0) : state_(Scatter(seed + kStep)) {}

  uint64_t Next() { return Scatter(state_ += kStep); }
  // Less than `count`, which is not 0.
  uint64_t Below(uint64_t count) { return Next() % count; }
  // One of the bits of `set`, which is not 0.
  uint32_t OneOf(uint32_t set) {
    for (auto skip = static_cast<uint32_t>(Below(static_cast<uint64_t>(std::popcount(set)))); skip != 0;
         --skip)
      set &= set - 1;
    return set & (~set + 1);
  }
  // Some of them, at least one: mostly one.
  uint32_t SomeOf(uint32_t set) {
    const uint64_t word = Next();
    const uint32_t some = (word >> 62) == 0 ? static_cast<uint32_t>(word) & set : 0;
    return some != 0 ? some : OneOf(set);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t state_;
};

// A permutation of 0 .. count - 1: a Feistel network of four rounds over the next power of four, whose
// results outside are mapped again (Black, Rogaway: Ciphers with Arbitrary Finite Domains, CT-RSA 2002).
class Permutation {
 public:
  Permutation(uint64_t seed, uint64_t count)
      : seed_(seed), count_(count), half_((static_cast<unsigned>(std::bit_width(count)) + 1) / 2) {}

  uint64_t operator()(uint64_t index) const {
    do index = Mix(index);
    while (index >= count_);
    return index;
  }

 private:
  uint64_t Mix(uint64_t index) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = index >> half_, right = index & mask;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t next = left ^ (Scatter(seed_ + round * 0x9e3779b97f4a7c15 + Scatter(right)) & mask);
      left = right, right = next;
    }
    return left << half_ | right;
  }
  uint64_t seed_, count_;
  unsigned half_;
};

}  // namespace ptx2cpu::rt
