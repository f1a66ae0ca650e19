#include "lowering/llvm/emit/narrow_floats.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <bit>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

using ir::FloatFormat;
using ir::NarrowFormat;
using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

constexpr uint32_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000, kCanonicalNan = 0x7FFFFFFF;
constexpr int kFraction = 23, kBias = 127;  // of f32
constexpr int kMaxShift = 31;               // beyond 24 bits nothing but "not zero" is left

class Encoder {
 public:
  Encoder(llvm::IRBuilder<>& builder, Value bits, const FloatFormat& format, const NarrowRounding& rounding)
      : b(builder), bits_(bits), format_(format), rounding_(rounding) {
    magnitude_ = b.CreateAnd(bits, Number(kMagnitude));
    negative_ = b.CreateICmpSLT(bits, Number(0));
  }

  Value Code() {
    Value code = format_.bias == kBias ? WithTheSameExponents() : WithFewerExponents();
    code = b.CreateSelect(b.CreateICmpUGT(code, Number(format_.largest)), Overflow(), code);
    if (format_.unused_bits != 0) code = b.CreateShl(code, Number(format_.unused_bits));
    const int to_sign = 31 - std::countr_zero(format_.sign_bit);
    code = b.CreateOr(code, b.CreateAnd(b.CreateLShr(bits_, Number(to_sign)), Number(format_.sign_bit)));
    return b.CreateSelect(b.CreateICmpUGT(magnitude_, Number(kInfinity)), Number(format_.nan), code);
  }

 private:
  Value Number(uint64_t n) const { return Literal(bits_, n); }

  // What is cut off lies at the same place in all numbers; a carry goes into the exponent.
  Value WithTheSameExponents() { return Rounded(magnitude_, Number(kFraction - format_.fraction_bits)); }

  // The exponent determines how much is cut off where the result is subnormal.
  Value WithFewerExponents() {
    Value field = b.CreateLShr(magnitude_, Number(kFraction));
    Value implicit =
        b.CreateSelect(b.CreateICmpEQ(field, Number(0)), Number(0), Number(uint64_t{1} << kFraction));
    Value significand = b.CreateOr(b.CreateAnd(bits_, Number((1u << kFraction) - 1)), implicit);
    field = b.CreateBinaryIntrinsic(intrinsic::umax, field, Number(1));
    const int lowest = kBias + 1 - format_.bias;  // the field of the format's smallest normal number
    Value below =
        b.CreateSub(Number(static_cast<uint64_t>(lowest + kFraction - format_.fraction_bits)), field);
    Value shift = b.CreateBinaryIntrinsic(intrinsic::smax, below, Number(kFraction - format_.fraction_bits));
    Value exponent = b.CreateBinaryIntrinsic(
        intrinsic::smax, b.CreateSub(field, Number(static_cast<uint64_t>(lowest))), Number(0));
    return b.CreateAdd(Rounded(significand, shift),
                       b.CreateShl(exponent, Number(static_cast<uint64_t>(format_.fraction_bits))));
  }

  // significand / 2^shift, at least 2^0.
  Value Rounded(Value significand, Value shift) {
    Value cut = b.CreateBinaryIntrinsic(intrinsic::umin, shift, Number(kMaxShift));
    Value kept = b.CreateLShr(significand, cut);
    if (rounding_.mode == Rounding::kTowardZero) return kept;
    Value half = b.CreateShl(Number(1), b.CreateSub(cut, Number(1)));
    if (rounding_.mode == Rounding::kNearestAway) return b.CreateLShr(b.CreateAdd(significand, half), cut);
    if (rounding_.mode == Rounding::kNearestEven) {
      Value odd = b.CreateAnd(kept, Number(1));
      return b.CreateLShr(b.CreateAdd(b.CreateAdd(significand, b.CreateSub(half, Number(1))), odd), cut);
    }
    Value rest = b.CreateSub(significand, b.CreateShl(kept, cut));
    return b.CreateAdd(kept, b.CreateZExt(GoesAway(rest, shift), bits_->getType()));
  }

  Value GoesAway(Value rest, Value shift) {
    if (rounding_.mode != Rounding::kStochastic) {
      Value away = rounding_.mode == Rounding::kDown ? negative_ : b.CreateNot(negative_);
      return b.CreateAnd(away, b.CreateICmpNE(rest, Number(0)));
    }
    CHECK(kFraction - format_.fraction_bits >= static_cast<int>(rounding_.random_bits));
    Value unused = b.CreateSub(shift, Number(rounding_.random_bits));
    unused = b.CreateBinaryIntrinsic(intrinsic::umin, unused, Number(kMaxShift));
    Value sum = b.CreateAdd(b.CreateLShr(rest, unused), rounding_.random);
    return b.CreateICmpUGT(sum, Number((1u << rounding_.random_bits) - 1));
  }

  Value Overflow() {
    const uint64_t largest = format_.largest;
    if (rounding_.saturate_finite || (!format_.has_infinity && !format_.has_nan)) return Number(largest);
    Value beyond = Number(format_.has_infinity ? largest + 1 : format_.nan >> format_.unused_bits);
    Value stays = nullptr;
    if (rounding_.mode == Rounding::kTowardZero) stays = llvm::ConstantInt::getTrue(negative_->getType());
    if (rounding_.mode == Rounding::kUp) stays = negative_;
    if (rounding_.mode == Rounding::kDown) stays = b.CreateNot(negative_);
    if (stays == nullptr) return beyond;
    stays = b.CreateAnd(stays, b.CreateICmpNE(magnitude_, Number(kInfinity)));
    return b.CreateSelect(stays, Number(largest), beyond);
  }

  llvm::IRBuilder<>& b;
  Value bits_, magnitude_, negative_;
  const FloatFormat& format_;
  const NarrowRounding rounding_;
};

// ue8m0 holds the powers of two 2^-127 .. 2^127 of magnitudes; below the smallest comes the smallest.
Value EncodePower(llvm::IRBuilder<>& b, Value bits, const NarrowRounding& rounding) {
  constexpr uint32_t kSmallest = 0x00400000;  // 2^-127, subnormal
  auto number = [&](uint64_t n) { return Literal(bits, n); };
  Value magnitude = b.CreateAnd(bits, number(kMagnitude));
  Value code = b.CreateLShr(magnitude, number(kFraction));
  if (rounding.mode == Rounding::kUp) {
    Value exact = b.CreateAnd(b.CreateICmpNE(code, number(0)),
                              b.CreateICmpEQ(b.CreateAnd(bits, number((1u << kFraction) - 1)), number(0)));
    code = b.CreateSelect(exact, code, b.CreateAdd(code, number(1)));
  }
  Value over = b.CreateICmpUGT(code, number(ir::kUE8M0Largest));
  code = b.CreateSelect(over, number(rounding.saturate_finite ? ir::kUE8M0Largest : ir::kUE8M0Nan), code);
  code = b.CreateSelect(b.CreateICmpULE(magnitude, number(kSmallest)), number(0), code);
  return b.CreateSelect(b.CreateICmpUGT(magnitude, number(kInfinity)), number(ir::kUE8M0Nan), code);
}

Value DecodePower(llvm::IRBuilder<>& b, Value code) {
  Value bits = b.CreateShl(code, Literal(code, kFraction));
  bits = b.CreateSelect(b.CreateICmpEQ(code, Literal(code, 0)), Literal(code, 0x00400000), bits);
  return b.CreateSelect(b.CreateICmpEQ(code, Literal(code, ir::kUE8M0Nan)), Literal(code, kCanonicalNan),
                        bits);
}

// .relu: 0 for what is below 0, but not for NaN. To tf32 away from 0, an H200 cuts bits of NaN off, and
// .satfinite steps back by one unit, as if infinity had been exceeded.
Value Special(Site& s, Value bits, Value code, const NarrowRounding& rounding) {
  auto number = [&](uint64_t n) { return Literal(bits, n); };
  if (s.inst.attrs.narrow == NarrowFormat::kTF32 && rounding.mode == Rounding::kNearestAway) {
    Value cut = s.b.CreateAnd(bits, number(~uint32_t{0x1FFF}));
    if (rounding.saturate_finite) cut = s.b.CreateSub(cut, number(0x2000));
    Value is_nan = s.b.CreateICmpUGT(s.b.CreateAnd(bits, number(kMagnitude)), number(kInfinity));
    code = s.b.CreateSelect(is_nan, cut, code);
  }
  if (!s.Has(ir::kRelu)) return code;
  Value negative = s.b.CreateICmpUGE(bits, number(0x80000000));
  Value below = s.b.CreateAnd(negative, s.b.CreateICmpULE(bits, number(0xFF800000)));
  return s.b.CreateSelect(below, number(0), code);
}

}  // namespace

Value EncodeNarrow(llvm::IRBuilder<>& b, Value f32_bits, const FloatFormat& format,
                   const NarrowRounding& rounding) {
  return Encoder(b, f32_bits, format, rounding).Code();
}

Value DecodeNarrow(llvm::IRBuilder<>& b, Value code, const FloatFormat& format) {
  auto number = [&](uint64_t n) { return Literal(code, n); };
  Value magnitude = b.CreateAnd(code, number(format.sign_bit - 1));
  if (format.unused_bits != 0) magnitude = b.CreateLShr(magnitude, number(format.unused_bits));
  const int moved = kFraction - format.fraction_bits;
  Value bits = b.CreateShl(magnitude, number(static_cast<uint64_t>(moved)));
  if (format.bias != kBias) {
    bits = b.CreateAdd(bits, number(static_cast<uint64_t>(kBias - format.bias) << kFraction));
    // Subnormal numbers are normal ones of f32.
    Value small = b.CreateSIToFP(magnitude, ShapedLike(magnitude, b.getFloatTy()));
    const uint64_t unit = static_cast<uint64_t>(kBias + 1 - format.bias - format.fraction_bits) << kFraction;
    Value units = b.CreateBitCast(number(unit), small->getType());
    small = b.CreateBitCast(b.CreateFMul(small, units), code->getType());
    bits =
        b.CreateSelect(b.CreateICmpULT(magnitude, number(uint64_t{1} << format.fraction_bits)), small, bits);
  }
  const int to_sign = 31 - std::countr_zero(format.sign_bit);
  Value sign = b.CreateAnd(b.CreateShl(code, number(static_cast<uint64_t>(to_sign))), number(0x80000000));
  if (format.has_infinity)
    bits = b.CreateSelect(b.CreateICmpEQ(magnitude, number(format.largest + 1)), number(kInfinity), bits);
  bits = b.CreateOr(bits, sign);
  if (!format.has_nan) return bits;
  Value is_nan = b.CreateICmpUGT(magnitude, number(format.largest + (format.has_infinity ? 1 : 0)));
  return b.CreateSelect(is_nan, number(kCanonicalNan), bits);
}

Status EmitToNarrow(Site& s) {
  Floats floats(s);
  const NarrowFormat narrow = s.inst.attrs.narrow;
  const bool stochastic = s.inst.attrs.rounding == Rounding::kStochastic;
  if (s.inst.from == Type::kF64) return s.Unsupported("f64");
  const size_t count = s.inst.operands.size() - (stochastic ? 1 : 0);
  Value packed = nullptr;
  for (size_t i = 0; i < count; ++i) {
    Value value = s.inst.from == Type::kF32 ? floats.Operand(s, i, Type::kF32) : s.Operand(i);
    Value bits = floats.AsBits(floats.ToF32(value, s.inst.from), Type::kF32);
    NarrowRounding rounding{.mode = ModeOf(s), .saturate_finite = stochastic || s.Has(ir::kSatFinite)};
    if (stochastic) {
      const ir::RandomField field = ir::RandomFieldOf(narrow, i);
      Value random = s.Operand(count);
      random = s.b.CreateLShr(random, Literal(random, static_cast<uint64_t>(field.shift)));
      rounding.random = s.b.CreateAnd(random, Literal(random, (1u << field.count) - 1));
      rounding.random_bits = static_cast<unsigned>(field.count);
    }
    Value code = narrow == NarrowFormat::kUE8M0
                     ? EncodePower(s.b, bits, rounding)
                     : Special(s, bits, EncodeNarrow(s.b, bits, ir::FormatOf(narrow), rounding), rounding);
    if (packed != nullptr)
      packed = s.b.CreateShl(packed, Literal(packed, static_cast<uint64_t>(ir::FieldBits(narrow))));
    packed = packed == nullptr ? code : s.b.CreateOr(packed, code);
  }
  s.Return(s.b.CreateZExtOrTrunc(packed, ShapedLike(packed, s.e.I(s.Width()))));
  return {};
}

Status EmitFromNarrow(Site& s) {
  Floats floats(s);
  const NarrowFormat narrow = s.inst.attrs.narrow;
  const auto bits = static_cast<uint64_t>(ir::FieldBits(narrow));
  Value packed = s.Operand(0);
  packed = s.b.CreateZExtOrTrunc(packed, ShapedLike(packed, s.e.I(32)));
  for (size_t i = 0; i < s.inst.results.size(); ++i) {
    Value code = s.b.CreateLShr(packed, Literal(packed, i * bits));
    if (bits < 32) code = s.b.CreateAnd(code, Literal(code, (1u << bits) - 1));
    Value value =
        floats.FromBits(narrow == NarrowFormat::kUE8M0 ? DecodePower(s.b, code)
                                                       : DecodeNarrow(s.b, code, ir::FormatOf(narrow)),
                        Type::kF32);
    Value result = s.inst.type == Type::kF64
                       ? floats.ToF64(value, Type::kF32)
                       : floats.Narrow(value, Type::kF32, s.inst.type, Rounding::kNearestEven);
    s.Return(floats.Finish(result, s.inst.type, s.inst.attrs.flags), i);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
