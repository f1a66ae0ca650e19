// References of double, half and bfloat16 arithmetic and of the mathematical functions.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "reference.h"

namespace corpus {
namespace {

enum class Direction { kNearestEven, kTowardsZero, kDown, kUp };

// An integral double clamped to the range of an integer type.
template <typename T>
T Saturate(double value) {
  if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

// A non-negative number of the small format with `mantissa_bits` and exponent bias `bias`, from its bits.
double SmallFloat(uint32_t bits, int mantissa_bits, int bias) {
  const int field = static_cast<int>(bits >> mantissa_bits);
  const double mantissa = bits & ((1u << mantissa_bits) - 1);
  const double hidden = field == 0 ? 0.0 : std::ldexp(1.0, mantissa_bits);
  return std::ldexp(hidden + mantissa, std::max(field, 1) - bias - mantissa_bits);
}

double Half(uint16_t bits) {
  const double magnitude = (bits & 0x7fff) == 0x7c00 ? INFINITY : SmallFloat(bits & 0x7fff, 10, 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Rounds by searching the finite halves for the two neighbours.
uint16_t ToHalf(double value, Direction direction) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | 0x7c00;
  uint16_t low = 0, end = 0x7c00;  // Half(low) <= magnitude; bits order as values do
  while (end - low > 1) {
    const uint16_t middle = (low + end) / 2;
    (Half(middle) <= magnitude ? low : end) = middle;
  }
  if (Half(low) == magnitude) return sign | low;
  bool away = direction == (sign ? Direction::kDown : Direction::kUp);
  if (direction == Direction::kNearestEven) {
    const double next = low == 0x7bff ? 65536.0 : Half(low + 1);  // 65536 represents infinity
    const double below = magnitude - Half(low), above = next - magnitude;
    away = above < below || (above == below && low % 2 == 1);
  }
  return sign | (away ? low + 1 : low);
}
uint16_t NearestHalf(double value) { return ToHalf(value, Direction::kNearestEven); }

void NewtonSqrt(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const double x = call.In<double>(0)[i];
    double root = std::max(x, 1.0);
    int rounds = 0;
    while (rounds < 64) {
      const double quotient = x / root;
      const double sum = root + quotient;
      const double next = sum / 2;
      if (next >= root) break;
      root = next;
      ++rounds;
    }
    call.Out<double>(1)[i] = root;
    call.Out<int32_t>(2)[i] = rounds;
  }
}

void CompensatedSum(Call& call) {
  const uint32_t columns = call.Value<uint32_t>(4);
  for (uint32_t row = 0; row < call.Value<uint32_t>(3); ++row) {
    double sum = 0, lost = 0, plain = 0;
    for (uint32_t c = 0; c < columns; ++c) {
      const double scale = c % 2 ? 1e-9 : 1e9;
      const double term = call.In<float>(0)[row * columns + c] * scale;
      plain += term;
      const double corrected = term - lost, next = sum + corrected, gained = next - sum;
      lost = gained - corrected;
      sum = next;
    }
    call.Out<double>(1)[row] = sum;
    call.Out<double>(2)[row] = plain;
  }
}

void Convert(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(4); ++i) {
    const double x = call.In<double>(0)[i];
    int64_t* whole = &call.Out<int64_t>(1)[4 * i];
    whole[0] = Saturate<int64_t>(std::nearbyint(x));
    whole[1] = Saturate<int64_t>(std::trunc(x));
    whole[2] = Saturate<int64_t>(std::floor(x));
    whole[3] = static_cast<int64_t>(Saturate<uint64_t>(std::ceil(x)));
    call.Out<int32_t>(2)[i] = Saturate<int32_t>(std::trunc(x));
    const float nearest = static_cast<float>(x);
    call.Out<float>(3)[2 * i] = nearest;
    call.Out<float>(3)[2 * i + 1] =
        std::fabs(nearest) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
  }
}

void HalfAxpy(Call& call) {
  const double a = Half(call.Value<uint16_t>(0));
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    uint16_t& y = call.Out<uint16_t>(2)[i];
    y = NearestHalf(a * Half(call.In<uint16_t>(1)[i]) +
                    Half(y));  // exact in double for the values of the corpus
  }
}

void Half2Blend(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(5); ++i) {
    for (uint32_t lane = 0; lane < 2; ++lane) {
      const double t = Half(static_cast<uint16_t>(call.Value<uint32_t>(4) >> (16 * lane)));
      const double x = Half(call.In<uint16_t>(0)[2 * i + lane]), y = Half(call.In<uint16_t>(1)[2 * i + lane]);
      const double blend = Half(NearestHalf(t * Half(NearestHalf(y - x)) + x));
      uint16_t* out = &call.Out<uint16_t>(2)[6 * i + lane];
      out[0] = NearestHalf(blend);
      out[2] = NearestHalf(blend + y);
      out[4] = NearestHalf(blend * y);
      call.Out<uint32_t>(3)[i] |= lane == 0 ? (x > y ? 1 : 0) : (x < y ? 2 : 0);
    }
  }
}

void HalfConvert(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(4); ++i) {
    const double x = call.In<float>(0)[i];
    uint16_t* halves = &call.Out<uint16_t>(1)[4 * i];
    halves[0] = ToHalf(x, Direction::kNearestEven);
    halves[1] = ToHalf(x, Direction::kTowardsZero);
    halves[2] = ToHalf(x, Direction::kDown);
    halves[3] = ToHalf(x, Direction::kUp);
    call.Out<float>(2)[i] = static_cast<float>(Half(halves[0]));
    call.Out<int32_t>(3)[i] = Saturate<int32_t>(std::trunc(Half(halves[0])));
  }
}

float Bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

void Bfloat16Scale(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const float product = Bfloat16(call.In<uint16_t>(0)[i]) * Bfloat16(call.Value<uint16_t>(2));
    const auto bits = std::bit_cast<uint32_t>(product);
    const uint32_t rest = bits & 0xffff, kept = bits >> 16;
    const bool up = rest > 0x8000 || (rest == 0x8000 && kept % 2 == 1);
    call.Out<uint16_t>(1)[i] = static_cast<uint16_t>(kept + up);
  }
}

void FastMath(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const double x = call.In<float>(0)[i];
    const double results[8] = {std::sin(x), std::cos(x),      std::exp(x),  std::log(x),
                               1.5 / x,     1 / std::sqrt(x), std::exp2(x), std::tanh(x)};
    for (int k = 0; k < 8; ++k) call.Out<float>(1)[8 * i + k] = static_cast<float>(results[k]);
  }
}

// One operation in another rounding mode. The operands and the result pass through volatile variables between
// the two changes of the mode, so that the compiler can neither fold nor move the operation.
template <typename Operation>
float InMode(int mode, Operation operation, float x, float y = 0, float z = 0) {
  volatile float a = x, b = y, c = z;
  std::fesetround(mode);
  volatile float result = operation(a, b, c);
  std::fesetround(FE_TONEAREST);
  return result;
}

// The canonical NaN of single-precision arithmetic on the GPU.
float Canonical(float x) { return std::isnan(x) ? std::bit_cast<float>(0x7fffffffu) : x; }

void ExactMath(Call& call) {
  const auto divide = [](float a, float b, float) { return a / b; };
  const auto root = [](float a, float, float) { return std::sqrt(a); };
  const auto add = [](float a, float b, float) { return a + b; };
  const auto multiply = [](float a, float b, float) { return a * b; };
  const auto fused = [](float a, float b, float c) { return std::fma(a, b, c); };
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const float x = call.In<float>(0)[i], y = call.In<float>(1)[i];
    const float results[12] = {InMode(FE_TONEAREST, divide, x, y),
                               InMode(FE_TOWARDZERO, divide, x, y),
                               InMode(FE_UPWARD, divide, x, y),
                               InMode(FE_DOWNWARD, divide, 1.0f, y),
                               InMode(FE_TONEAREST, root, x),
                               InMode(FE_DOWNWARD, root, x),
                               InMode(FE_UPWARD, add, x, y),
                               InMode(FE_TOWARDZERO, multiply, x, y),
                               InMode(FE_DOWNWARD, fused, x, y, -x),
                               std::floor(x) + std::ceil(y),
                               std::trunc(x) - std::nearbyint(y),
                               std::fmin(x, y) + std::fmax(-x, y) * (std::signbit(y) ? 1.0f : -1.0f)};
    for (int k = 0; k < 12; ++k) call.Out<float>(2)[12 * i + k] = Canonical(results[k]);
  }
}

void CrossProduct(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(4); ++i) {
    const auto p = call.In<float>(0).subspan(4 * i, 3), q = call.In<float>(1).subspan(4 * i, 3);
    float r[3];
    for (int k = 0; k < 3; ++k) {
      const float second = p[(k + 2) % 3] * q[(k + 1) % 3];
      r[k] = std::fma(p[(k + 1) % 3], q[(k + 2) % 3], -second);
      call.Out<float>(2)[4 * i + k] = r[k];
    }
    const float x_square = r[0] * r[0];
    const float square = std::fma(r[2], r[2], std::fma(r[1], r[1], x_square));
    call.Out<float>(2)[4 * i + 3] = square;
    call.Out<double>(3)[2 * i] = r[0] * 3.0;
    call.Out<double>(3)[2 * i + 1] = static_cast<double>(r[1]) + square;
  }
}

}  // namespace

void AddFloatReferences(References& references) {
  references["f64_newton_sqrt"] = NewtonSqrt;
  references["f64_compensated_sum"] = CompensatedSum;
  references["f64_convert"] = Convert;
  references["half_axpy"] = HalfAxpy;
  references["half2_blend"] = Half2Blend;
  references["half_convert"] = HalfConvert;
  references["bfloat16_scale"] = Bfloat16Scale;
  references["fast_math"] = FastMath;
  references["exact_math"] = ExactMath;
  references["cross_product"] = CrossProduct;
}

}  // namespace corpus
