// Products of matrices one element after the other: infinities and NaN, and matrices A of which half is
// stored. ir/interpret/matrix_sum.cpp has the rule.
#include <stdint.h>

#include "runtime/abi/matrix.h"
#include "runtime/math/sum_rounding.h"

namespace {

struct Format {
  int bits, exponent_bits, mantissa_bits;  // 0: an integer
  bool is_signed;
  bool has_infinity = true;  // else only all ones are NaN
};
constexpr Format kFormats[] = {
    {16, 5, 10, true}, {16, 8, 7, true},       {32, 8, 10, true}, {64, 11, 52, true}, {8, 0, 0, true},
    {8, 0, 0, false},  {4, 0, 0, true},        {4, 0, 0, false},  {1, 0, 0, false},   {32, 8, 23, true},
    {32, 0, 0, true},  {8, 4, 3, true, false}, {8, 5, 2, true}};
constexpr int kBitsBelow = 25, kBitsBelowOfBytes = 13, kLowest = -2000;

struct Number {
  bool negative, infinite, nan;
  int exponent;
  int64_t significand;
};

Number Decode(unsigned element, uint32_t bits) {
  const Format& f = kFormats[element];
  const bool negative = (bits >> (f.bits - 1) & 1) != 0;
  if (element == PTX2CPU_MATRIX_TF32) bits >>= 13;
  const uint32_t fraction = bits & ((1u << f.mantissa_bits) - 1);
  const int top = (1 << f.exponent_bits) - 1, field = static_cast<int>(bits >> f.mantissa_bits) & top;
  const int64_t significand = field == 0 ? fraction : fraction | 1u << f.mantissa_bits;
  const bool is_top = field == top;
  const bool nan = is_top && (f.has_infinity ? fraction != 0 : fraction == (1u << f.mantissa_bits) - 1);
  return {negative, is_top && f.has_infinity && fraction == 0, nan, (field == 0 ? 1 : field) - top / 2,
          significand};
}

struct Form {
  unsigned a, b, c;
  int rows, depth;
  bool sparse;
  unsigned selector, bits;
};

int64_t Shifted(int64_t value, int by) { return by >= 0 ? value << by : by > -64 ? value >> -by : 0; }

uint32_t FloatSum(const Form& form, const uint32_t* a, const uint32_t* b, int count, uint32_t bits_of_c) {
  const Format& format = kFormats[form.c];
  const int mantissas = kFormats[form.a].mantissa_bits + kFormats[form.b].mantissa_bits;
  const Number c = Decode(form.c, bits_of_c);
  bool nan = c.nan, positive = c.infinite && !c.negative, negative = c.infinite && c.negative;
  int largest = c.significand != 0 ? c.exponent : kLowest;
  for (int k = 0; k < count; ++k) {
    const Number x = Decode(form.a, a[k]), y = Decode(form.b, b[k]);
    nan |= x.nan || y.nan || (x.infinite && y.significand == 0) || (y.infinite && x.significand == 0);
    if (x.infinite || y.infinite) (x.negative != y.negative ? negative : positive) = true;
    if (x.significand != 0 && y.significand != 0 && x.exponent + y.exponent > largest)
      largest = x.exponent + y.exponent;
  }
  const uint32_t sign = 1u << (format.bits - 1);
  if (nan || (positive && negative)) return sign - 1;
  if (positive || negative)
    return (((1u << format.exponent_bits) - 1) << format.mantissa_bits) | (negative ? sign : 0);
  const bool of_bytes = kFormats[form.a].bits == 8;
  const int unit = largest - (of_bytes ? kBitsBelowOfBytes : kBitsBelow);
  auto aligned = [&](int64_t significand, int exponent, bool is_negative) {
    const int64_t cut = significand == 0 ? 0 : Shifted(significand, exponent - unit);
    return is_negative ? -cut : cut;
  };
  int64_t sum = aligned(c.significand, c.exponent - format.mantissa_bits, c.negative);
  for (int k = 0; k < count; ++k) {
    const Number x = Decode(form.a, a[k]), y = Decode(form.b, b[k]);
    sum +=
        aligned(x.significand * y.significand, x.exponent + y.exponent - mantissas, x.negative != y.negative);
  }
  const bool to_nearest = form.c == PTX2CPU_MATRIX_F16;
  const uint32_t result =
      ptx2cpu::rt::math::RoundSum({format.exponent_bits, format.mantissa_bits}, sum, unit, to_nearest);
  const int cut = of_bytes && form.c == PTX2CPU_MATRIX_F32 ? format.mantissa_bits - kBitsBelowOfBytes : 0;
  return result >> cut << cut;
}

int32_t Integer(unsigned element, uint32_t bits) {
  const Format& f = kFormats[element];
  return f.is_signed ? static_cast<int32_t>(bits << (32 - f.bits)) >> (32 - f.bits)
                     : static_cast<int32_t>(bits);
}

uint32_t IntegerSum(const Form& form, const uint32_t* a, const uint32_t* b, int count, uint32_t c) {
  int64_t sum = static_cast<int32_t>(c);
  for (int k = 0; k < count; ++k) sum += Integer(form.a, a[k]) * Integer(form.b, b[k]);
  if ((form.bits & PTX2CPU_MATRIX_SATURATES) != 0)
    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  return static_cast<uint32_t>(sum);
}

uint32_t Element(const uint32_t* registers, unsigned element, int row, int k, int rows) {
  const int bits = kFormats[element].bits, in_tile = 128 / bits, bit = k % in_tile * bits;
  const uint32_t word = registers[(k / in_tile * (rows / 8) + row / 8) * 32 + row % 8 * 4 + bit / 32];
  return bits == 32 ? word : word >> bit % 32 & ((1u << bits) - 1);
}

// The column of the whole matrix A that element `at` of the half is in; ir/interpret/matrix.cpp explains it.
int Column(const Form& form, const uint32_t* metadata, int row, int at) {
  const int bits = kFormats[form.a].bits, chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4, kept = chunk / 2;
  const int bit = at / kept * 4, lane = row % 8 * 4, half = row / 8,
            selector = static_cast<int>(form.selector);
  const int holders = form.depth / chunk * 4 / 16;
  const uint32_t nibble = bits >= 16
                              ? metadata[lane + selector * holders + bit / 16] >> (half * 16 + bit % 16)
                              : metadata[lane + selector * 2 + bit / 32 * 2 + half] >> bit % 32;
  if (bits == 32) return at * 2 + static_cast<int>(nibble >> 1 & 1);
  if (bits == 4) return at / kept * chunk + static_cast<int>(nibble >> at % kept / 2 * 2 & 3) * 2 + at % 2;
  return at / kept * chunk + static_cast<int>(nibble >> at % kept * 2 & 3);
}

}  // namespace

extern "C" void ptx2cpu_matrix_general(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                                       const uint32_t* metadata, uint32_t bits) {
  const Form form{bits >> PTX2CPU_MATRIX_A_SHIFT & 15,
                  bits >> PTX2CPU_MATRIX_B_SHIFT & 15,
                  bits >> PTX2CPU_MATRIX_C_SHIFT & 15,
                  (bits & PTX2CPU_MATRIX_SIXTEEN_ROWS) != 0 ? 16 : 8,
                  1 << (bits >> PTX2CPU_MATRIX_DEPTH_SHIFT & 15),
                  (bits & PTX2CPU_MATRIX_SPARSE) != 0,
                  bits >> PTX2CPU_MATRIX_SELECTOR_SHIFT & 3,
                  bits};
  const int count = form.sparse ? form.depth / 2 : form.depth;
  const bool is_half = form.c == PTX2CPU_MATRIX_F16;
  for (int row = 0; row < form.rows; ++row) {
    for (int column = 0; column < 8; ++column) {
      uint32_t factors_a[64], factors_b[64];
      for (int k = 0; k < count; ++k) {
        factors_a[k] = Element(a, form.a, row, k, form.rows);
        factors_b[k] = Element(b, form.b, column, form.sparse ? Column(form, metadata, row, k) : k, 8);
      }
      const int lane = row % 8 * 4 + column / 2;
      const int word = (is_half ? row / 8 : row / 8 * 2 + column % 2) * 32 + lane;
      const int shift = is_half ? column % 2 * 16 : 0;
      const uint32_t mask = is_half ? 0xffffu << shift : ~0u, old = (c[word] & mask) >> shift;
      const uint32_t sum = form.c == PTX2CPU_MATRIX_S32 ? IntegerSum(form, factors_a, factors_b, count, old)
                                                        : FloatSum(form, factors_a, factors_b, count, old);
      d[word] = (d[word] & ~mask) | sum << shift;
    }
  }
}
