// Float arithmetic, comparison and tests. Inputs are decoded to exact numbers, results are rounded once.
#include <utility>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

constexpr uint64_t kPlusZero = 0;

uint64_t One(const Format& format) { return static_cast<uint64_t>(format.bias) << format.fraction_bits; }

// The operand with .ftz applied.
uint64_t FloatOperand(const Step& s, size_t number, Type type) {
  const Format& format = FormatOf(type);
  uint64_t bits = s.Operand64(number);
  return s.Has(kFtz) ? FlushSubnormal(format, bits) : bits;
}

Number NumberOperand(const Step& s, size_t number) {
  return Decode(FormatOf(s.inst.type), FloatOperand(s, number, s.inst.type));
}

Rounding ModeOf(const Step& s) {
  return s.inst.attrs.rounding == Rounding::kNone ? Rounding::kNearestEven : s.inst.attrs.rounding;
}

}  // namespace

uint64_t FinishFloat(const Format& format, uint64_t bits, uint32_t flags) {
  bool negative = (bits & format.sign_bit) != 0;
  if (IsNan(format, bits)) return (flags & kSat) != 0 ? kPlusZero : format.nan;
  if ((flags & kFtz) != 0) bits = FlushSubnormal(format, bits);
  if ((flags & (kSat | kRelu)) != 0 && negative) return kPlusZero;
  if ((flags & kSat) != 0 && bits > One(format)) return One(format);
  return bits;
}

namespace {

Status ReturnNumber(Step& s, const Number& exact) {
  const Format& format = FormatOf(s.inst.type);
  const RoundingRule rule{.mode = ModeOf(s), .flush = s.Has(kFtz)};
  s.Return(FinishFloat(format, Encode(format, exact, rule), s.inst.attrs.flags));
  return {};
}

}  // namespace

uint64_t AddFloats(const Format& format, uint64_t a, uint64_t b, Rounding mode, bool flush) {
  if (flush) {
    a = FlushSubnormal(format, a);
    b = FlushSubnormal(format, b);
  }
  uint64_t sum =
      Encode(format, Add(Decode(format, a), Decode(format, b), mode), {.mode = mode, .flush = flush});
  return FinishFloat(format, sum, flush ? uint32_t{kFtz} : 0);
}

Status ExecuteFAdd(Step& s) {
  return ReturnNumber(s, Add(NumberOperand(s, 0), NumberOperand(s, 1), ModeOf(s)));
}

Status ExecuteFSub(Step& s) {
  return ReturnNumber(s, Add(NumberOperand(s, 0), Negate(NumberOperand(s, 1)), ModeOf(s)));
}

Status ExecuteFMul(Step& s) { return ReturnNumber(s, Multiply(NumberOperand(s, 0), NumberOperand(s, 1))); }

Status ExecuteFFma(Step& s) {
  Number product = Multiply(NumberOperand(s, 0), NumberOperand(s, 1));
  return ReturnNumber(s, Add(product, NumberOperand(s, 2), ModeOf(s)));
}

Status ExecuteFDiv(Step& s) {
  Number a = NumberOperand(s, 0), b = NumberOperand(s, 1);
  if (s.Has(kApprox) && s.inst.type == Type::kF32 && b.is_finite()) {
    // PTX computes a * (1/b); for |b| > 2^126 the reciprocal is subnormal and counts as zero.
    Number limit{.kind = Number::Kind::kFinite, .negative = b.negative, .significand = 1, .exponent = 126};
    int order = CompareNumbers(b, limit);
    if (b.negative ? order < 0 : order > 0) {
      Number zero{.negative = b.negative};
      return ReturnNumber(s, Multiply(a, zero));
    }
  }
  return ReturnNumber(s, Divide(a, b));
}

namespace {

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 see and make only the upper 32 bits of a double.
Status UpperHalfApproximation(Step& s, bool square_root) {
  const Format& format = FormatOf(Type::kF64);
  constexpr uint64_t kUpper = 0xFFFFFFFF00000000, kUpperNan = 0x7FFFFFFF00000000;
  // The lower half is ignored: a NaN with its payload only there counts as an infinity.
  uint64_t bits = FlushSubnormal(format, s.Operand64(0) & kUpper);
  Number input = Decode(format, bits);
  Number root = square_root ? SquareRoot(input) : input;
  uint64_t result = Encode(format, Divide(FromInteger(1, false), root), {.mode = Rounding::kNearestEven});
  if (IsNan(format, result)) {
    s.Return(kUpperNan);
    return {};
  }
  if (!IsInfinite(format, result))
    result += 0x80000000;  // nearest in the upper half; a tie is within the tolerance
  s.Return(FlushSubnormal(format, result & kUpper));
  return {};
}

}  // namespace

Status ExecuteFRcp(Step& s) {
  if (s.Has(kApprox) && s.inst.type == Type::kF64) return UpperHalfApproximation(s, false);
  return ReturnNumber(s, Divide(FromInteger(1, false), NumberOperand(s, 0)));
}

Status ExecuteFSqrt(Step& s) { return ReturnNumber(s, SquareRoot(NumberOperand(s, 0))); }

Status ExecuteFRsqrt(Step& s) {
  if (s.Has(kFtz) && s.inst.type == Type::kF64) return UpperHalfApproximation(s, true);
  // The root keeps 63 bits, which is far more than any destination: rounding twice stays within the
  // tolerance.
  Number root = SquareRoot(NumberOperand(s, 0));
  root.sticky = false;
  return ReturnNumber(s, Divide(FromInteger(1, false), root));
}

Bits128 MinMax(const Format& format, uint64_t a, uint64_t b, bool maximum, uint32_t flags) {
  bool xor_sign = ((a ^ b) & format.sign_bit) != 0;
  if ((flags & kFtz) != 0) {
    a = FlushSubnormal(format, a);
    b = FlushSubnormal(format, b);
  }
  if ((flags & kAbs) != 0) {
    a &= ~format.sign_bit;
    b &= ~format.sign_bit;
  }
  bool a_nan = IsNan(format, a), b_nan = IsNan(format, b);
  if ((a_nan && b_nan) || ((flags & kPropagateNan) != 0 && (a_nan || b_nan))) return format.nan;
  uint64_t result = b;
  if (b_nan) {
    result = a;
  } else if (!a_nan) {
    int order = CompareNumbers(Decode(format, a), Decode(format, b));
    if (order == 0)
      order = ((a & format.sign_bit) != 0 ? 0 : 1) - ((b & format.sign_bit) != 0 ? 0 : 1);  // -0 < +0
    if (maximum ? order > 0 : order < 0) result = a;
  }
  if ((flags & kXorSign) != 0) result = (result & ~format.sign_bit) | (xor_sign ? format.sign_bit : 0);
  return result;
}

Status ExecuteFMin(Step& s) {
  s.Return(MinMax(FormatOf(s.inst.type), s.Operand64(0), s.Operand64(1), false, s.inst.attrs.flags));
  return {};
}

Status ExecuteFMax(Step& s) {
  s.Return(MinMax(FormatOf(s.inst.type), s.Operand64(0), s.Operand64(1), true, s.inst.attrs.flags));
  return {};
}

Status ExecuteFNeg(Step& s) {
  s.Return(FloatOperand(s, 0, s.inst.type) ^ FormatOf(s.inst.type).sign_bit);
  return {};
}

Status ExecuteFAbs(Step& s) {
  s.Return(FloatOperand(s, 0, s.inst.type) & ~FormatOf(s.inst.type).sign_bit);
  return {};
}

Status ExecuteFCopysign(Step& s) {
  uint64_t sign = FormatOf(s.inst.type).sign_bit;
  s.Return((s.Operand64(0) & sign) | (s.Operand64(1) & ~sign));
  return {};
}

Status ExecuteFcmp(Step& s) {
  const CompareInfo& info = Info(s.inst.attrs.compare);
  if (info.of != CompareInfo::kFloats) return s.Fault("fcmp has no float predicate");
  const Format& format = FormatOf(s.inst.from);
  const Number a = Decode(format, FloatOperand(s, 0, s.inst.from)),
               b = Decode(format, FloatOperand(s, 1, s.inst.from));
  const auto outcome = [&] {
    if (a.is_nan() || b.is_nan()) return CompareInfo::kUnordered;
    const int order = CompareNumbers(a, b);
    return order == 0 ? CompareInfo::kEqual : order < 0 ? CompareInfo::kLess : CompareInfo::kGreater;
  };
  s.Return((info.holds & outcome()) != 0);
  return {};
}

Status ExecuteFTest(Step& s) {
  const Format& format = FormatOf(s.inst.from);
  uint64_t bits = s.Operand64(0);
  bool nan = IsNan(format, bits), infinite = IsInfinite(format, bits), subnormal = IsSubnormal(format, bits);
  auto holds = [&] {
    switch (s.inst.attrs.test) {
      case FloatTest::kFinite:
        return !nan && !infinite;
      case FloatTest::kInfinite:
        return infinite;
      case FloatTest::kNumber:
        return !nan;
      case FloatTest::kNotANumber:
        return nan;
      case FloatTest::kNormal:
        return !nan && !infinite && !subnormal;
      case FloatTest::kSubnormal:
        return subnormal;
    }
    std::unreachable();
  };
  s.Return(holds());
  return {};
}

}  // namespace ptx2cpu::ir::interpret
