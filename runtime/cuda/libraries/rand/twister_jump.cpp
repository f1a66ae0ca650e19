#include "runtime/cuda/libraries/rand/twister_jump.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace ptx2cpu::libraries {

namespace {

constexpr int kMiddle = 397;
constexpr int kDegree = 19937;  // of the characteristic polynomial
constexpr int kWordBits = 64;

// A polynomial over the field of two elements: bit i is the coefficient of t^i.
using Polynomial = std::vector<uint64_t>;
bool Bit(const Polynomial& p, int i) { return (p[i / kWordBits] >> (i % kWordBits) & 1) != 0; }
// p += q * t^shift, as far as p goes.
void AddShifted(Polynomial& p, const Polynomial& q, int shift) {
  const int words = shift / kWordBits, bits = shift % kWordBits;
  for (size_t i = 0; i + words < p.size() && i < q.size(); ++i) {
    p[i + words] ^= q[i] << bits;
    if (bits != 0 && i + words + 1 < p.size()) p[i + words + 1] ^= q[i] >> (kWordBits - bits);
  }
}

// The exponents of the characteristic polynomial except the first, from the recurrence that the lowest bits
// of a sequence satisfy: J. Massey, Shift-Register Synthesis and BCH Decoding (1969).
std::vector<int> LowerExponents() {
  constexpr int kLength = 2 * kDegree, kSize = kDegree / kWordBits + 2;
  Polynomial current(kSize), before(kSize), recent(kSize);
  current[0] = before[0] = 1;
  int length = 0, gap = 1;
  constexpr uint32_t kAnySeed = 1;
  TwisterBlock block = FirstBlock(kAnySeed);
  for (int n = 0; n < kLength; ++n) {
    if (n > 0 && n % kTwisterWords == 0) Advance(block);
    for (int i = kSize - 1; i > 0; --i) recent[i] = recent[i] << 1 | recent[i - 1] >> (kWordBits - 1);
    recent[0] = recent[0] << 1 | (block[n % kTwisterWords] & 1);
    int ones = 0;
    for (int i = 0; i < kSize; ++i) ones += std::popcount(current[i] & recent[i]);
    if (ones % 2 == 0) {
      ++gap;
    } else if (2 * length <= n) {
      Polynomial kept = current;
      AddShifted(current, before, gap);
      before = std::move(kept);
      length = n + 1 - length;
      gap = 1;
    } else {
      AddShifted(current, before, gap);
      ++gap;
    }
  }
  std::vector<int> exponents;
  for (int i = kDegree; i > 0; --i) {
    if (Bit(current, i)) exponents.push_back(kDegree - i);
  }
  return exponents;
}

// The square, modulo t^kDegree plus the powers of `lower`, all of which are more than a word below kDegree.
Polynomial Squared(const Polynomial& p, const std::vector<int>& lower) {
  Polynomial square(2 * p.size() + 1);
  for (int i = 0; i < kDegree; ++i) {
    if (Bit(p, i)) square[2 * i / kWordBits] |= uint64_t{1} << (2 * i % kWordBits);
  }
  for (int above = (kDegree - 1) / kWordBits * kWordBits; above >= 0; above -= kWordBits) {
    const int at = kDegree + above, word = at / kWordBits, bit = at % kWordBits;
    const uint64_t high = bit == 0 ? 0 : square[word + 1] << (kWordBits - bit);
    const uint64_t taken = square[word] >> bit | high;
    if (taken == 0) continue;
    const Polynomial part = {taken};
    AddShifted(square, part, at);
    for (const int exponent : lower) AddShifted(square, part, above + exponent);
  }
  square.resize(p.size());
  return square;
}

struct Jumps {
  std::mutex mutex;
  std::vector<int> lower;
  Polynomial last;
  std::array<std::vector<uint32_t>, 13> words;
  int known = 0;
};

}  // namespace

TwisterBlock FirstBlock(uint32_t seed) {
  TwisterBlock block;
  block[0] = seed;
  for (uint32_t i = 1; i < kTwisterWords; ++i)
    block[i] = 1812433253u * (block[i - 1] ^ block[i - 1] >> 30) + i;
  Advance(block);
  return block;
}

void Advance(TwisterBlock& block) {
  constexpr uint32_t kHighest = 0x80000000u, kTwist = 0x9908b0dfu;
  for (int i = 0; i < kTwisterWords; ++i) {
    const uint32_t y = (block[i] & kHighest) | (block[(i + 1) % kTwisterWords] & ~kHighest);
    block[i] = block[(i + kMiddle) % kTwisterWords] ^ y >> 1 ^ ((y & 1) != 0 ? kTwist : 0);
  }
}

const std::vector<uint32_t>& TwisterJump(int doublings) {
  static Jumps jumps;
  const std::lock_guard lock(jumps.mutex);
  if (jumps.known == 0) {
    jumps.lower = LowerExponents();
    jumps.last.resize(kDegree / kWordBits + 1);
    jumps.last[0] = 2;  // t
  }
  for (; jumps.known <= doublings; ++jumps.known) {
    constexpr int kFirstJump = 2048;
    for (int i = 0; i < (jumps.known == 0 ? kFirstJump : 1); ++i)
      jumps.last = Squared(jumps.last, jumps.lower);
    for (uint32_t i = 0; i < kDegree; ++i) {
      if (Bit(jumps.last, static_cast<int>(i))) jumps.words[jumps.known].push_back(i);
    }
  }
  return jumps.words[doublings];
}

TwisterBlock Jumped(const TwisterBlock& block, const std::vector<uint32_t>& jump) {
  constexpr int kBlocks = kDegree / kTwisterWords + 2;
  std::vector<uint32_t> words;
  words.reserve(size_t{kBlocks} * kTwisterWords);
  TwisterBlock next = block;
  for (int i = 0; i < kBlocks; ++i) {
    words.insert(words.end(), next.begin(), next.end());
    Advance(next);
  }
  constexpr int kAtOnce = 48;  // sums that stay in registers
  static_assert(kTwisterWords % kAtOnce == 0);
  TwisterBlock result;
  for (int begin = 0; begin < kTwisterWords; begin += kAtOnce) {
    std::array<uint32_t, kAtOnce> sums{};
    for (const uint32_t place : jump) {
      const uint32_t* const from = &words[place + begin];
      for (int i = 0; i < kAtOnce; ++i) sums[i] ^= from[i];
    }
    std::ranges::copy(sums, result.begin() + begin);
  }
  return result;
}

}  // namespace ptx2cpu::libraries
