// Conversions between floats, integers and the narrow formats.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "lowering/llvm/emit/float_rounding.h"
#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

// .ftz of conversions speaks of f32 only.
Value Input(Site& s, Floats& floats, size_t number, Type type) {
  return type == Type::kF32 ? floats.Operand(s, number, type) : s.Operand(number);
}
uint32_t OutputFlags(const Site& s, Type type) {
  return type == Type::kF32 ? s.inst.attrs.flags : s.inst.attrs.flags & ~uint32_t{ir::kFtz};
}

uint64_t InfinityOf(Type type) {
  if (type == Type::kF16) return 0x7C00;
  if (type == Type::kBF16) return 0x7F80;
  if (type == Type::kF32) return 0x7F800000;
  return 0x7FF0000000000000;
}

// .satfinite: infinities become the largest finite value.
Value Finite(Site& s, Floats& floats, Value value, Type type) {
  Value bits = floats.AsBits(value, type);
  Value magnitude = s.b.CreateAnd(bits, Literal(bits, (uint64_t{1} << (ir::Bits(type) - 1)) - 1));
  Value infinite = s.b.CreateICmpEQ(magnitude, Literal(bits, InfinityOf(type)));
  return floats.FromBits(s.b.CreateSelect(infinite, s.b.CreateSub(bits, Literal(bits, 1)), bits), type);
}

bool IsDirected(Rounding mode) {
  return mode == Rounding::kTowardZero || mode == Rounding::kDown || mode == Rounding::kUp;
}

}  // namespace

Status EmitFConvert(Site& s) {
  Floats floats(s);
  Rounding mode = ModeOf(s);
  if (mode != Rounding::kNearestEven && !IsDirected(mode)) return s.Unsupported("this rounding");
  Value exact = Input(s, floats, 0, s.inst.from);
  Value result = floats.Narrow(exact, s.inst.from, s.inst.type, mode);
  if (s.Has(ir::kSatFinite)) result = Finite(s, floats, result, s.inst.type);
  const bool is_narrower = s.inst.from == Type::kF64 && s.inst.type == Type::kF32;
  Value tiny = is_narrower && s.Has(ir::kFtz) ? floats.IsTiny(exact, s.inst.type, mode) : nullptr;
  s.Return(floats.Finish(result, s.inst.type, OutputFlags(s, s.inst.type), tiny));
  return {};
}

namespace {
Value ToIntegral(Site& s, Value value, Rounding mode) {
  switch (mode) {
    case Rounding::kTowardZero:
      return s.b.CreateUnaryIntrinsic(intrinsic::trunc, value);
    case Rounding::kDown:
      return s.b.CreateUnaryIntrinsic(intrinsic::floor, value);
    case Rounding::kUp:
      return s.b.CreateUnaryIntrinsic(intrinsic::ceil, value);
    case Rounding::kNearestAway:
      return s.b.CreateUnaryIntrinsic(intrinsic::round, value);
    case Rounding::kNone:
    case Rounding::kNearestEven:
    case Rounding::kStochastic:
      break;
  }
  return s.b.CreateUnaryIntrinsic(intrinsic::roundeven, value);
}
}  // namespace

Status EmitFRound(Site& s) {
  Floats floats(s);
  Type type = s.inst.type, wide = IsHalf(type) ? Type::kF32 : type;
  Value value = floats.ToF32(Input(s, floats, 0, type), type);
  value = floats.Narrow(ToIntegral(s, value, ModeOf(s)), wide, type, Rounding::kNearestEven);
  s.Return(floats.Finish(value, type, OutputFlags(s, type)));
  return {};
}

namespace {

// Lanes of a vector to integers of 32 or 64 bits, out of range to the nearest bound, NaN to 0. LLVM takes
// vectors of its own saturating conversion apart, an element at a time.
Value SaturateLanes(Site& s, Floats& floats, Value value, unsigned width, bool is_signed) {
  llvm::Type* to = ShapedLike(value, s.e.I(width));
  Value above = floats.Constant(value, std::ldexp(1.0, int(width) - (is_signed ? 1 : 0)));
  uint64_t most = ~uint64_t{0} >> (is_signed ? 65 - width : 64 - width);
  // Freeze: what a lane out of range converts to is chosen below.
  Value result = s.b.CreateFreeze(is_signed ? s.b.CreateFPToSI(value, to) : s.b.CreateFPToUI(value, to));
  result = s.b.CreateSelect(s.b.CreateFCmpOGE(value, above), Literal(result, most), result);
  if (!is_signed) {
    return s.b.CreateSelect(s.b.CreateFCmpOGT(value, floats.Constant(value, 0)), result, Literal(result, 0));
  }
  Value below = floats.Constant(value, std::ldexp(-1.0, int(width) - 1));
  result = s.b.CreateSelect(s.b.CreateFCmpOLT(value, below), Literal(result, most + 1), result);
  return s.b.CreateSelect(s.b.CreateFCmpUNO(value, value), Literal(result, 0), result);
}

// The same for 8 and 16 bits, whose bounds lie within those of 32.
Value SaturateNarrowLanes(Site& s, Floats& floats, Value value, unsigned width, bool is_signed) {
  Value wide = SaturateLanes(s, floats, value, 32, true);
  int64_t most = (int64_t{1} << (width - (is_signed ? 1 : 0))) - 1, least = is_signed ? -most - 1 : 0;
  wide = s.b.CreateBinaryIntrinsic(intrinsic::smin, wide, Literal(wide, uint64_t(most)));
  wide = s.b.CreateBinaryIntrinsic(intrinsic::smax, wide, Literal(wide, uint32_t(least)));
  return s.b.CreateTrunc(wide, ShapedLike(value, s.e.I(width)));
}

Value Saturate(Site& s, Floats& floats, Value value, unsigned width, bool is_signed) {
  if (value->getType()->isVectorTy()) {
    return width < 32 ? SaturateNarrowLanes(s, floats, value, width, is_signed)
                      : SaturateLanes(s, floats, value, width, is_signed);
  }
  return s.b.CreateIntrinsic(is_signed ? intrinsic::fptosi_sat : intrinsic::fptoui_sat,
                             {s.e.I(width), value->getType()}, {value});
}

Status ToInteger(Site& s, bool is_signed) {
  Floats floats(s);
  unsigned width = s.Width();
  if (width == 128) return s.Unsupported("128-bit integers");
  Value value = floats.ToF32(Input(s, floats, 0, s.inst.from), s.inst.from);
  Rounding mode = ModeOf(s, Rounding::kTowardZero);
  if (mode != Rounding::kTowardZero) value = ToIntegral(s, value, mode);
  Value result = Saturate(s, floats, value, width, is_signed);
  if (s.inst.from == Type::kF64 || width == 64) {  // the top bit is set for NaN, else 0
    Value nan = s.b.CreateFCmpUNO(value, value);
    result = s.b.CreateSelect(nan, Literal(result, uint64_t{1} << (width - 1)), result);
  }
  s.Return(result);
  return {};
}
}  // namespace

Status EmitFToS(Site& s) { return ToInteger(s, true); }
Status EmitFToU(Site& s) { return ToInteger(s, false); }

namespace {

// A 64-bit integer as f64, rounded to odd: beyond 2^53 the low bits become one sticky bit.
Value OddF64(Site& s, Value value, bool is_signed) {
  constexpr uint64_t kDropped = 11;
  Value high = is_signed ? s.b.CreateAShr(value, Literal(value, kDropped))
                         : s.b.CreateLShr(value, Literal(value, kDropped));
  Value low = s.b.CreateAnd(value, Literal(value, (1u << kDropped) - 1));
  Value sticky = s.b.CreateZExt(s.b.CreateICmpNE(low, Literal(low, 0)), value->getType());
  high = s.b.CreateShl(s.b.CreateOr(high, sticky), Literal(value, kDropped));
  Value small;  // fits 53 bits
  if (is_signed) {
    Value moved = s.b.CreateAdd(value, Literal(value, uint64_t{1} << 53));
    small = s.b.CreateICmpULT(moved, Literal(value, uint64_t{1} << 54));
  } else {
    small = s.b.CreateICmpULT(value, Literal(value, uint64_t{1} << 53));
  }
  Value chosen = s.b.CreateSelect(small, value, high);
  llvm::Type* type = ShapedLike(value, s.b.getDoubleTy());
  return is_signed ? s.b.CreateSIToFP(chosen, type) : s.b.CreateUIToFP(chosen, type);
}

// f64 under a directed mode: the two halves are exact, their sum is rounded once.
Value DirectedF64(Site& s, Floats& floats, Value value, bool is_signed, Rounding mode) {
  Value shift = Literal(value, 32),
        high = is_signed ? s.b.CreateAShr(value, shift) : s.b.CreateLShr(value, shift);
  llvm::Type* type = ShapedLike(value, s.b.getDoubleTy());
  Value upper = is_signed ? s.b.CreateSIToFP(high, type) : s.b.CreateUIToFP(high, type);
  Value lower = s.b.CreateUIToFP(s.b.CreateAnd(value, Literal(value, 0xFFFFFFFF)), type);
  Value sum = floats.Add(s.b.CreateFMul(upper, floats.Constant(upper, 0x1p32)), lower, Type::kF64, mode);
  return s.b.CreateSelect(s.b.CreateICmpEQ(value, Literal(value, 0)), floats.Constant(sum, 0), sum);
}

Status FromInteger(Site& s, bool is_signed) {
  Floats floats(s);
  int from = ir::Bits(s.inst.from);
  if (from == 128) return s.Unsupported("128-bit integers");
  Rounding mode = ModeOf(s);
  if (mode != Rounding::kNearestEven && !IsDirected(mode)) return s.Unsupported("this rounding");
  Type to = s.inst.type;
  Value value = s.Operand(0), result;
  bool nearest = mode == Rounding::kNearestEven;
  auto convert = [&](llvm::Type* scalar) {
    llvm::Type* type = ShapedLike(value, scalar);
    // As machines do it. LLVM would narrow what the number is made of to its bits first, to widen it again.
    if (from < 32) {
      llvm::Type* word = ShapedLike(value, s.b.getInt32Ty());
      return s.b.CreateSIToFP(is_signed ? s.b.CreateSExt(value, word) : s.b.CreateZExt(value, word), type);
    }
    return is_signed ? s.b.CreateSIToFP(value, type) : s.b.CreateUIToFP(value, type);
  };
  if (nearest && !IsHalf(to)) {
    result = convert(s.e.m.TypeOf(to));
  } else if (from < 64) {
    result = floats.Narrow(convert(s.b.getDoubleTy()), Type::kF64, to, mode);
  } else if (to == Type::kF64) {
    result = DirectedF64(s, floats, value, is_signed, mode);
  } else {
    result = floats.Narrow(OddF64(s, value, is_signed), Type::kF64, to, mode);
  }
  s.Return(floats.Finish(result, to, OutputFlags(s, to)));
  return {};
}

}  // namespace

Status EmitSToF(Site& s) { return FromInteger(s, true); }
Status EmitUToF(Site& s) { return FromInteger(s, false); }

}  // namespace ptx2cpu::lowering
