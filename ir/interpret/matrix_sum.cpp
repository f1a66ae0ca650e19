// Sums of products. For f16, bf16 and tf32, as recorded on an H100 (tests/ptx/mma_*.gpu):
//
//   1. Products are exact. The exponent of a product is the sum of those of its factors, that of a subnormal
//      factor is the smallest one: products are not normalised. Products that are zero count for nothing.
//   2. All terms, the accumulator too, are aligned to the largest exponent and cut off (toward zero) 25 bits
//      below it.
//   3. The sum of these is exact. It is rounded toward zero to f32, or to nearest, ties to even, to f16. Zero
//   has
//      no sign. What exceeds the type is infinite.
//
// One instruction sums all its products at once, 16 at most.
//
// For fp8, which wgmma alone multiplies as it is (tests/ptx/wgmma.gpu): the same with 13 bits in step 2, and
// of a sum of f32 the mantissa has 13 bits. It sums 32 products at once.
#include "ir/interpret/matrix_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "ir/interpret/exact.h"
#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

using matrix::Combine;
using matrix::Element;
using matrix::ElementInfo;

namespace {

constexpr int kBitsBelowOfBytes = 13;

// value * 2^unit as bits of the format; the part below its last bit is cut off, or rounded to nearest even.
uint64_t RoundSum(const ElementInfo& format, Signed128 value, int unit, bool to_nearest) {
  if (value == 0) return 0;
  const bool negative = value < 0;
  auto magnitude = static_cast<Bits128>(negative ? -value : value);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  int high = -1;
  for (auto rest = magnitude; rest != 0; rest >>= 1) ++high;
  const int last = std::max(high + unit - format.mantissa_bits, 1 - bias - format.mantissa_bits);
  const int drop = last - unit;
  uint64_t kept = 0;
  if (drop <= 0) {
    kept = static_cast<uint64_t>(magnitude << -drop);
  } else if (drop < 127) {
    kept = static_cast<uint64_t>(magnitude >> drop);
    const auto rest = magnitude & ((static_cast<Bits128>(1) << drop) - 1);
    const auto half = static_cast<Bits128>(1) << (drop - 1);
    if (to_nearest && (rest > half || (rest == half && (kept & 1) != 0))) ++kept;
  }
  if (kept == 0) return 0;
  // A carry out of the mantissa increments the exponent.
  const uint64_t one = uint64_t{1} << format.mantissa_bits, top = (uint64_t{1} << format.exponent_bits) - 1;
  const uint64_t field = static_cast<uint64_t>(last + format.mantissa_bits + bias);
  uint64_t bits = kept < one ? kept : (field << format.mantissa_bits) + (kept - one);
  if (bits >> format.mantissa_bits >= top) bits = top << format.mantissa_bits;
  return bits | (negative ? uint64_t{1} << (format.bits - 1) : 0);
}

struct Special {
  bool nan = false, positive = false, negative = false;
  void Add(Factor::Kind kind, bool is_negative) {
    nan |= kind == Factor::Kind::kNan;
    if (kind == Factor::Kind::kInfinite) (is_negative ? negative : positive) = true;
  }
  std::optional<uint64_t> Result(const ElementInfo& format) const {
    const uint64_t all = (uint64_t{1} << (format.bits - 1)) - 1, one = uint64_t{1} << format.mantissa_bits;
    if (nan || (positive && negative)) return all;
    if (!positive && !negative) return std::nullopt;
    return (all & ~(one - 1)) | (negative ? uint64_t{1} << (format.bits - 1) : 0);
  }
};

}  // namespace

Factor DecodeFactor(Element element, uint64_t bits) {
  const ElementInfo& info = matrix::InfoOf(element);
  Factor n;
  n.mantissa_bits = info.mantissa_bits;
  n.negative = (bits >> (info.bits - 1) & 1) != 0;
  if (element == Element::kTF32) bits >>= 13;
  const uint64_t fraction = bits & ((uint64_t{1} << info.mantissa_bits) - 1);
  const int top = (1 << info.exponent_bits) - 1, field = static_cast<int>(bits >> info.mantissa_bits) & top;
  n.exponent = std::max(field, 1) - top / 2;
  n.significand = field == 0 ? fraction : fraction | uint64_t{1} << info.mantissa_bits;
  const uint64_t ones = (uint64_t{1} << info.mantissa_bits) - 1;
  if (field == top && info.has_infinity)
    n.kind = fraction == 0 ? Factor::Kind::kInfinite : Factor::Kind::kNan;
  else if (field == top && fraction == ones)
    n.kind = Factor::Kind::kNan;
  return n;
}

Factor ProductOf(const Factor& a, const Factor& b) {
  Factor product;
  product.negative = a.negative != b.negative;
  product.kind = std::max(a.kind, b.kind);
  if ((a.is_zero() && b.kind == Factor::Kind::kInfinite) ||
      (b.is_zero() && a.kind == Factor::Kind::kInfinite))
    product.kind = Factor::Kind::kNan;
  product.exponent = a.exponent + b.exponent;
  product.mantissa_bits = a.mantissa_bits + b.mantissa_bits;
  product.significand = a.significand * b.significand;
  return product;
}

uint64_t SumOfTerms(std::span<const Factor> terms, const ElementInfo& format, const SumRule& rule) {
  Special special;
  std::optional<int> largest;
  for (const Factor& term : terms) {
    special.Add(term.kind, term.negative);
    if (!term.is_zero()) largest = largest ? std::max(*largest, term.exponent) : term.exponent;
  }
  if (const std::optional<uint64_t> result = special.Result(format)) return *result;
  if (!largest) return 0;
  const int unit = *largest - rule.bits_below;
  Signed128 sum = 0;
  for (const Factor& term : terms) {
    if (term.is_zero()) continue;  // whatever its exponent
    const int shift = term.exponent - term.mantissa_bits - unit;
    const uint64_t cut = shift >= 0    ? term.significand << shift
                         : shift > -64 ? term.significand >> -shift
                                       : 0;
    sum += term.negative ? -static_cast<Signed128>(cut) : static_cast<Signed128>(cut);
  }
  return RoundSum(format, sum, unit, rule.to_nearest) >> rule.zero_bits << rule.zero_bits;
}

namespace {

uint64_t FloatSum(const matrix::Product& form, std::span<const FactorPair> pairs, uint64_t bits_of_c) {
  const ElementInfo& format = matrix::InfoOf(form.c);
  std::vector<Factor> terms{DecodeFactor(form.c, bits_of_c)};
  for (const FactorPair& pair : pairs)
    terms.push_back(ProductOf(DecodeFactor(form.a, pair.a), DecodeFactor(form.b, pair.b)));
  SumRule rule{.to_nearest = form.c == Element::kF16};
  if (matrix::InfoOf(form.a).bits == 8) {
    rule.bits_below = kBitsBelowOfBytes;
    if (form.c == Element::kF32) rule.zero_bits = format.mantissa_bits - kBitsBelowOfBytes;
  }
  return SumOfTerms(terms, format, rule);
}

// From c on, in the order of k; of bf16 the second of each pair first, as x86-64's instruction for pairs
// does.
uint64_t ChainedSum(const matrix::Product& form, std::span<const FactorPair> pairs, uint64_t c) {
  const Format &f16 = FormatOf(Type::kF16), &f32 = FormatOf(Type::kF32);
  const Rounding mode = Rounding::kNearestEven;
  // The bits of bf16 and tf32 are the upper ones of f32.
  auto number = [&](uint64_t bits) {
    if (form.a == Element::kF16) return Decode(f16, bits);
    return Decode(f32, form.a == Element::kBF16 ? bits << 16 : bits & 0xffffe000);
  };
  if (form.c == Element::kF16) c = Encode(f32, Decode(f16, c), {.mode = mode});
  for (size_t n = 0; n < pairs.size(); ++n) {
    const FactorPair& pair = pairs[form.a == Element::kBF16 ? n ^ 1 : n];
    c = Encode(f32, Add(Multiply(number(pair.a), number(pair.b)), Decode(f32, c), mode), {.mode = mode});
  }
  return form.c == Element::kF16 ? Encode(f16, Decode(f32, c), {.mode = mode}) : c;
}

int64_t IntegerOf(Element element, uint64_t bits) {
  const ElementInfo& info = matrix::InfoOf(element);
  return info.is_signed ? static_cast<int64_t>(AsSigned(bits, info.bits)) : static_cast<int64_t>(bits);
}

uint64_t IntegerSum(const matrix::Product& form, std::span<const FactorPair> pairs, uint64_t c) {
  int64_t sum = static_cast<int32_t>(c);
  for (const FactorPair& pair : pairs) {
    const int64_t a = IntegerOf(form.a, pair.a), b = IntegerOf(form.b, pair.b);
    sum += form.combine == Combine::kProduct ? a * b : form.combine == Combine::kXor ? a ^ b : a & b;
  }
  if (form.saturates) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<uint32_t>(sum);
}

}  // namespace

uint64_t SumOfProducts(const matrix::Product& form, std::span<const FactorPair> pairs, uint64_t c) {
  if (form.a == Element::kF64) {
    const Format& format = FormatOf(Type::kF64);
    const Rounding mode = Rounding::kNearestEven;
    for (const FactorPair& pair : pairs) {
      const Number product = Multiply(Decode(format, pair.a), Decode(format, pair.b));
      c = Encode(format, Add(product, Decode(format, c), mode), {.mode = mode});
    }
    return c;
  }
  if (form.combine == Combine::kChain) return ChainedSum(form, pairs, c);
  return form.c == Element::kS32 ? IntegerSum(form, pairs, c) : FloatSum(form, pairs, c);
}

}  // namespace ptx2cpu::ir::interpret
