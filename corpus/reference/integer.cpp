// References of integer arithmetic, bit manipulation, atomics and SHA-256.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "reference.h"

namespace corpus {
namespace {

using U128 = unsigned __int128;
using S128 = __int128;

template <typename T>
T Reversed(T x) {
  T result = 0;
  for (size_t bit = 0; bit < 8 * sizeof(T); ++bit) result = result << 1 | (x >> bit & 1);
  return result;
}

// 1 + the place of the lowest set bit, 0 if there is none.
template <typename T>
uint32_t FindFirstSet(T x) {
  return x == 0 ? 0 : std::countr_zero(x) + 1;
}

void Int64Mix(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const uint64_t x = call.In<uint64_t>(0)[i];
    const int64_t y = call.In<int64_t>(1)[i] == 0 ? 1 : call.In<int64_t>(1)[i];
    const auto uy = static_cast<uint64_t>(y);
    const auto sx = static_cast<int64_t>(x), half = static_cast<int64_t>(x / 2);
    uint64_t* out = &call.Out<uint64_t>(2)[8 * i];
    out[0] = static_cast<uint64_t>(static_cast<U128>(x) * uy >> 64);
    out[1] = static_cast<uint64_t>(static_cast<S128>(sx) * y >> 64);
    out[2] = x / ((y < 0 ? ~uy : uy) | 1) + x % 1000003;
    out[3] = static_cast<uint64_t>(half / y) - static_cast<uint64_t>(half % y);
    out[4] = (x << (uy % 64)) ^ (x >> (i % 64)) ^ static_cast<uint64_t>(y >> (x % 64));
    out[5] = std::popcount(x) + 100 * std::countl_zero(uy) + 10000 * FindFirstSet(uy);
    out[6] = Reversed(x) + static_cast<uint64_t>(std::min(sx, y));
    out[7] =
        static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(x))) * static_cast<uint32_t>(uy) +
        std::max(x, uy);
  }
}

void Int128Dot(Call& call) {
  const uint32_t columns = call.Value<uint32_t>(4);
  for (uint32_t row = 0; row < call.Value<uint32_t>(3); ++row) {
    U128 sum = 0;
    for (uint32_t c = row * columns; c < (row + 1) * columns; ++c) {
      sum += static_cast<U128>(call.In<uint64_t>(0)[c]) * call.In<uint64_t>(1)[c];
    }
    call.Out<uint64_t>(2)[2 * row] = static_cast<uint64_t>(sum);
    call.Out<uint64_t>(2)[2 * row + 1] = static_cast<uint64_t>(sum >> 64);
  }
}

void ModularPower(Call& call) {
  const uint64_t modulus = call.Value<uint64_t>(3);
  for (uint32_t i = 0; i < call.Value<uint32_t>(4); ++i) {
    U128 result = 1;  // from the highest bit of the exponent down
    for (int bit = 31; bit >= 0; --bit) {
      result = result * result % modulus;
      if (call.In<uint32_t>(1)[i] >> bit & 1) result = result * call.In<uint32_t>(0)[i] % modulus;
    }
    call.Out<uint32_t>(2)[i] = static_cast<uint32_t>(result);
  }
}

void BitTricks(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const uint32_t x = call.In<uint32_t>(0)[i];
    const uint64_t high_i = uint64_t{i} << 32 | x, high_x = uint64_t{x} << 32 | i;
    uint32_t* out = &call.Out<uint32_t>(1)[8 * i];
    out[0] = std::popcount(x) | std::countl_zero(x) << 8 | FindFirstSet(x) << 16;
    out[1] = Reversed(x);
    out[2] = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const uint32_t selected = x >> (16 + 4 * byte) & 7;
      out[2] |= static_cast<uint32_t>(high_i >> (8 * selected) & 0xff) << (8 * byte);
    }
    out[3] = static_cast<uint32_t>(high_i << (x % 32) >> 32) ^ static_cast<uint32_t>(high_x >> (x >> 27));
    out[4] = static_cast<uint32_t>(high_i << std::min(x % 64, 32u) >> 32);
    out[5] = (x >> 5) % 2048 | (x ^ x >> 1) << 21;
    out[6] = 0;
    for (int bit = 0; bit < 16; ++bit) {
      out[6] |= (x >> bit & 1) << (2 * bit) | (x >> (16 + bit) & 1) << (2 * bit + 1);
    }
    const int64_t product = int64_t{static_cast<int32_t>(x)} * 0x1234567;
    out[7] = static_cast<uint32_t>(uint64_t{x} * 0x9e3779b9u >> 32) + static_cast<uint32_t>(product >> 32) +
             (x > i ? x - i : i - x) + 7;
  }
}

void AtomicKinds(Call& call) {
  const auto words = call.Out<uint32_t>(1);
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const uint32_t x = call.In<uint32_t>(0)[i];
    words[0] += x;
    words[1] = static_cast<uint32_t>(std::min(static_cast<int32_t>(words[1]), static_cast<int32_t>(x)));
    words[2] = std::max(words[2], x);
    words[3] &= x | 0xff00;
    words[4] |= x & 0xf0f0f0f0;
    words[5] ^= x;
    words[6] = words[6] >= 99 ? 0 : words[6] + 1;
    words[7] = words[7] == 0 || words[7] > 76 ? 76 : words[7] - 1;
    words[8] *= x | 1;
    words[9] = 0xabcd;
  }
}

void AtomicWide(Call& call) {
  const auto words = call.Out<uint64_t>(1);
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const int64_t x = call.In<int64_t>(0)[i];
    const auto ux = static_cast<uint64_t>(x);
    words[0] += ux;
    words[1] = static_cast<uint64_t>(std::max(static_cast<int64_t>(words[1]), x));
    words[2] = static_cast<uint64_t>(std::min(static_cast<int64_t>(words[2]), x));
    words[3] ^= ux;
    const uint64_t ticket = words[4]++;
    words[5] += ticket * ticket;
    words[6] ^= ticket << 7;
  }
}

// The round constants are the first bits of the fractional parts of cube roots of primes: computed, not
// copied, by integer search for floor(cbrt(prime) * 2^32).
std::vector<uint32_t> RootBits(int count, bool cube) {
  std::vector<uint32_t> result;
  for (uint32_t candidate = 2; static_cast<int>(result.size()) < count; ++candidate) {
    bool prime = true;
    for (uint32_t d = 2; d * d <= candidate; ++d) prime &= candidate % d != 0;
    if (!prime) continue;
    uint64_t root = 0;  // largest with root^2 <= p * 2^64, or root^3 <= p * 2^96
    for (uint64_t bit = uint64_t{1} << 37; bit != 0; bit >>= 1) {
      const U128 r = root | bit;
      const bool fits = cube ? r * r <= (static_cast<U128>(candidate) << 96) / r
                             : r * r <= static_cast<U128>(candidate) << 64;
      if (fits) root |= bit;
    }
    result.push_back(static_cast<uint32_t>(root));
  }
  return result;
}

void Sha256(Call& call) {
  static const std::vector<uint32_t> kRound = RootBits(64, true), kStart = RootBits(8, false);
  for (uint32_t m = 0; m < call.Value<uint32_t>(2); ++m) {
    const auto text = call.In<uint8_t>(0).subspan(55 * m, 55);
    std::vector<uint32_t> w;
    for (int t = 0; t < 14; ++t) {
      uint32_t word = 0;
      for (int b = 4 * t; b < 4 * t + 4; ++b) word = word << 8 | (b < 55 ? text[b] : 0x80);
      w.push_back(word);
    }
    w.insert(w.end(), {0, 440});
    std::vector<uint32_t> s = kStart;
    for (int t = 0; t < 64; ++t) {
      if (t >= 16) {
        const uint32_t a = w[t - 15], b = w[t - 2];
        w.push_back(w[t - 16] + w[t - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                    (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10));
      }
      const uint32_t choose = (s[4] & s[5]) | (~s[4] & s[6]),
                     majority = (s[0] & s[1]) | (s[2] & (s[0] | s[1]));
      const uint32_t t1 =
          s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) + choose + kRound[t] + w[t];
      const uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (int k = 0; k < 8; ++k) call.Out<uint32_t>(1)[8 * m + k] = kStart[k] + s[k];
  }
}

}  // namespace

void AddIntegerReferences(References& references) {
  references["int64_mix"] = Int64Mix;
  references["int128_dot"] = Int128Dot;
  references["int64_modular_power"] = ModularPower;
  references["bit_tricks"] = BitTricks;
  references["atomic_kinds"] = AtomicKinds;
  references["atomic_wide"] = AtomicWide;
  references["sha256_short"] = Sha256;
}

}  // namespace corpus
