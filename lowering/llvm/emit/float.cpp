// Float arithmetic, tests, approximate functions.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "analysis/lanes/exponents.h"
#include "analysis/lanes/unit_factor.h"
#include "lowering/llvm/emit/float_rounding.h"
#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

// The result is a multiple of a normal number, also before .ftz.
bool IsNormalMultiple(const Site& s) {
  return s.inst.type == Type::kF32 && !s.e.units.empty() &&
         s.e.units[s.inst.results[0].index] >= analysis::kLeastNormal;
}

// The instruction that computes it flushes it (lowering/llvm/kernel/flush_to_zero.h). What the emitter, or
// LLVM, computes of constants is as without flush.
bool IsFlushedByMachine(const Site& s, std::initializer_list<Value> operands) {
  const llvm::DenormalMode mode =
      s.b.GetInsertBlock()->getParent()->getDenormalMode(llvm::APFloat::IEEEsingle());
  return mode.Output == llvm::DenormalMode::PreserveSign && s.inst.type == Type::kF32 &&
         ModeOf(s) == Rounding::kNearestEven &&
         !std::ranges::all_of(operands, [](Value value) { return llvm::isa<llvm::Constant>(value); });
}

Status ReturnFloat(Site& s, Floats& floats, Value value, bool is_normal = false) {
  const uint32_t needless = is_normal || IsNormalMultiple(s) ? uint32_t{ir::kFtz} : 0;
  s.Return(floats.Finish(value, s.inst.type, s.inst.attrs.flags & ~needless));
  return {};
}

// A result that is rounded once from `tiny`'s operands, unless analyses show that it is never flushed. A
// constant shows nothing: it may have been rounded to the least normal number.
Status ReturnRounded(Site& s, Floats& floats, std::initializer_list<Value> operands, Value value,
                     const auto& tiny, bool is_normal = false) {
  const bool may_flush = s.Has(ir::kFtz) && !is_normal && !IsFlushedByMachine(s, operands) &&
                         !IsNormalMultiple(s) &&
                         (llvm::isa<llvm::Constant>(value) || !floats.IsNeverSubnormal(value, s.inst.type));
  if (!may_flush) return ReturnFloat(s, floats, value, true);
  s.Return(floats.Finish(value, s.inst.type, s.inst.attrs.flags, tiny()));
  return {};
}

// Factors of .ftz are not subnormal.
bool IsNormalProduct(const Site& s) {
  if (s.inst.type != Type::kF32 || s.e.exponents.empty()) return false;
  const auto least = [&](size_t n) {
    return std::max(s.e.exponents[s.inst.operands[n].index], analysis::kLeastNormal);
  };
  return analysis::LeastOfProduct(least(0), least(1)) >= analysis::kLeastNormal;
}

bool IsArithmeticMode(Rounding mode) { return mode >= Rounding::kNearestEven && mode <= Rounding::kUp; }

}  // namespace

Status EmitFAdd(Site& s) {
  Floats floats(s);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  Value a = floats.Operand(s, 0, s.inst.type), b = floats.Operand(s, 1, s.inst.type);
  return ReturnFloat(s, floats, floats.Add(a, b, s.inst.type, ModeOf(s)), IsFlushedByMachine(s, {a, b}));
}

Status EmitFSub(Site& s) {
  Floats floats(s);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  Value a = floats.Operand(s, 0, s.inst.type), b = floats.Operand(s, 1, s.inst.type);
  return ReturnFloat(s, floats, floats.Add(a, floats.Negate(b, s.inst.type), s.inst.type, ModeOf(s)),
                     IsFlushedByMachine(s, {a, b}));
}

Status EmitFMul(Site& s) {
  Floats floats(s);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  const Type type = s.inst.type;
  const Rounding mode = ModeOf(s);
  Value x = floats.Operand(s, 0, type), y = floats.Operand(s, 1, type);
  return ReturnRounded(
      s, floats, {x, y}, floats.Multiply(x, y, type, mode),
      [&] { return floats.ProductIsTiny(x, y, nullptr, type, mode); }, IsNormalProduct(s));
}

Status EmitFFma(Site& s) {
  Floats floats(s);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  const Type type = s.inst.type;
  const Rounding mode = ModeOf(s);
  Value x = floats.Operand(s, 0, type), y = floats.Operand(s, 1, type), z = floats.Operand(s, 2, type);
  if (Value near = floats.FmaNearAddend(s, x, y, z, mode)) return ReturnFloat(s, floats, near, true);
  const bool unit = IsHalf(type) && mode == Rounding::kNearestEven &&
                    (analysis::IsUnitFactor(s.e.f, s.inst.operands[0]) ||
                     analysis::IsUnitFactor(s.e.f, s.inst.operands[1]));
  return ReturnRounded(s, floats, {x, y, z},
                       unit ? floats.SumWithUnit(x, y, z, type) : floats.Fma(x, y, z, type, mode),
                       [&] { return floats.ProductIsTiny(x, y, z, type, mode); });
}

Status EmitFDiv(Site& s) {
  Floats floats(s);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  Type type = s.inst.type;
  Value a = floats.Operand(s, 0, type), b = floats.Operand(s, 1, type);
  Value quotient = floats.Divide(a, b, type, ModeOf(s));
  if (s.Has(ir::kApprox) && type == Type::kF32) {
    // PTX computes a * (1/b): for |b| above 2^126 the reciprocal is subnormal and counts as zero.
    Value magnitude = s.b.CreateUnaryIntrinsic(intrinsic::fabs, b);
    Value large = s.b.CreateAnd(s.b.CreateFCmpOGT(magnitude, floats.Constant(b, 0x1p126)),
                                s.b.CreateFCmpONE(magnitude, llvm::ConstantFP::getInfinity(b->getType())));
    Value zero = s.b.CreateBinaryIntrinsic(intrinsic::copysign, floats.Constant(b, 0), b);
    quotient = s.b.CreateSelect(large, s.b.CreateFMul(a, zero), quotient);
  }
  return ReturnRounded(s, floats, {a, b}, quotient, [&] { return floats.QuotientIsTiny(a, b, type); });
}

namespace {

// 1 / sqrt(x). For vectors of f64, and of 512 bits, a root and a quotient take at least twice the time of
// multiply-adds.
Value RootOrQuotient(Site& s, Floats& floats, Value x, Type type) {
  const auto& traits = s.e.m.traits;
  if (type == Type::kF64 ? traits.has_fma : traits.has_avx512) return floats.ReciprocalRoot(x, type);
  return s.b.CreateFDiv(floats.Constant(x, 1), s.b.CreateUnaryIntrinsic(intrinsic::sqrt, x));
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 see and make only the upper 32 bits of a double.
Status UpperHalfApproximation(Site& s, Floats& floats, bool square_root) {
  constexpr uint64_t kUpper = 0xFFFFFFFF00000000, kUpperNan = 0x7FFFFFFF00000000;
  Value bits = floats.AsBits(s.Operand(0), Type::kF64);
  Value input =
      floats.Flush(floats.FromBits(s.b.CreateAnd(bits, Literal(bits, kUpper)), Type::kF64), Type::kF64);
  Value result = square_root ? RootOrQuotient(s, floats, input, Type::kF64)
                             : s.b.CreateFDiv(floats.Constant(input, 1), input);
  Value nan = s.b.CreateFCmpUNO(result, result);  // a payload in the lower half alone is not seen
  Value infinite = s.b.CreateFCmpOEQ(s.b.CreateUnaryIntrinsic(intrinsic::fabs, result),
                                     llvm::ConstantFP::getInfinity(result->getType()));
  Value exact = floats.AsBits(result, Type::kF64);
  Value nearest = s.b.CreateAnd(s.b.CreateAdd(exact, Literal(exact, 0x80000000)), Literal(exact, kUpper));
  nearest = s.b.CreateSelect(infinite, exact, nearest);
  nearest = floats.AsBits(floats.Flush(floats.FromBits(nearest, Type::kF64), Type::kF64), Type::kF64);
  s.Return(floats.FromBits(s.b.CreateSelect(nan, Literal(nearest, kUpperNan), nearest), Type::kF64));
  return {};
}

}  // namespace

Status EmitFRcp(Site& s) {
  Floats floats(s);
  if (s.Has(ir::kApprox) && s.inst.type == Type::kF64) return UpperHalfApproximation(s, floats, false);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  Value a = floats.Operand(s, 0, s.inst.type);
  Value one =
      IsHalf(s.inst.type) ? Literal(a, s.inst.type == Type::kF16 ? 0x3C00 : 0x3F80) : floats.Constant(a, 1);
  return ReturnRounded(s, floats, {one, a}, floats.Divide(one, a, s.inst.type, ModeOf(s)),
                       [&] { return floats.QuotientIsTiny(one, a, s.inst.type); });
}

Status EmitFSqrt(Site& s) {
  Floats floats(s);
  if (!IsArithmeticMode(ModeOf(s))) return s.Unsupported("this rounding");
  return ReturnFloat(s, floats, floats.Sqrt(floats.Operand(s, 0, s.inst.type), s.inst.type, ModeOf(s)));
}

// Rounded twice: 2^-23 relative error at most, the manual allows 2^-22.9.
Status EmitFRsqrt(Site& s) {
  Floats floats(s);
  Type type = s.inst.type;
  if (s.Has(ir::kFtz) && type == Type::kF64) return UpperHalfApproximation(s, floats, true);
  const Type computed = IsHalf(type) ? Type::kF32 : type;
  Value a = floats.Operand(s, 0, type);
  if (IsHalf(type)) a = floats.ToF32(a, type);
  Value result = RootOrQuotient(s, floats, a, computed);
  return ReturnFloat(s, floats, floats.Narrow(result, computed, type, Rounding::kNearestEven));
}

namespace {
Status EmitMinMax(Site& s, bool maximum) {
  const auto never_nan = [&](size_t n) {
    return !s.e.numbers.empty() && s.e.numbers[s.inst.operands[n].index];
  };
  // Results of these are numbers or the canonical NaN, or made so by QuietRange.
  const auto is_quiet = [&](size_t n) {
    const ir::InstId def = s.e.f.at_value(s.inst.operands[n]).def;
    return def.valid() &&
           (s.e.f.at_inst(def).op == ir::Opcode::kFMin || s.e.f.at_inst(def).op == ir::Opcode::kFMax);
  };
  Floats floats(s);
  const ir::Type type = s.inst.type;
  const bool any_nan = !s.e.only_compared.empty() && s.e.only_compared[s.inst.results[0].index];
  s.Return(floats.MinMax(floats.Operand(s, 0, type), floats.Operand(s, 1, type), type, maximum,
                         s.inst.attrs.flags & ~uint32_t{ir::kFtz},
                         {never_nan(0), never_nan(1), is_quiet(0), is_quiet(1), any_nan}));
  return {};
}
}  // namespace

Status EmitFMin(Site& s) { return EmitMinMax(s, false); }
Status EmitFMax(Site& s) { return EmitMinMax(s, true); }

Status EmitFNeg(Site& s) {
  Floats floats(s);
  s.Return(floats.Negate(floats.Operand(s, 0, s.inst.type), s.inst.type));
  return {};
}

Status EmitFAbs(Site& s) {
  Floats floats(s);
  Value a = floats.Operand(s, 0, s.inst.type);
  s.Return(IsHalf(s.inst.type) ? s.b.CreateAnd(a, Literal(a, 0x7FFF))
                               : s.b.CreateUnaryIntrinsic(intrinsic::fabs, a));
  return {};
}

Status EmitFCopysign(Site& s) {
  Floats floats(s);
  Value sign = floats.AsBits(s.Operand(0), s.inst.type), magnitude = floats.AsBits(s.Operand(1), s.inst.type);
  uint64_t sign_bit = uint64_t{1} << (s.Width() - 1);
  Value bits = s.b.CreateOr(s.b.CreateAnd(sign, Literal(sign, sign_bit)),
                            s.b.CreateAnd(magnitude, Literal(sign, sign_bit - 1)));
  s.Return(floats.FromBits(bits, s.inst.type));
  return {};
}

Status EmitFTest(Site& s) {
  Floats floats(s);
  Value bits = floats.AsBits(s.Operand(0), s.inst.from);
  uint64_t sign = uint64_t{1} << (ir::Bits(s.inst.from) - 1);
  uint64_t infinity = s.inst.from == Type::kF64    ? 0x7FF0000000000000
                      : s.inst.from == Type::kF32  ? 0x7F800000
                      : s.inst.from == Type::kBF16 ? 0x7F80
                                                   : 0x7C00;
  uint64_t smallest = s.inst.from == Type::kF64    ? 0x0010000000000000
                      : s.inst.from == Type::kF32  ? 0x00800000
                      : s.inst.from == Type::kBF16 ? 0x0080
                                                   : 0x0400;
  Value magnitude = s.b.CreateAnd(bits, Literal(bits, sign - 1));
  Value inf = Literal(bits, infinity);
  Value zero = s.b.CreateICmpEQ(magnitude, Literal(bits, 0)),
        small = s.b.CreateICmpULT(magnitude, Literal(bits, smallest));
  Value subnormal = s.b.CreateAnd(small, s.b.CreateNot(zero));
  Value finite = s.b.CreateICmpULT(magnitude, inf);
  auto holds = [&] {
    switch (s.inst.attrs.test) {
      case ir::FloatTest::kFinite:
        return finite;
      case ir::FloatTest::kInfinite:
        return s.b.CreateICmpEQ(magnitude, inf);
      case ir::FloatTest::kNumber:
        return s.b.CreateICmpULE(magnitude, inf);
      case ir::FloatTest::kNotANumber:
        return s.b.CreateICmpUGT(magnitude, inf);
      case ir::FloatTest::kNormal:
        return s.b.CreateAnd(finite, s.b.CreateNot(subnormal));
      case ir::FloatTest::kSubnormal:
        return subnormal;
    }
    std::unreachable();
  };
  s.Return(holds());
  return {};
}

// -- approximate functions --

namespace {
Value CallOf(Site& s, const char* function, Value a) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  return s.b.CreateCall(
      vector == nullptr ? s.e.m.Service(function) : s.e.m.WideService(function, vector->getNumElements()),
      {a});
}

// f16 and bf16 through f32: the second rounding is far below the stated errors.
Status Approximate(Site& s, const char* function) {
  Floats floats(s);
  Type type = s.inst.type;
  if (type == Type::kF64) return s.Unsupported("f64");
  Value result = CallOf(s, function, floats.ToF32(floats.Operand(s, 0, type), type));
  return ReturnFloat(s, floats, floats.Narrow(result, Type::kF32, type, Rounding::kNearestEven));
}

// `flushing` is the function with .ftz. It makes no subnormal numbers, which take a hundred cycles.
Status Approximate(Site& s, const char* function, const char* flushing) {
  const bool flushes = s.inst.attrs.flags == ir::kFtz;
  if (flushes && s.inst.type == Type::kBF16) return Approximate(s, flushing);  // f32's exponents
  if (!flushes || s.inst.type != Type::kF32) return Approximate(s, function);
  s.Return(CallOf(s, flushing, s.Operand(0)));
  return {};
}
}  // namespace

Status EmitFSin(Site& s) { return Approximate(s, "ptx2cpu_sin_f32"); }
Status EmitFCos(Site& s) { return Approximate(s, "ptx2cpu_cos_f32"); }
Status EmitFLg2(Site& s) { return Approximate(s, "ptx2cpu_lg2_f32", "ptx2cpu_lg2_ftz_f32"); }
Status EmitFEx2(Site& s) {
  Floats floats(s);
  const uint32_t flags = s.inst.attrs.flags;
  if (s.inst.type == Type::kF32 && (flags & ~uint32_t{ir::kFtz}) == 0 && floats.HasPowerOfTwo(s.Operand(0))) {
    s.Return(floats.PowerOfTwo(s.Operand(0), flags != 0));
    return {};
  }
  return Approximate(s, "ptx2cpu_ex2_f32", "ptx2cpu_ex2_ftz_f32");
}
Status EmitFTanh(Site& s) { return Approximate(s, "ptx2cpu_tanh_f32"); }

}  // namespace ptx2cpu::lowering
