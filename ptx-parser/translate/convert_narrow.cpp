// 9.7.9.21: conversions with stochastic rounding, and those to and from s2f6 with scales.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::NarrowFormat;
using ir::Opcode;
using ir::Rounding;
using ir::Type;
using ir::ValueId;

// Integers of one width, with constants as the right operand.
class Words {
 public:
  Words(Emitter& e, Type type) : e_(e), type_(type) {}
  ValueId Number(int64_t value) { return e_.Const(type_, static_cast<uint64_t>(value)); }
  ValueId Do(Opcode op, ValueId a, ValueId b) { return e_.b.Binary(op, type_, a, b); }
  ValueId Do(Opcode op, ValueId a, int64_t b) { return Do(op, a, Number(b)); }
  ValueId Left(ValueId a, ValueId by) { return e_.b.Binary(Opcode::kShl, type_, a, by); }
  ValueId Right(ValueId a, ValueId by) { return e_.b.Binary(Opcode::kShrU, type_, a, by); }
  ValueId Right(ValueId a, uint64_t by) { return Right(a, e_.Const(Type::kI32, by)); }

 private:
  Emitter& e_;
  Type type_;
};

struct HalfFormat {
  int mantissa_bits, least_exponent, random_bits;
  int64_t infinity;
};

// Bits that the f32 has and the half has not are cut off, after the random bits have been added to the
// highest of them: a carry rounds away from zero.
ValueId RoundStochastic(Emitter& e, const HalfFormat& format, ValueId value, ValueId random) {
  constexpr int kGuard = 16, kMantissa = 23, kMaxDropped = 40;
  Words w(e, Type::kI32), wide(e, Type::kI64);
  auto widened = [&](ValueId word) { return e.b.Convert(Opcode::kZext, Type::kI64, word); };
  const ValueId bits = e.b.Bitcast(Type::kI32, value), magnitude = w.Do(Opcode::kAnd, bits, 0x7fffffff);
  const ValueId field = w.Right(magnitude, kMantissa), fraction = w.Do(Opcode::kAnd, magnitude, 0x7fffff);
  const ValueId is_subnormal = e.b.Icmp(ir::Compare::kEq, field, w.Number(0));
  const ValueId significand = e.b.Select(is_subnormal, fraction, w.Do(Opcode::kOr, fraction, 0x800000));
  const ValueId exponent = w.Do(Opcode::kSub, w.Do(Opcode::kMaxS, field, 1), 127);
  const ValueId kept_exponent = w.Do(Opcode::kMaxS, exponent, format.least_exponent);
  const ValueId below = w.Do(Opcode::kSub, kept_exponent, exponent);
  const ValueId dropped =
      w.Do(Opcode::kMinS, w.Do(Opcode::kAdd, below, kMantissa - format.mantissa_bits), kMaxDropped);
  const ValueId shift = w.Do(Opcode::kAdd, dropped, kGuard);
  const ValueId carry = wide.Left(widened(random), w.Do(Opcode::kSub, shift, format.random_bits));
  const ValueId exact = wide.Left(widened(significand), w.Number(kGuard));
  const ValueId kept =
      e.b.Convert(Opcode::kTrunc, Type::kI32, wide.Right(wide.Do(Opcode::kAdd, exact, carry), shift));
  const ValueId steps = w.Do(Opcode::kSub, kept_exponent, format.least_exponent);
  const ValueId rounded = w.Do(Opcode::kAdd, w.Left(steps, w.Number(format.mantissa_bits)), kept);
  const ValueId finite =
      w.Do(Opcode::kMinU, rounded, e.Has("satfinite") ? format.infinity - 1 : format.infinity);
  const ValueId sign = w.Do(Opcode::kAnd, w.Right(bits, uint64_t{16}), 0x8000);
  ValueId result = w.Do(Opcode::kOr, finite, sign);
  if (e.Has("relu")) result = e.b.Select(e.b.Icmp(ir::Compare::kNe, sign, w.Number(0)), w.Number(0), result);
  const ValueId is_nan = e.b.Icmp(ir::Compare::kUgt, magnitude, w.Number(0x7f800000));
  return e.b.Convert(Opcode::kTrunc, Type::kI16, e.b.Select(is_nan, w.Number(0x7fff), result));
}

constexpr HalfFormat kHalf{10, -14, 13, 0x7c00}, kBrainHalf{7, -126, 16, 0x7f80};

// The two scales of 8 bits as f32: powers of two, or NaN.
std::vector<ValueId> ScalesOf(Emitter& e, size_t operand) {
  const ir::InstId id = e.b.Make(Opcode::kFromNarrow, Type::kBF16, {e.Read(operand, Type::kI16)},
                                 {.narrow = NarrowFormat::kUE8M0}, Type::kI16, 2);
  return {e.b.Convert(Opcode::kFConvert, Type::kF32, e.b.Result(id, 0)),
          e.b.Convert(Opcode::kFConvert, Type::kF32, e.b.Result(id, 1))};
}

constexpr uint64_t kSixtyFour = 0x42800000, kSixtyFourth = 0x3c800000;  // f32
constexpr ir::Attrs kToNearest{.rounding = Rounding::kNearestEven};

// 8 bits of two's complement in units of 1/64; NaN becomes the largest number.
ValueId ToFixedPoint(Emitter& e, ValueId value) {
  Words w(e, Type::kI32);
  const ValueId units =
      e.b.Binary(Opcode::kFMul, Type::kF32, value, e.Const(Type::kF32, kSixtyFour), kToNearest);
  ValueId number = e.b.Convert(Opcode::kFToS, Type::kI32, units, kToNearest);
  number = w.Do(Opcode::kMinS, w.Do(Opcode::kMaxS, number, e.Has("relu") ? 0 : -128), 127);
  const ValueId is_nan = e.b.Fcmp(ir::Compare::kFnan, value, value);
  return e.b.Convert(Opcode::kTrunc, Type::kI8, e.b.Select(is_nan, w.Number(127), number));
}

void FromFixedPoint(Emitter& e) {
  const std::vector<ValueId> bytes = e.b.Unpack(Type::kI8, e.Read(1, Type::kI16));
  const bool is_scaled = e.Present(2);
  const std::vector<ValueId> scales = is_scaled ? ScalesOf(e, 2) : std::vector<ValueId>{};
  std::vector<ValueId> halves;
  for (size_t n = 0; n < bytes.size(); ++n) {
    ValueId value = e.b.Convert(Opcode::kSToF, Type::kF32, bytes[n], kToNearest);
    value = e.b.Binary(Opcode::kFMul, Type::kF32, value, e.Const(Type::kF32, kSixtyFourth), kToNearest);
    if (is_scaled) value = e.b.Binary(Opcode::kFMul, Type::kF32, value, scales[n], kToNearest);
    halves.push_back(e.b.Convert(Opcode::kFConvert, Type::kBF16, value,
                                 {.flags = FloatFlags(e), .rounding = Rounding::kNearestEven}));
  }
  e.WriteElements(0, halves);
}

}  // namespace

void cvt_stochastic_half(Emitter& e) {
  const bool is_brain = e.dtype() == PtxType::kBF16x2;
  const HalfFormat& format = is_brain ? kBrainHalf : kHalf;
  const ValueId random = e.Read(3, Type::kI32), mask = e.Const(Type::kI32, (1u << format.random_bits) - 1);
  const ValueId high = e.b.Binary(Opcode::kShrU, Type::kI32, random, e.Const(Type::kI32, 16));
  auto rounded = [&](size_t operand, ValueId bits) {
    return RoundStochastic(e, format, e.Read(operand, Type::kF32),
                           e.b.Binary(Opcode::kAnd, Type::kI32, bits, mask));
  };
  const ValueId low = rounded(2, random);
  e.Write(0, e.b.Pack(Type::kI32, {low, rounded(1, high)}));
}

void cvt_stochastic_narrow(Emitter& e) {
  static constexpr std::pair<PtxType, NarrowFormat> kFormats[] = {
      {PtxType::kE4M3x4, NarrowFormat::kE4M3}, {PtxType::kE5M2x4, NarrowFormat::kE5M2},
      {PtxType::kE2M1x4, NarrowFormat::kE2M1}, {PtxType::kE2M3x4, NarrowFormat::kE2M3},
      {PtxType::kE3M2x4, NarrowFormat::kE3M2},
  };
  ir::Attrs attrs{.flags = FloatFlags(e), .rounding = Rounding::kStochastic};
  for (auto [type, format] : kFormats) {
    if (e.dtype() == type) attrs.narrow = format;
  }
  std::vector<ValueId> operands = e.ReadVector(1, Type::kF32);
  operands.push_back(e.Read(2, Type::kI32));
  e.Write(0, e.b.Inst1(Opcode::kToNarrow, WholeType(e.dtype()), std::move(operands), attrs, Type::kF32));
}

void cvt_scaled(Emitter& e) {
  if (e.type() == PtxType::kS2F6x2) return FromFixedPoint(e);
  std::vector<ValueId> values;  // low, high
  size_t next = 1;
  if (e.type() == PtxType::kF32) {
    values = {e.Read(2, Type::kF32), e.Read(1, Type::kF32)};
    next = 3;
  } else {
    for (ValueId half : e.ReadElements(1)) values.push_back(e.b.Convert(Opcode::kFConvert, Type::kF32, half));
    next = 2;
  }
  if (e.Present(next)) {
    const std::vector<ValueId> scales = ScalesOf(e, next);
    for (size_t n = 0; n < values.size(); ++n)
      values[n] = e.b.Binary(Opcode::kFDiv, Type::kF32, values[n], scales[n], kToNearest);
  }
  e.Write(0, e.b.Pack(Type::kI16, {ToFixedPoint(e, values[0]), ToFixedPoint(e, values[1])}));
}

}  // namespace ptx2cpu::ptx::rows
