// Conversions between floats and integers, and to and from the narrow formats.
#include <algorithm>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

Rounding ModeOf(const Step& s, Rounding otherwise) {
  return s.inst.attrs.rounding == Rounding::kNone ? otherwise : s.inst.attrs.rounding;
}

// cvt's .ftz concerns f32 inputs and results only; fround's type may be any float, but PTX allows .ftz for
// f32 alone.
uint64_t FlushedInput(const Step& s, size_t number, Type type) {
  uint64_t bits = s.Operand64(number);
  return s.Has(kFtz) && type == Type::kF32 ? FlushSubnormal(FormatOf(type), bits) : bits;
}

Status ReturnFloat(Step& s, const Number& exact, Rounding mode) {
  const Format& format = FormatOf(s.inst.type);
  uint32_t flags = s.inst.attrs.flags;
  if (s.inst.type != Type::kF32) flags &= ~uint32_t{kFtz};
  uint64_t bits = Encode(format, exact,
                         {.mode = mode, .saturate_finite = s.Has(kSatFinite), .flush = (flags & kFtz) != 0});
  s.Return(FinishFloat(format, bits, flags));
  return {};
}

}  // namespace

Status ExecuteFConvert(Step& s) {
  Rounding mode = ModeOf(s, Rounding::kNearestEven);
  if (mode == Rounding::kStochastic) return s.Fault("fconvert has no operand for the random bits of .rs");
  return ReturnFloat(s, Decode(FormatOf(s.inst.from), FlushedInput(s, 0, s.inst.from)), mode);
}

Status ExecuteFRound(Step& s) {
  Number number = Decode(FormatOf(s.inst.type), FlushedInput(s, 0, s.inst.type));
  if (number.is_finite() && number.exponent < 0) {  // else it is integral already
    Bits128 magnitude = 0;
    RoundToInteger(number, ModeOf(s, Rounding::kNearestEven), &magnitude);
    bool negative = number.negative;
    number = FromInteger(magnitude, negative);
    number.negative = negative;  // -0.3 rounds to -0
  }
  return ReturnFloat(s, number, Rounding::kNearestEven);
}

namespace {

Status ToInteger(Step& s, bool is_signed) {
  int width = s.Width();
  Number number = Decode(FormatOf(s.inst.from), FlushedInput(s, 0, s.inst.from));
  if (number.is_nan()) {
    bool zero = s.inst.from != Type::kF64 && width < 64;
    s.Return(zero ? 0 : Bits128{1} << (width - 1));
    return {};
  }
  Bits128 magnitude = 0;
  bool fits = RoundToInteger(number, ModeOf(s, Rounding::kTowardZero), &magnitude);
  Bits128 largest = is_signed ? MaskOf(width - 1) : MaskOf(width);
  Bits128 largest_negative = is_signed ? Bits128{1} << (width - 1) : 0;
  Bits128 limit = number.negative ? largest_negative : largest;
  if (!fits || magnitude > limit) magnitude = limit;
  s.Return(number.negative ? 0 - magnitude : magnitude);
  return {};
}

}  // namespace

Status ExecuteFToS(Step& s) { return ToInteger(s, true); }
Status ExecuteFToU(Step& s) { return ToInteger(s, false); }

Status ExecuteSToF(Step& s) {
  Signed128 value = AsSigned(s.Operand(0), Bits(s.inst.from));
  Bits128 bits = static_cast<Bits128>(value);
  return ReturnFloat(s, FromInteger(value < 0 ? 0 - bits : bits, value < 0),
                     ModeOf(s, Rounding::kNearestEven));
}

Status ExecuteUToF(Step& s) {
  return ReturnFloat(s, FromInteger(s.Operand(0), false), ModeOf(s, Rounding::kNearestEven));
}

// -- narrow formats --

namespace {

// ue8m0 holds the powers of two 2^-127 .. 2^127 of magnitudes; there is no zero, below the smallest comes the
// smallest.
uint32_t EncodeUE8M0(const Number& number, Rounding mode, bool saturate_finite) {
  if (number.is_nan()) return kUE8M0Nan;
  if (number.is_zero()) return 0;
  uint32_t overflow = saturate_finite ? kUE8M0Largest : kUE8M0Nan;
  if (number.is_infinite()) return overflow;
  int length = BitLength(number.significand);
  int power = number.exponent + length - 1;
  bool exact = number.significand == Bits128{1} << (length - 1);
  if (!exact && mode == Rounding::kUp) ++power;
  int code = std::max(power + kUE8M0Bias, 0);
  return code > static_cast<int>(kUE8M0Largest) ? overflow : static_cast<uint32_t>(code);
}

// cvt.rna.tf32 of a NaN cuts the bits off, and .satfinite steps back by one unit, as if infinity had been
// exceeded. The manual requires a NaN; an H200 does this (also to a signalling NaN, which so becomes infinite
// or finite).
uint32_t CutNan(uint32_t bits, bool saturate_finite) {
  constexpr uint32_t kUnit = 1 << 13;
  return (bits & ~(kUnit - 1)) - (saturate_finite ? kUnit : 0);
}

uint32_t ToNarrowOne(const Step& s, size_t number, const RoundingRule& rule) {
  NarrowFormat narrow = s.inst.attrs.narrow;
  Number value = Decode(FormatOf(s.inst.from), FlushedInput(s, number, s.inst.from));
  if (narrow == NarrowFormat::kTF32 && value.is_nan() && rule.mode == Rounding::kNearestAway) {
    return CutNan(s.Operand32(number), rule.saturate_finite);
  }
  if (narrow == NarrowFormat::kUE8M0) return EncodeUE8M0(value, rule.mode, rule.saturate_finite);
  if (s.Has(kRelu) && value.negative && !value.is_nan()) return 0;
  return static_cast<uint32_t>(Encode(FormatOf(narrow), value, rule));
}

}  // namespace

Status ExecuteToNarrow(Step& s) {
  NarrowFormat narrow = s.inst.attrs.narrow;
  bool stochastic = s.inst.attrs.rounding == Rounding::kStochastic;
  size_t count = s.inst.operands.size() - (stochastic ? 1 : 0);
  Bits128 packed = 0;
  for (size_t i = 0; i < count; ++i) {
    RoundingRule rule{.mode = ModeOf(s, Rounding::kNearestEven), .saturate_finite = s.Has(kSatFinite)};
    if (stochastic) {
      const RandomField field = RandomFieldOf(narrow, i);
      rule = {.mode = Rounding::kStochastic,
              .saturate_finite = true,
              .random = s.Operand32(count) >> field.shift & ((1u << field.count) - 1),
              .random_bits = field.count};
    }
    packed = packed << FieldBits(narrow) | ToNarrowOne(s, i, rule);  // the first operand ends highest
  }
  s.Return(packed);
  return {};
}

Status ExecuteFromNarrow(Step& s) {
  NarrowFormat narrow = s.inst.attrs.narrow;
  Bits128 packed = s.Operand(0);
  const Format& to = FormatOf(s.inst.type);
  for (size_t i = 0; i < s.inst.results.size(); ++i, packed >>= FieldBits(narrow)) {
    uint64_t field = static_cast<uint64_t>(packed & MaskOf(FieldBits(narrow)));
    Number value;
    if (narrow == NarrowFormat::kUE8M0) {
      value = FromInteger(1, false);
      value.exponent = static_cast<int>(field) - kUE8M0Bias;
      if (field == kUE8M0Nan) value = {.kind = Number::Kind::kNan};
    } else {
      const Format& from = FormatOf(narrow);
      value = Decode(from, field & (from.sign_bit * 2 - 1));
    }
    s.Return(FinishFloat(to, Encode(to, value, {}), s.inst.attrs.flags), i);
  }
  return {};
}

}  // namespace ptx2cpu::ir::interpret
