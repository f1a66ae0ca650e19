// The exact arithmetic against the host's IEEE arithmetic, in the four directed modes, and the encodings
// alone.
#include <bit>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <random>

#include "ir/interpret/exact.h"

namespace ptx2cpu::ir::interpret {

namespace {

struct Mode {
  Rounding ours;
  int host;
};
constexpr Mode kModes[] = {{Rounding::kNearestEven, FE_TONEAREST},
                           {Rounding::kTowardZero, FE_TOWARDZERO},
                           {Rounding::kDown, FE_DOWNWARD},
                           {Rounding::kUp, FE_UPWARD}};

// Bit patterns in which extremes and near-cancellations are common.
template <typename Bits>
Bits RandomFloatBits(std::mt19937_64& random, int fraction_bits, int exponent_bits) {
  Bits bits = static_cast<Bits>(random());
  Bits fraction_mask = (Bits{1} << fraction_bits) - 1, exponent_mask = (Bits{1} << exponent_bits) - 1;
  switch (random() % 8) {
    case 0:
      return bits & ~fraction_mask;  // powers of two, infinities
    case 1:
      return bits | fraction_mask;  // just below them
    case 2:
      return bits & (fraction_mask | ~(exponent_mask << fraction_bits));  // subnormal
    case 3:
    case 4: {  // exponents near one, so that sums cancel
      Bits near_one = (exponent_mask >> 1) + static_cast<Bits>(random() % 5) - 2;
      return (bits & ~(exponent_mask << fraction_bits)) | near_one << fraction_bits;
    }
    default:
      return bits;
  }
}

template <typename Float, typename Bits>
struct Host {
  Type type;
  int fraction_bits, exponent_bits;

  Float Value(Bits bits) const { return std::bit_cast<Float>(bits); }

  template <typename Operation>
  Bits Rounded(int mode, Operation operation, Bits a, Bits b, Bits c) const {
    volatile Float x = Value(a), y = Value(b), z = Value(c);
    std::fesetround(mode);
    volatile Float result = operation(x, y, z);
    std::fesetround(FE_TONEAREST);
    return std::bit_cast<Bits>(static_cast<Float>(result));
  }

  void Check(const char* name, const Number& exact, Bits host, const Mode& mode) const {
    const Format& format = FormatOf(type);
    uint64_t ours = Encode(format, exact, {.mode = mode.ours});
    bool both_nan = IsNan(format, ours) && std::isnan(Value(host));
    if (!both_nan && ours != host) {
      INFO(name << " mode " << static_cast<int>(mode.ours));
      CHECK(ours == host);
    }
  }

  void Compare(uint64_t seed, int rounds) const {
    std::mt19937_64 random(seed);
    const Format& format = FormatOf(type);
    for (int i = 0; i < rounds; ++i) {
      Bits a = RandomFloatBits<Bits>(random, fraction_bits, exponent_bits);
      Bits b = RandomFloatBits<Bits>(random, fraction_bits, exponent_bits);
      Bits c = RandomFloatBits<Bits>(random, fraction_bits, exponent_bits);
      if (random() % 4 == 0)
        c = std::bit_cast<Bits>(static_cast<Float>(-(Value(a) * Value(b))));  // cancels in fma
      Number x = Decode(format, a), y = Decode(format, b), z = Decode(format, c);
      for (const Mode& mode : kModes) {
        auto host = [&](auto operation) { return Rounded(mode.host, operation, a, b, c); };
        Check("add", Add(x, y, mode.ours), host([](Float p, Float q, Float) { return p + q; }), mode);
        Check("mul", Multiply(x, y), host([](Float p, Float q, Float) { return p * q; }), mode);
        Check("div", Divide(x, y), host([](Float p, Float q, Float) { return p / q; }), mode);
        Check("fma", Add(Multiply(x, y), z, mode.ours),
              host([](Float p, Float q, Float r) { return std::fma(p, q, r); }), mode);
        Check("sqrt", SquareRoot(x), host([](Float p, Float, Float) { return std::sqrt(p); }), mode);
      }
    }
  }
};

}  // namespace

TEST_CASE("interpret exact: agrees with the host's f32 in four modes") {
  Host<float, uint32_t>{Type::kF32, 23, 8}.Compare(1, 20000);
}

TEST_CASE("interpret exact: agrees with the host's f64 in four modes") {
  Host<double, uint64_t>{Type::kF64, 52, 11}.Compare(2, 20000);
}

TEST_CASE("interpret exact: f64 to f32 agrees with the host in four modes") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random();
    if (random() % 2 == 0)
      bits = (bits & ~(uint64_t{0x7FF} << 52)) | (uint64_t{1023 - 152 + random() % 300} << 52);
    Number number = Decode(FormatOf(Type::kF64), bits);
    if (number.is_nan()) continue;
    for (const Mode& mode : kModes) {
      volatile double input = std::bit_cast<double>(bits);
      std::fesetround(mode.host);
      volatile float host = static_cast<float>(input);
      std::fesetround(FE_TONEAREST);
      uint64_t ours = Encode(FormatOf(Type::kF32), number, {.mode = mode.ours});
      if (ours != std::bit_cast<uint32_t>(static_cast<float>(host)))
        CHECK(ours == std::bit_cast<uint32_t>(static_cast<float>(host)));
    }
  }
}

TEST_CASE("interpret exact: every encoding of a small format survives") {
  auto check = [](const Format& format, int bits) {
    for (uint64_t code = 0; code < uint64_t{1} << bits; ++code) {
      Number number = Decode(format, code);
      uint64_t again = Encode(format, number, {});
      if (number.is_nan() ? !IsNan(format, again) : again != code) CHECK(again == code);
    }
  };
  check(FormatOf(Type::kF16), 16);
  check(FormatOf(Type::kBF16), 16);
  check(FormatOf(NarrowFormat::kE4M3), 8);
  check(FormatOf(NarrowFormat::kE5M2), 8);
  check(FormatOf(NarrowFormat::kE2M3), 6);
  check(FormatOf(NarrowFormat::kE3M2), 6);
  check(FormatOf(NarrowFormat::kE2M1), 4);
}

TEST_CASE("interpret exact: the largest values of the narrow formats") {
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE4M3), 0x7E)) == 448);
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE5M2), 0x7B)) == 57344);
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE2M3), 0x1F)) == 7.5);
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE3M2), 0x1F)) == 28);
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE2M1), 0x07)) == 6);
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE2M1), 0x01)) == 0.5);
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE4M3), 0x01)) == std::ldexp(1, -9));
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE5M2), 0x01)) == std::ldexp(1, -16));
  CHECK(ToDouble(Decode(FormatOf(NarrowFormat::kE5M2), 0xFC)) == -INFINITY);
  CHECK(ToDouble(Decode(FormatOf(Type::kF16), 0x0001)) == std::ldexp(1, -24));
}

// All f16 products and sums are exact in f64, so the host's double gives them; only the final rounding is
// ours.
TEST_CASE("interpret exact: f16 multiplication and addition against exact doubles") {
  const Format& format = FormatOf(Type::kF16);
  std::mt19937_64 random(4);
  for (int i = 0; i < 200000; ++i) {
    uint64_t a = random() & 0xFFFF, b = random() & 0xFFFF;
    Number x = Decode(format, a), y = Decode(format, b);
    if (x.is_nan() || y.is_nan()) continue;
    double p = ToDouble(x), q = ToDouble(y);
    auto same = [&](const Number& ours, double host) {
      uint64_t mine = Encode(format, ours, {}), theirs = Encode(format, FromDouble(host), {});
      if (mine != theirs) CHECK(mine == theirs);
    };
    same(Multiply(x, y), p * q);
    same(Add(x, y, Rounding::kNearestEven), p + q);
    int order = p < q ? -1 : p > q ? 1 : 0;
    if (CompareNumbers(x, y) != order) CHECK(CompareNumbers(x, y) == order);
  }
}

TEST_CASE("interpret exact: rounding decisions by hand") {
  const Format& f16 = FormatOf(Type::kF16);
  auto to_f16 = [&](double value, Rounding mode) { return Encode(f16, FromDouble(value), {.mode = mode}); };
  double tie = 1 + std::ldexp(1, -11);  // between 1 and the next f16
  CHECK(to_f16(tie, Rounding::kNearestEven) == 0x3C00);
  CHECK(to_f16(tie, Rounding::kNearestAway) == 0x3C01);
  CHECK(to_f16(tie, Rounding::kTowardZero) == 0x3C00);
  CHECK(to_f16(tie, Rounding::kUp) == 0x3C01);
  CHECK(to_f16(-tie, Rounding::kUp) == 0xBC00);
  CHECK(to_f16(-tie, Rounding::kDown) == 0xBC01);
  CHECK(to_f16(tie + std::ldexp(1, -40), Rounding::kNearestEven) == 0x3C01);
  CHECK(to_f16(65519.99, Rounding::kNearestEven) == 0x7BFF);
  CHECK(to_f16(65520, Rounding::kNearestEven) == 0x7C00);
  CHECK(to_f16(1e9, Rounding::kTowardZero) == 0x7BFF);
  CHECK(to_f16(-1e9, Rounding::kUp) == 0xFBFF);
  CHECK(to_f16(std::ldexp(1, -25), Rounding::kNearestEven) == 0x0000);
  CHECK(to_f16(std::ldexp(1, -25) * 1.001, Rounding::kNearestEven) == 0x0001);
  CHECK(to_f16(-1e-300, Rounding::kDown) == 0x8001);
  CHECK(to_f16(-1e-300, Rounding::kNearestEven) == 0x8000);
  CHECK(Encode(f16, FromDouble(1e9), {.saturate_finite = true}) == 0x7BFF);
  CHECK(Encode(f16, FromDouble(-INFINITY), {.saturate_finite = true}) == 0xFBFF);
  CHECK(Encode(f16, FromDouble(1e9), {.mode = Rounding::kTowardZero}) == 0x7BFF);
}

TEST_CASE("interpret exact: stochastic rounding goes by the carry of the random bits") {
  const Format& f16 = FormatOf(Type::kF16);
  Number quarter = FromDouble(1 + std::ldexp(1, -12));  // a quarter of a unit above 1
  auto round = [&](uint32_t random) {
    return Encode(f16, quarter, {.mode = Rounding::kStochastic, .random = random, .random_bits = 13});
  };
  CHECK(round(0) == 0x3C00);
  CHECK(round(0x17FF) == 0x3C00);  // 0x0800 + 0x17FF: no carry out of 13 bits
  CHECK(round(0x1800) == 0x3C01);
  CHECK(Encode(f16, FromDouble(1), {.mode = Rounding::kStochastic, .random = 0x1FFF, .random_bits = 13}) ==
        0x3C00);
}

}  // namespace ptx2cpu::ir::interpret
