#include "runtime/cuda/libraries/rand/engines.h"

namespace ptx2cpu::libraries {

namespace {

// A linear map of the 160 bits of XORWOW's xorshift part, by the images of single bits.
using Bits = std::array<uint32_t, 5>;
using BitMatrix = std::vector<Bits>;
constexpr int kBits = 160;

Bits Apply(const BitMatrix& matrix, const Bits& bits) {
  Bits result{};
  for (int i = 0; i < kBits; ++i) {
    if ((bits[i / 32] >> (i % 32) & 1) == 0) continue;
    for (int word = 0; word < 5; ++word) result[word] ^= matrix[i][word];
  }
  return result;
}
BitMatrix Squared(const BitMatrix& matrix) {
  BitMatrix result(kBits);
  for (int i = 0; i < kBits; ++i) result[i] = Apply(matrix, matrix[i]);
  return result;
}
BitMatrix OneStep() {
  BitMatrix step(kBits);
  for (int i = 0; i < kBits; ++i) {
    Xorwow state{{}, 0};
    state.v[i / 32] = 1u << (i % 32);
    state.Next();
    step[i] = state.v;
  }
  return step;
}
constexpr uint32_t kWeyl = 362437;

constexpr uint64_t kM1 = 4294967087, kM2 = 4294944443;
using Matrix = std::array<std::array<uint64_t, 3>, 3>;
constexpr Matrix kStepA = {{{0, 1, 0}, {0, 0, 1}, {kM1 - 810728, 1403580, 0}}};
constexpr Matrix kStepB = {{{0, 1, 0}, {0, 0, 1}, {kM2 - 1370589, 0, 527612}}};

// Products of numbers below 2^32 fit in 64 bits; sums of three do not.
std::array<uint64_t, 3> Times(const Matrix& matrix, const std::array<uint64_t, 3>& x, uint64_t m) {
  std::array<uint64_t, 3> result{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) result[i] = (result[i] + matrix[i][j] * x[j] % m) % m;
  }
  return result;
}
Matrix Times(const Matrix& x, const Matrix& y, uint64_t m) {
  Matrix result{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) result[i][j] = (result[i][j] + x[i][k] * y[k][j] % m) % m;
    }
  }
  return result;
}
Matrix Power(Matrix base, uint64_t exponent, uint64_t m) {
  Matrix result = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = Times(base, result, m);
    base = Times(base, base, m);
  }
  return result;
}
// The matrix to the power of two to the power of `exponent`.
Matrix FarPower(Matrix base, int exponent, uint64_t m) {
  for (int i = 0; i < exponent; ++i) base = Times(base, base, m);
  return base;
}

}  // namespace

uint32_t Xorwow::Next() {
  const uint32_t t = v[0] ^ v[0] >> 2;
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
  d += kWeyl;
  return v[4] + d;
}

uint64_t Mrg32k3a::Next() {
  const uint64_t p1 = (1403580 * a[1] + (kM1 - 810728) * a[0] % kM1) % kM1;
  const uint64_t p2 = (527612 * b[2] + (kM2 - 1370589) * b[0] % kM2) % kM2;
  a = {a[1], a[2], p1};
  b = {b[1], b[2], p2};
  return p1 > p2 ? p1 - p2 : p1 + kM1 - p2;
}

std::array<uint32_t, 4> Philox::Next() {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                               static_cast<uint32_t>(sequence), static_cast<uint32_t>(sequence >> 32)};
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t x = uint64_t{0xD2511F53u} * c[0], y = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(y >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(y),
         static_cast<uint32_t>(x >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(x)};
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  ++counter;
  return c;
}

namespace {

// How cuRAND makes the first state of a seed is public in its device headers.
Xorwow FirstXorwow(uint64_t seed) {
  const uint32_t s0 = static_cast<uint32_t>(seed) ^ 0xaad26b49u,
                 s1 = static_cast<uint32_t>(seed >> 32) ^ 0xf7dcefddu, t0 = 1099087573u * s0,
                 t1 = 2591861531u * s1;
  return {{123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0},
          6615241u + t1 + t0};
}

}  // namespace

// Sequences are 2^67 draws apart.
std::vector<Xorwow> XorwowSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more) {
  Xorwow state = FirstXorwow(seed);
  BitMatrix power = OneStep();
  state.d += static_cast<uint32_t>(skip) * kWeyl;
  constexpr int kApart = 67;
  for (int bit = 0; bit < kApart; ++bit) {
    if (bit < 64 && (skip >> bit & 1) != 0) state.v = Apply(power, state.v);
    power = Squared(power);
  }
  std::vector<Xorwow> states(count);
  for (int64_t i = 0; i < count; ++i) {
    states[i] = state;
    if (i < more) states[i].Next();
    state.v = Apply(power, state.v);
  }
  return states;
}

std::vector<Xorwow> SeededXorwowSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more) {
  constexpr uint64_t kBetweenSeeds = 0x2fd111;  // found from recorded numbers
  std::vector<Xorwow> states(count);
  for (int64_t i = 0; i < count; ++i) {
    states[i] = FirstXorwow(seed + static_cast<uint64_t>(i) * kBetweenSeeds);
    states[i].d += static_cast<uint32_t>(skip) * kWeyl;
  }
  BitMatrix power = OneStep();
  for (; skip != 0; skip >>= 1) {
    if ((skip & 1) != 0) {
      for (Xorwow& state : states) state.v = Apply(power, state.v);
    }
    power = Squared(power);
  }
  for (int64_t i = 0; i < more; ++i) states[i].Next();
  return states;
}

// Sequences are 2^76 draws apart.
std::vector<Mrg32k3a> MrgSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more) {
  Mrg32k3a state{{12345, 12345, 12345}, {12345, 12345, 12345}};
  if (seed != 0) {
    const uint64_t x1 = static_cast<uint32_t>(seed) ^ 0x55555555u,
                   x2 = static_cast<uint32_t>(seed >> 32) ^ 0xAAAAAAAAu;
    state.a = {x1 * 12345 % kM1, x2 * 12345 % kM1, x1 * 12345 % kM1};
    state.b = {x2 * 12345 % kM2, x1 * 12345 % kM2, x2 * 12345 % kM2};
  }
  state.a = Times(Power(kStepA, skip, kM1), state.a, kM1);
  state.b = Times(Power(kStepB, skip, kM2), state.b, kM2);
  constexpr int kApart = 76;
  const Matrix far_a = FarPower(kStepA, kApart, kM1), far_b = FarPower(kStepB, kApart, kM2);
  std::vector<Mrg32k3a> states(count);
  for (int64_t i = 0; i < count; ++i) {
    states[i] = state;
    if (i < more) states[i].Next();
    state.a = Times(far_a, state.a, kM1);
    state.b = Times(far_b, state.b, kM2);
  }
  return states;
}

std::vector<Philox> PhiloxSequences(uint64_t seed, int64_t count, uint64_t skip, int64_t more) {
  std::vector<Philox> states(count);
  for (int64_t i = 0; i < count; ++i) states[i] = {seed, static_cast<uint64_t>(i), skip + (i < more ? 1 : 0)};
  return states;
}

}  // namespace ptx2cpu::libraries
