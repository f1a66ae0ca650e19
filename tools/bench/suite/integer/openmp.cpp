// Integer arithmetic.
#include "tools/bench/suite/openmp.h"

#include <algorithm>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

namespace {

inline uint32_t F(uint32_t x, uint32_t y, uint32_t z) { return (x & y) | (~x & z); }
inline uint32_t G(uint32_t x, uint32_t y, uint32_t z) { return (x & z) | (y & ~z); }
inline uint32_t H(uint32_t x, uint32_t y, uint32_t z) { return x ^ y ^ z; }
inline uint32_t I(uint32_t x, uint32_t y, uint32_t z) { return y ^ (x | ~z); }

}  // namespace

void Md5(const Data& data) {
  const auto *left = data.Get<const uint32_t*>(0), *table = data.Get<const uint32_t*>(1);
  auto* found = data.Get<uint32_t*>(2);
  const auto length = data.Get<uint32_t>(3), wanted = data.Get<uint32_t>(4), mask = data.Get<uint32_t>(5),
             n = data.Get<uint32_t>(6);
  uint32_t count = 0, mix = 0;
#pragma omp parallel for reduction(+ : count) reduction(^ : mix)
  for (uint32_t t = 0; t < length; ++t) {
    const uint32_t right = table[t];
#pragma omp simd reduction(+ : count) reduction(^ : mix)
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t words[16] = {
          left[2 * i] | right, left[2 * i + 1], 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0};
      uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#define STEP(function, a, b, c, d, word, by, constant) \
  a += function(b, c, d) + words[word] + constant;     \
  a = ((a << by) | (a >> (32 - by))) + b;
#include "tools/bench/suite/integer/md5_steps.def"
#undef STEP
      const bool match = ((a + 0x67452301) & mask) == (wanted & mask);
      count += match ? 1 : 0;
      mix ^= match ? (i * length + t) ^ (b + c + d) : 0;
    }
  }
  found[0] += count;
  found[1] ^= mix;
}

// The same network: what a step compares are two runs of `distance` words.
void BitonicSort(const Data& data) {
  auto* words = data.Get<uint32_t*>(0);
  const auto n = data.Get<uint32_t>(1);
  const auto step = [words](uint32_t first, uint32_t end, uint32_t stage, uint32_t distance) {
    for (uint32_t base = first; base < end; base += 2 * distance) {
      uint32_t *low = words + base, *high = low + distance;
      if ((base & stage) == 0) {
#pragma omp simd
        for (uint32_t i = 0; i < distance; ++i) {
          const uint32_t a = low[i], b = high[i];
          low[i] = std::min(a, b), high[i] = std::max(a, b);
        }
      } else {
#pragma omp simd
        for (uint32_t i = 0; i < distance; ++i) {
          const uint32_t a = low[i], b = high[i];
          low[i] = std::max(a, b), high[i] = std::min(a, b);
        }
      }
    }
  };
  constexpr uint32_t kPart = 4096;  // stays in the first cache
  for (uint32_t stage = kPart; stage <= n; stage *= 2) {
    for (uint32_t distance = stage / 2; distance >= kPart; distance /= 2) {
#pragma omp parallel for
      for (uint32_t part = 0; part < n / kPart / 2; ++part) {
        // The half of a part's words that are the lower of their pairs.
        const uint32_t pairs = part * kPart, base = 2 * pairs - (pairs & (distance - 1));
        uint32_t *low = words + base, *high = low + distance;
        const bool ascending = (base & stage) == 0;
#pragma omp simd
        for (uint32_t i = 0; i < kPart; ++i) {
          const uint32_t a = low[i], b = high[i];
          low[i] = ascending ? std::min(a, b) : std::max(a, b);
          high[i] = ascending ? std::max(a, b) : std::min(a, b);
        }
      }
    }
#pragma omp parallel for
    for (uint32_t part = 0; part < n; part += kPart) {
      for (uint32_t inner = stage == kPart ? 2 : stage; inner <= stage; inner *= 2) {
        for (uint32_t distance = std::min(inner, kPart) / 2; distance > 0; distance /= 2)
          step(part, part + kPart, inner, distance);
      }
    }
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
