// .ftz: which operands and results become zeros of their sign.
//
// A result becomes zero if, rounded to all bits of its type as if exponents had no bound, it is below the
// least normal number (H200: tests/ptx/flush_boundary.ptx; "tininess after rounding", IEEE 754-2019, 7.5). A
// subnormal number has fewer bits, so that the rounded result does not show this where it is the least normal
// number:
//
//   mul.rn.ftz.f32 of 2^-126 and 1 - 2^-24    2^-126 where subnormal numbers are kept, here 0
//
// Sums have no such results: below the least normal number they are exact.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cmath>

#include "analysis/lanes/exponents.h"
#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {
constexpr int kMaxUnwrapped = 4;  // operations that change the sign only

// Whether an f32 is 0 or normal because of how it is computed, with any operands.
bool HasNormalOrigin(Value value, int depth = 0) {
  using namespace llvm::PatternMatch;
  const llvm::APFloat* constant = nullptr;
  const auto at_least = [&](double bound) { return llvm::abs(*constant).convertToDouble() >= bound; };
  Value x = nullptr;
  if (match(value, m_APFloat(constant))) return constant->isZero() || at_least(0x1p-126);
  if (match(value, m_FNeg(m_Value(x))) || match(value, m_FAbs(m_Value(x))))
    return depth < kMaxUnwrapped && HasNormalOrigin(x, depth + 1);
  // A sum less than half the constant is a difference of numbers whose last bits are above 2^-126.
  if (match(value, m_c_FAdd(m_Value(), m_APFloat(constant)))) return at_least(0x1p-102);
  // The same with a product of 48 bits.
  if (match(value, m_Intrinsic<intrinsic::fma>(m_Value(), m_Value(), m_APFloat(constant))))
    return at_least(0x1p-70);
  return match(value, m_Intrinsic<intrinsic::sqrt>()) || match(value, m_SIToFP(m_Value())) ||
         match(value, m_UIToFP(m_Value()));
}
}  // namespace

bool Floats::IsNeverSubnormal(Value value, Type type) { return type == Type::kF32 && HasNormalOrigin(value); }

Value Floats::SignedZero(Value like, Type type) {
  Value bits = AsBits(like, type);
  return FromBits(b.CreateAnd(bits, Literal(bits, LayoutOf(type).sign)), type);
}

Value Floats::Flush(Value value, Type type) {
  if (IsNeverSubnormal(value, type)) return value;
  FloatLayout layout = LayoutOf(type);
  Value bits = AsBits(value, type);
  // One test of a vector with AVX-512, and no comparison without sign elsewhere. Zeros stay what they are.
  Value small = b.CreateICmpEQ(b.CreateAnd(bits, Literal(bits, layout.infinity)), Literal(bits, 0));
  return b.CreateSelect(small, SignedZero(value, type), value);
}

Value Floats::Operand(Site& s, size_t number, Type type) {
  Value value = s.Operand(number);
  if (!s.Has(ir::kFtz)) return value;
  const uint32_t index = s.inst.operands[number].index;
  const bool is_known = type == Type::kF32 && !e.exponents.empty();
  if (is_known && std::max(e.exponents[index], e.units[index]) >= analysis::kLeastNormal) return value;
  return Flush(value, type);
}

Value Floats::Finish(Value value, Type type, uint32_t flags, Value tiny) {
  FloatLayout layout = LayoutOf(type);
  const bool flushes = (flags & ir::kFtz) != 0;
  if (type == Type::kF32 && (flags & ir::kSat) != 0) {
    // Negative numbers, -0 and NaN are not above 0. With the flush, what is not normal is not at least
    // 2^-126.
    const bool shows_flush = flushes && tiny == nullptr && !IsNeverSubnormal(value, type);
    Value above = shows_flush ? b.CreateFCmpOGE(value, Constant(value, 0x1p-126))
                              : b.CreateFCmpOGT(value, Constant(value, 0));
    if (flushes && tiny != nullptr) above = b.CreateAnd(above, b.CreateNot(tiny));
    Value positive = b.CreateSelect(above, value, Constant(value, 0)), one = Constant(value, 1);
    return b.CreateSelect(b.CreateFCmpOLT(positive, one), positive, one);
  }
  if (flushes && tiny == nullptr) value = Flush(value, type);
  if (flushes && tiny != nullptr) value = b.CreateSelect(tiny, SignedZero(value, type), value);
  if ((flags & ir::kSat) != 0) {
    // As signed integers: negative (and -0) below 0, NaN above infinity.
    Value bits = AsBits(value, type);
    Value nan =
        b.CreateICmpUGT(b.CreateAnd(bits, Literal(bits, layout.sign - 1)), Literal(bits, layout.infinity));
    Value clamped = b.CreateBinaryIntrinsic(intrinsic::smin, bits, Literal(bits, layout.one));
    clamped = b.CreateBinaryIntrinsic(intrinsic::smax, clamped, Literal(bits, 0));
    return FromBits(b.CreateSelect(nan, Literal(bits, 0), clamped), type);
  }
  if ((flags & ir::kRelu) != 0) {
    Value bits = AsBits(value, type);
    Value nan =
        b.CreateICmpUGT(b.CreateAnd(bits, Literal(bits, layout.sign - 1)), Literal(bits, layout.infinity));
    Value clamped = b.CreateBinaryIntrinsic(intrinsic::smax, bits, Literal(bits, 0));
    return FromBits(b.CreateSelect(nan, Literal(bits, layout.nan), clamped), type);
  }
  return value;
}

// -- results that are not exact --

namespace {

double LeastNormal(Type type) { return std::ldexp(1.0, 1 - ir::FormatOf(type).bias); }

// In the middle of the exponents of f32 and f64: the least normal number times this has the first exponent of
// which one of the two highest bits is set.
int ScaleOf(Type type) { return (ir::FormatOf(type).bias - 1) / 2; }

}  // namespace

Value Floats::IsTiny(Value wide, Type type, Rounding mode) {
  const double least = LeastNormal(type), unit = std::ldexp(least, -ir::FormatOf(type).fraction_bits - 1);
  Value magnitude = b.CreateUnaryIntrinsic(intrinsic::fabs, wide);
  if (mode == Rounding::kNearestEven)  // half a unit below it is a tie, which is rounded to it
    return b.CreateFCmpOLT(magnitude, Constant(wide, least - unit / 2));
  if (mode == Rounding::kTowardZero) return b.CreateFCmpOLT(magnitude, Constant(wide, least));
  if (mode == Rounding::kDown)
    return b.CreateAnd(b.CreateFCmpOLT(wide, Constant(wide, least)),
                       b.CreateFCmpOGE(wide, Constant(wide, unit - least)));
  return b.CreateAnd(b.CreateFCmpOGT(wide, Constant(wide, -least)),
                     b.CreateFCmpOLE(wide, Constant(wide, least - unit)));
}

// The same operation on scaled operands is rounded to all bits: its exponent shows whether the result is
// tiny. An operand that is infinite when scaled is at least 2^65, and then nothing is tiny except a sum that
// is 0, for its terms are multiples of 2^(65 - 23) or 2^(65 - 126 - 46). Infinities and NaN have all bits of
// the exponent set.
Value Floats::ProductIsTiny(Value x, Value y, Value z, Type type, Rounding mode) {
  const bool nearest = mode == Rounding::kNearestEven;
  if (type == Type::kF16 && nearest) {
    Value a = ToF32(x, type), c = ToF32(y, type);  // whose product is exact
    return IsTiny(z == nullptr ? b.CreateFMul(a, c) : FmaOddF32(a, c, ToF32(z, type)), type, mode);
  }
  const bool has_instruction = HasDirected(type, mode) || (nearest && (z == nullptr || e.m.traits.has_fma));
  if (IsHalf(type) || (type == Type::kF32 && !has_instruction)) {
    Value product = b.CreateFMul(ToF64(x, type), ToF64(y, type));
    return IsTiny(z == nullptr ? product : SumOdd(product, ToF64(z, type)), type, mode);
  }
  if (llvm::isa<llvm::Constant>(y)) std::swap(x, y);  // its scaled value is a constant too
  Value scale = Constant(x, std::ldexp(1.0, ScaleOf(type))), scaled = b.CreateFMul(x, scale);
  Value result =
      z == nullptr ? Multiply(scaled, y, type, mode) : Fma(scaled, y, b.CreateFMul(z, scale), type, mode);
  Value bits = AsBits(result, type);
  const uint64_t highest = LayoutOf(type).sign >> 1, two = highest | highest >> 1;
  return b.CreateICmpEQ(b.CreateAnd(bits, Literal(bits, two)), Literal(bits, 0));
}

// No quotient of numbers of n bits lies between 1 - 2^-n and 1, so that none is rounded to the least normal
// number from below.
Value Floats::QuotientIsTiny(Value x, Value y, Type type) {
  Value dividend = IsHalf(type) ? ToF32(x, type) : x, divisor = IsHalf(type) ? ToF32(y, type) : y;
  Value scaled = b.CreateFMul(dividend, Constant(dividend, 1 / LeastNormal(type)));
  return b.CreateFCmpOLT(b.CreateUnaryIntrinsic(intrinsic::fabs, scaled),
                         b.CreateUnaryIntrinsic(intrinsic::fabs, divisor));
}

}  // namespace ptx2cpu::lowering
