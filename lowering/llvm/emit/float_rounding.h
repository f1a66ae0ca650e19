// Floats with exactly one rounding. Values of IR types f16 and bf16 are i16 here, f32 and f64 LLVM floats.
//
// A result in a narrower type than the arithmetic is rounded twice only if nothing is done about it: so the
// wider result is first "rounded to odd" (inexact results get an odd last bit, Boldo and Melquiond 2008),
// after which any rounding to at least two bits less is right, in every mode.
#pragma once

#include "ir/float_format.h"
#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// Which operands of a minimum or maximum are never NaN, or no NaN that signals; whether the result may be any
// NaN that does not signal in place of the canonical one.
struct NeverNan {
  bool first = false, second = false;
  bool first_quiet = false, second_quiet = false, any_nan = false;
};

struct FloatLayout {
  uint64_t sign, infinity, one, nan;
};
inline FloatLayout LayoutOf(ir::Type type) {
  const ir::FloatFormat& format = ir::FormatOf(type);
  return {format.sign_bit, format.largest + 1, static_cast<uint64_t>(format.bias) << format.fraction_bits,
          format.nan};
}

struct Floats {
  FunctionEmitter& e;
  llvm::IRBuilder<>& b;
  const ir::Position& at;
  explicit Floats(Site& s) : e(s.e), b(s.b), at(s.inst.at) {}

  using Value = llvm::Value*;
  // -- pieces --
  Value AsBits(Value value, ir::Type type);  // integer of the same width
  Value FromBits(Value bits, ir::Type type);
  Value IsNan(Value value, ir::Type type);
  Value CanonicalNan(Value like, ir::Type type);
  Value Constant(Value like, double value);  // f32 or f64, in the shape of like

  // -- .ftz: float_flush.cpp --
  Value Flush(Value value, ir::Type type);  // of an operand or an exact result
  bool IsNeverSubnormal(Value value, ir::Type type);
  // An operand of the instruction, flushed if that has .ftz and the operand may be subnormal.
  Value Operand(Site& s, size_t number, ir::Type type);
  // .ftz .sat .relu on a rounded result. `tiny` is where .ftz makes it zero; null: its bits show that, as it
  // is exact where it is subnormal.
  Value Finish(Value value, ir::Type type, uint32_t flags, Value tiny = nullptr);
  // Where results that are rounded once are flushed; operands are not subnormal.
  Value ProductIsTiny(Value x, Value y, Value z, ir::Type type,
                      ir::Rounding mode);  // x * y + z; z may be null
  Value QuotientIsTiny(Value x, Value y, ir::Type type);
  Value IsTiny(Value wide, ir::Type type, ir::Rounding mode);  // as for Narrow, in f32 or f64

  // -- exact widening --
  Value ToF32(Value value, ir::Type type);  // from f16, bf16, f32
  Value ToF64(Value value, ir::Type type);  // from any

  // -- one rounding --
  // `value` has type `from` and is exact, or rounded to odd with at least two bits more than `to`.
  Value Narrow(Value value, ir::Type from, ir::Type to, ir::Rounding mode);
  Value F64ToF32Odd(Value value);
  Value Odd(Value rounded, Value error);  // f64: nearest result and the sign of what it lacks
  Value SumOdd(Value a, Value b);         // f64
  // f32, x * y + z or, if z is null, x * y; without RoundsEachInstruction only where x * y is exact.
  Value FmaOddF32(Value x, Value y, Value z);
  bool RoundsEachInstruction(Value like) const;
  Value Step(Value bits, ir::Type type, Value when, bool up);  // next value up or down, on bits

  // -- arithmetic in `type` under `mode` --
  Value Add(Value a, Value b, ir::Type type, ir::Rounding mode);
  Value Multiply(Value a, Value b, ir::Type type, ir::Rounding mode);
  Value Fma(Value a, Value b, Value c, ir::Type type, ir::Rounding mode);
  Value SumWithUnit(Value a, Value b, Value c, ir::Type type);  // a or b is 0, 1 or -1
  Value Divide(Value a, Value b, ir::Type type, ir::Rounding mode);
  Value Sqrt(Value a, ir::Type type, ir::Rounding mode);
  Value ReciprocalRoot(Value x, ir::Type type);  // of f32 or f64, approximate: reciprocal_root.cpp
  bool HasPowerOfTwo(Value x) const;             // f32 on vectors: power_of_two.cpp
  Value PowerOfTwo(Value x, bool flushes);       // approximate; makes no subnormal numbers if it flushes
  Value Negate(Value value, ir::Type type);
  Value MinMax(Value a, Value b, ir::Type type, bool maximum, uint32_t flags, NeverNan never_nan = {});

  // -- where instructions name their rounding: directed_rounding.cpp --
  enum class Directed : uint8_t { kAdd, kMultiply, kDivide, kSqrt, kFma };
  bool HasDirected(ir::Type type, ir::Rounding mode) const;
  Value InDirection(Directed operation, const std::vector<Value>& operands, ir::Type type, ir::Rounding mode);
  // fma of f32 whose error f32 shows, see there; null: not one of these.
  Value FmaNearAddend(const Site& s, Value x, Value y, Value z, ir::Rounding mode);

 private:
  Value SignedZero(Value like, ir::Type type);
  Value PartOf(Value value, unsigned first, unsigned lanes);
  Value GreaterOrLess(Value x, Value y, ir::Type type, bool maximum);
  Value MinMaxOfHalves(Value x, Value y, ir::Type type, bool maximum);
  Value MinMaxOfNumber(Value x, Value number, ir::Type type, bool maximum);
  bool HasRange(Value like, ir::Type type) const;
  Value InRange(Value x, Value number, ir::Type type, bool maximum);
  Value QuietRange(Value x, Value y, ir::Type type, bool maximum);
  Value MinMaxInRange(Value x, Value y, ir::Type type, bool maximum, NeverNan never_nan);
  Value RoundingService(const char* name, const std::vector<Value>& arguments, ir::Rounding mode);
  Value ZeroSumDown(Value sum, Value a, Value b, ir::Type type);
  Value OddF32(Value rounded, Value error);
  Value FusedOrCall(Value a, Value b, Value c);  // llvm.fma
  Value F32ToF16(Value value);
  Value F16ToF32(Value bits);
  Value OwnF32(Value widened);
};

inline ir::Rounding ModeOf(const Site& s, ir::Rounding otherwise = ir::Rounding::kNearestEven) {
  return s.inst.attrs.rounding == ir::Rounding::kNone ? otherwise : s.inst.attrs.rounding;
}
inline bool IsHalf(ir::Type type) { return type == ir::Type::kF16 || type == ir::Type::kBF16; }

}  // namespace ptx2cpu::lowering
