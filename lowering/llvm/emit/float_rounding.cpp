#include "lowering/llvm/emit/float_rounding.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/narrow_floats.h"
#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

Value Floats::AsBits(Value value, Type type) {
  if (!value->getType()->isFPOrFPVectorTy()) return value;
  return b.CreateBitCast(value, ShapedLike(value, e.I(static_cast<unsigned>(ir::Bits(type)))));
}
Value Floats::FromBits(Value bits, Type type) {
  return b.CreateBitCast(bits, ShapedLike(bits, e.m.TypeOf(type)));
}

Value Floats::Constant(Value like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

Value Floats::IsNan(Value value, Type type) {
  if (!IsHalf(type)) return b.CreateFCmpUNO(value, value);
  Value magnitude = b.CreateAnd(value, Literal(value, 0x7FFF));
  return b.CreateICmpUGT(magnitude, Literal(value, LayoutOf(type).infinity));
}

Value Floats::CanonicalNan(Value like, Type type) {
  Value bits = AsBits(like, type);
  return FromBits(Literal(bits, LayoutOf(type).nan), type);
}

// -- widening --

// LLVM makes operations on 16-bit floats of those on widened ones (comparisons, roundings to integers), and
// takes vectors of them apart where the machine has no instructions for them.
Value Floats::OwnF32(Value widened) {
  if (e.m.traits.has_native_half_fma || !llvm::isa<llvm::FPExtInst>(widened) ||
      !widened->getType()->isVectorTy())
    return widened;
  return b.CreateIntrinsic(intrinsic::arithmetic_fence, {widened->getType()}, {widened});
}

Value Floats::F16ToF32(Value bits) {
  if (e.m.traits.has_half_conversion) {
    Value half = b.CreateBitCast(bits, ShapedLike(bits, b.getHalfTy()));
    return OwnF32(b.CreateFPExt(half, ShapedLike(bits, b.getFloatTy())));
  }
  // The exponent moves by a product, also of subnormal numbers; NaN keeps its bits, as by the instruction.
  Value wide = b.CreateZExt(bits, ShapedLike(bits, e.I(32)));
  Value magnitude = b.CreateShl(b.CreateAnd(wide, Literal(wide, 0x7FFF)), Literal(wide, 13));
  Value finite = FromBits(magnitude, Type::kF32);
  finite = AsBits(b.CreateFMul(finite, Constant(finite, 0x1p112)), Type::kF32);
  Value special = b.CreateOr(magnitude, Literal(magnitude, 0x7F800000));
  finite = b.CreateSelect(b.CreateICmpUGE(magnitude, Literal(magnitude, 0x7C00u << 13)), special, finite);
  Value sign = b.CreateShl(b.CreateAnd(wide, Literal(wide, 0x8000)), Literal(wide, 16));
  return FromBits(b.CreateOr(finite, sign), Type::kF32);
}

Value Floats::F32ToF16(Value value) {
  if (e.m.traits.has_half_conversion) {
    Value half = b.CreateFPTrunc(value, ShapedLike(value, b.getHalfTy()));
    return b.CreateBitCast(half, ShapedLike(value, e.I(16)));
  }
  Value code = EncodeNarrow(b, AsBits(value, Type::kF32), ir::FormatOf(Type::kF16), {});
  return b.CreateTrunc(code, ShapedLike(code, e.I(16)));
}

Value Floats::ToF32(Value value, Type type) {
  if (type == Type::kF16) return F16ToF32(value);
  if (type == Type::kBF16) {
    Value wide = b.CreateZExt(value, ShapedLike(value, e.I(32)));
    return FromBits(b.CreateShl(wide, Literal(wide, 16)), Type::kF32);
  }
  return value;
}

Value Floats::ToF64(Value value, Type type) {
  if (type == Type::kF64) return value;
  value = ToF32(value, type);
  return b.CreateFPExt(value, ShapedLike(value, b.getDoubleTy()));
}

// -- rounding --

Value Floats::Step(Value bits, Type type, Value when, bool up) {
  Value negative = b.CreateICmpSLT(bits, Literal(bits, 0));
  Value away = b.CreateAdd(bits, Literal(bits, 1)), nearer = b.CreateSub(bits, Literal(bits, 1));
  return b.CreateSelect(
      when, up ? b.CreateSelect(negative, nearer, away) : b.CreateSelect(negative, away, nearer), bits);
}

Value Floats::Narrow(Value value, Type from, Type to, Rounding mode) {
  if (from == to) return value;
  if (ir::Bits(to) > ir::Bits(from)) return to == Type::kF64 ? ToF64(value, from) : ToF32(value, from);
  if (from == Type::kF64 && to != Type::kF32) {
    value = F64ToF32Odd(value);
    from = Type::kF32;
  }
  if (IsHalf(from)) {  // between the two half formats
    value = ToF32(value, from);
    from = Type::kF32;
  }
  Value nearest;
  if (to == Type::kF32) {
    nearest = b.CreateFPTrunc(value, ShapedLike(value, b.getFloatTy()));
  } else if (to == Type::kF16) {
    nearest = F32ToF16(value);
  } else {
    Value bits = AsBits(value, Type::kF32);
    Value last = b.CreateAnd(b.CreateLShr(bits, Literal(bits, 16)), Literal(bits, 1));
    Value up = b.CreateAdd(b.CreateAdd(bits, Literal(bits, 0x7FFF)), last);
    Value rounded = b.CreateSelect(IsNan(value, Type::kF32), Literal(bits, 0x7FFF0000), up);
    nearest = b.CreateTrunc(b.CreateLShr(rounded, Literal(bits, 16)), ShapedLike(bits, e.I(16)));
  }
  if (mode == Rounding::kNearestEven) return nearest;
  // Directed: one step back where the nearest value lies on the wrong side.
  Value back = from == Type::kF64 ? ToF64(nearest, to) : ToF32(nearest, to);
  Value bits = AsBits(nearest, to);
  Value above = b.CreateFCmpOGT(back, value), below = b.CreateFCmpOLT(back, value);
  if (mode == Rounding::kTowardZero) {
    Value negative = b.CreateICmpSLT(bits, Literal(bits, 0));
    Value wrong = b.CreateSelect(negative, below, above);
    return FromBits(b.CreateSelect(wrong, b.CreateSub(bits, Literal(bits, 1)), bits), to);
  }
  bool down = mode == Rounding::kDown;
  return FromBits(Step(bits, to, down ? above : below, !down), to);
}

// -- arithmetic --

Value Floats::RoundingService(const char* name, const std::vector<Value>& arguments, Rounding mode) {
  return EachLane(e, arguments, [&](const std::vector<Value>& scalars) {
    std::vector<Value> with_mode = scalars;
    with_mode.push_back(b.getInt32(static_cast<uint32_t>(mode)));
    return b.CreateCall(e.m.Service(name), with_mode);
  });
}

// An exact zero sum is -0 when rounding down, unless both are positive.
Value Floats::ZeroSumDown(Value sum, Value x, Value y, Type type) {
  Value either = b.CreateOr(AsBits(x, type), AsBits(y, type));
  Value negative = b.CreateICmpSLT(either, Literal(either, 0));
  Value zero = b.CreateFCmpOEQ(sum, Constant(sum, 0));
  return b.CreateSelect(b.CreateAnd(zero, negative), Constant(sum, -0.0), sum);
}

Value Floats::Add(Value x, Value y, Type type, Rounding mode) {
  if (HasDirected(type, mode)) return InDirection(Directed::kAdd, {x, y}, type, mode);
  bool nearest = mode == Rounding::kNearestEven;
  if (!IsHalf(type) && nearest) return b.CreateFAdd(x, y);
  if (type == Type::kF64) return RoundingService("ptx2cpu_round_add_f64", {x, y}, mode);
  // The sum of two halves is nearly exact in f32: 24 bits are at least 2 * 11 + 2 (Figueroa 1995).
  if (IsHalf(type) && nearest)
    return Narrow(b.CreateFAdd(ToF32(x, type), ToF32(y, type)), Type::kF32, type, mode);
  Value a = ToF64(x, type), c = ToF64(y, type);
  Value sum = SumOdd(a, c);
  if (mode == Rounding::kDown) sum = ZeroSumDown(sum, a, c, Type::kF64);
  return Narrow(sum, Type::kF64, type, mode);
}

Value Floats::Multiply(Value x, Value y, Type type, Rounding mode) {
  if (HasDirected(type, mode)) return InDirection(Directed::kMultiply, {x, y}, type, mode);
  bool nearest = mode == Rounding::kNearestEven;
  if (!IsHalf(type) && nearest) return b.CreateFMul(x, y);
  if (type == Type::kF64) return RoundingService("ptx2cpu_round_mul_f64", {x, y}, mode);
  if (IsHalf(type) && nearest && type == Type::kF16) {
    return Narrow(b.CreateFMul(ToF32(x, type), ToF32(y, type)), Type::kF32, type, mode);
  }
  // The product of two bf16 may be too small for f32.
  if (nearest && type == Type::kBF16 && RoundsEachInstruction(x))
    return Narrow(FmaOddF32(ToF32(x, type), ToF32(y, type), nullptr), Type::kF32, type, mode);
  return Narrow(b.CreateFMul(ToF64(x, type), ToF64(y, type)), Type::kF64, type, mode);  // exact in f64
}

Value Floats::FusedOrCall(Value x, Value y, Value z) {
  return b.CreateIntrinsic(intrinsic::fma, {x->getType()}, {x, y, z});
}

// x * y + z of halves, where the product is one of them or zero: as of any two, their sum needs f32 only.
Value Floats::SumWithUnit(Value x, Value y, Value z, Type type) {
  Value a = ToF32(x, type), c = ToF32(y, type), addend = ToF32(z, type);
  Value sum = e.m.traits.has_fma ? FusedOrCall(a, c, addend) : b.CreateFAdd(b.CreateFMul(a, c), addend);
  return Narrow(sum, Type::kF32, type, Rounding::kNearestEven);
}

Value Floats::Fma(Value x, Value y, Value z, Type type, Rounding mode) {
  if (HasDirected(type, mode)) return InDirection(Directed::kFma, {x, y, z}, type, mode);
  bool nearest = mode == Rounding::kNearestEven;
  if (!IsHalf(type) && nearest) return FusedOrCall(x, y, z);
  if (type == Type::kF64) return RoundingService("ptx2cpu_round_fma_f64", {x, y, z}, mode);
  if (type == Type::kF16 && nearest && e.m.traits.has_native_half_fma) {
    auto half = [&](Value v) { return b.CreateBitCast(v, ShapedLike(v, b.getHalfTy())); };
    return AsBits(FusedOrCall(half(x), half(y), half(z)), type);
  }
  // The product of two f16 is exact in f32; bf16 has the exponents of f32.
  if (nearest && (type == Type::kF16 || RoundsEachInstruction(x)))
    return Narrow(FmaOddF32(ToF32(x, type), ToF32(y, type), ToF32(z, type)), Type::kF32, type, mode);
  Value product = b.CreateFMul(ToF64(x, type), ToF64(y, type)), addend = ToF64(z, type);
  Value sum = SumOdd(product, addend);
  if (mode == Rounding::kDown) sum = ZeroSumDown(sum, product, addend, Type::kF64);
  return Narrow(sum, Type::kF64, type, mode);
}

Value Floats::Divide(Value x, Value y, Type type, Rounding mode) {
  if (HasDirected(type, mode)) return InDirection(Directed::kDivide, {x, y}, type, mode);
  bool nearest = mode == Rounding::kNearestEven;
  if (!IsHalf(type) && nearest) return b.CreateFDiv(x, y);
  if (type == Type::kF64) return RoundingService("ptx2cpu_round_div_f64", {x, y}, mode);
  Value a = ToF64(x, type), d = ToF64(y, type), quotient = b.CreateFDiv(a, d);
  // What is left of the dividend has the sign of the error times that of the divisor; NaN with infinities and
  // zeros.
  Value rest = FusedOrCall(b.CreateFNeg(quotient), d, a);
  Value signed_rest = b.CreateSelect(b.CreateFCmpOLT(d, Constant(d, 0)), b.CreateFNeg(rest), rest);
  return Narrow(Odd(quotient, signed_rest), Type::kF64, type, mode);
}

Value Floats::Sqrt(Value x, Type type, Rounding mode) {
  if (HasDirected(type, mode)) return InDirection(Directed::kSqrt, {x}, type, mode);
  bool nearest = mode == Rounding::kNearestEven;
  if (!IsHalf(type) && nearest) return b.CreateUnaryIntrinsic(intrinsic::sqrt, x);
  if (type == Type::kF64) return RoundingService("ptx2cpu_round_sqrt_f64", {x}, mode);
  Value a = ToF64(x, type), root = b.CreateUnaryIntrinsic(intrinsic::sqrt, a);
  return Narrow(Odd(root, FusedOrCall(b.CreateFNeg(root), root, a)), Type::kF64, type, mode);
}

Value Floats::Negate(Value value, Type type) {
  if (!IsHalf(type)) return b.CreateFNeg(value);
  return b.CreateXor(value, Literal(value, 0x8000));
}

// The greater or less of two numbers, -0 below +0; y where one is NaN. Processors have an instruction for `x
// > y ? x : y`; of equal numbers only zeros differ in bits.
Value Floats::GreaterOrLess(Value x, Value y, Type type, bool maximum) {
  Value best = b.CreateSelect(maximum ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y), x, y);
  Value bits = AsBits(x, type), others = AsBits(y, type);
  Value zero = FromBits(maximum ? b.CreateAnd(bits, others) : b.CreateOr(bits, others), type);
  return b.CreateSelect(b.CreateFCmpOEQ(x, y), zero, best);
}

// The greater or less of x and a number, which is the result where x is NaN: `x > number ? x : number`,
// except for zeros of different signs.
Value Floats::MinMaxOfNumber(Value x, Value number, Type type, bool maximum) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(number);
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  // The select takes the number where both are zeros.
  const bool settled = known != nullptr && (!known->isZero() || known->isNegative() != maximum);
  if (!settled && HasRange(x, type)) return InRange(x, number, type, maximum);
  if (!settled) return GreaterOrLess(x, number, type, maximum);
  return b.CreateSelect(maximum ? b.CreateFCmpOGT(x, number) : b.CreateFCmpOLT(x, number), x, number);
}

// As integers with the magnitude of negatives complemented, 16-bit floats are in order, -0 below +0, and NaN
// beyond the infinity of its sign; here it is made less than all numbers for a maximum, greater for a
// minimum.
Value Floats::MinMaxOfHalves(Value x, Value y, Type type, bool maximum) {
  const uint64_t infinity = LayoutOf(type).infinity, below = ~infinity & 0xFFFF;  // of -infinity
  const auto key = [&](Value v) {
    return b.CreateXor(v, b.CreateAnd(b.CreateAShr(v, Literal(v, 15)), Literal(v, 0x7FFF)));
  };
  const auto is_nan = [&](Value ordered) {
    return maximum ? b.CreateICmpSLT(ordered, Literal(ordered, below))
                   : b.CreateICmpSGT(ordered, Literal(ordered, infinity));
  };
  const auto is_number = [&](Value v) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(v);
    if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    const auto* bits = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
    return bits != nullptr && (bits->getZExtValue() & 0x7FFF) <= infinity;
  };
  const auto ordered = [&](Value v) {
    Value order = key(v);
    if (is_number(v)) return order;
    Value other_nan = maximum ? b.CreateICmpSGT(order, Literal(order, infinity))
                              : b.CreateICmpSLT(order, Literal(order, below));
    return b.CreateSelect(other_nan, Literal(order, maximum ? 0x8000 : 0x7FFF), order);
  };
  Value best = b.CreateBinaryIntrinsic(maximum ? intrinsic::smax : intrinsic::smin, ordered(x), ordered(y));
  if (is_number(x) || is_number(y)) return key(best);
  return b.CreateSelect(is_nan(best), CanonicalNan(x, type), key(best));
}

Value Floats::MinMax(Value x, Value y, Type type, bool maximum, uint32_t flags, NeverNan never_nan) {
  FloatLayout layout = LayoutOf(type);
  Value sign =
      b.CreateAnd(b.CreateXor(AsBits(x, type), AsBits(y, type)), Literal(AsBits(x, type), layout.sign));
  if ((flags & ir::kFtz) != 0) {
    x = Flush(x, type);
    y = Flush(y, type);
  }
  if ((flags & ir::kAbs) != 0) {
    auto magnitude = [&](Value v) {
      return FromBits(b.CreateAnd(AsBits(v, type), Literal(AsBits(v, type), layout.sign - 1)), type);
    };
    x = magnitude(x);
    y = magnitude(y);
  }
  const bool propagates = (flags & ir::kPropagateNan) != 0, keeps_sign = (flags & ir::kXorSign) == 0;
  if (!IsHalf(type) && !propagates && keeps_sign && (never_nan.first || never_nan.second))
    return never_nan.second ? MinMaxOfNumber(x, y, type, maximum) : MinMaxOfNumber(y, x, type, maximum);
  if (!IsHalf(type) && !propagates && keeps_sign && HasRange(x, type))
    return MinMaxInRange(x, y, type, maximum, never_nan);
  if (IsHalf(type) && !propagates && keeps_sign) return MinMaxOfHalves(x, y, type, maximum);
  Value best = IsHalf(type) ? MinMaxOfHalves(x, y, type, maximum) : GreaterOrLess(x, y, type, maximum);
  Value x_nan = IsNan(x, type), y_nan = IsNan(y, type), nan = CanonicalNan(x, type);
  if (!propagates && !IsHalf(type)) best = b.CreateSelect(y_nan, x, best);
  Value no_number = propagates ? b.CreateOr(x_nan, y_nan) : IsNan(best, type);
  if ((flags & ir::kXorSign) != 0) {
    Value bits = b.CreateAnd(AsBits(best, type), Literal(AsBits(best, type), layout.sign - 1));
    best = FromBits(b.CreateOr(bits, sign), type);
  }
  return b.CreateSelect(no_number, nan, best);
}

}  // namespace ptx2cpu::lowering
