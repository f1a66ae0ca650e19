// Integer arithmetic, width changes. Division is in divide.cpp, comparison in compare.cpp, bit operations are
// in bits.cpp.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

namespace intrinsic = llvm::Intrinsic;

namespace {

Status Intrinsic(Site& s, llvm::Intrinsic::ID id) {
  s.Return(s.b.CreateBinaryIntrinsic(id, s.Operand(0), s.Operand(1)));
  return {};
}

}  // namespace

Status EmitAdd(Site& s) {
  if (s.Has(ir::kSat)) return Intrinsic(s, intrinsic::sadd_sat);
  s.Return(s.b.CreateAdd(s.Operand(0), s.Operand(1)));
  return {};
}

Status EmitSub(Site& s) {
  if (s.Has(ir::kSat)) return Intrinsic(s, intrinsic::ssub_sat);
  s.Return(s.b.CreateSub(s.Operand(0), s.Operand(1)));
  return {};
}

Status EmitMul(Site& s) {
  s.Return(s.b.CreateMul(s.Operand(0), s.Operand(1)));
  return {};
}

namespace {
// No machine has vectors of 128-bit integers: the four products of halves, whose sums fit 64 bits.
llvm::Value* HighOf64(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, bool is_signed) {
  auto low = [&](llvm::Value* v) { return b.CreateAnd(v, Literal(v, 0xFFFFFFFF)); };
  auto high = [&](llvm::Value* v) { return b.CreateLShr(v, Literal(v, 32)); };
  llvm::Value* mixed = b.CreateAdd(b.CreateMul(high(x), low(y)), high(b.CreateMul(low(x), low(y))));
  llvm::Value* other = b.CreateAdd(b.CreateMul(low(x), high(y)), low(mixed));
  llvm::Value* result = b.CreateAdd(b.CreateMul(high(x), high(y)), b.CreateAdd(high(mixed), high(other)));
  if (!is_signed) return result;
  // A negative factor was treated as 2^64 more than it is.
  auto where_negative = [&](llvm::Value* v, llvm::Value* chosen) {
    return b.CreateAnd(b.CreateAShr(v, Literal(v, 63)), chosen);
  };
  return b.CreateSub(b.CreateSub(result, where_negative(x, y)), where_negative(y, x));
}

Status HighHalf(Site& s, bool is_signed) {
  unsigned width = s.Width();
  if (width == 128) return s.Unsupported("128-bit operands");
  llvm::Value *a = s.Operand(0), *b = s.Operand(1);
  if (width == 64 && a->getType()->isVectorTy()) return s.Return(HighOf64(s.b, a, b, is_signed)), Status{};
  llvm::Type* wide = ShapedLike(a, s.e.I(2 * width));
  auto extend = [&](llvm::Value* v) { return is_signed ? s.b.CreateSExt(v, wide) : s.b.CreateZExt(v, wide); };
  llvm::Value* product = s.b.CreateMul(extend(a), extend(b));
  s.Return(s.b.CreateTrunc(s.b.CreateLShr(product, Literal(product, width)), a->getType()));
  return {};
}
}  // namespace

Status EmitMulHiS(Site& s) { return HighHalf(s, true); }
Status EmitMulHiU(Site& s) { return HighHalf(s, false); }

Status EmitMinS(Site& s) { return Intrinsic(s, intrinsic::smin); }
Status EmitMinU(Site& s) { return Intrinsic(s, intrinsic::umin); }
Status EmitMaxS(Site& s) { return Intrinsic(s, intrinsic::smax); }
Status EmitMaxU(Site& s) { return Intrinsic(s, intrinsic::umax); }

Status EmitAbs(Site& s) {
  llvm::Value* a = s.Operand(0);
  s.Return(s.b.CreateIntrinsic(intrinsic::abs, {a->getType()}, {a, s.b.getFalse()}));
  return {};
}

Status EmitNeg(Site& s) {
  s.Return(s.b.CreateNeg(s.Operand(0)));
  return {};
}

Status EmitAddCarry(Site& s) {
  llvm::Value *a = s.Operand(0), *sum = s.b.CreateAdd(a, s.Operand(1));
  llvm::Value* total = s.b.CreateAdd(sum, s.b.CreateZExt(s.Operand(2), a->getType()));
  s.Return(total, 0);
  s.Return(s.b.CreateOr(s.b.CreateICmpULT(sum, a), s.b.CreateICmpULT(total, sum)), 1);
  return {};
}

Status EmitSubBorrow(Site& s) {
  llvm::Value *a = s.Operand(0), *b = s.Operand(1), *difference = s.b.CreateSub(a, b);
  llvm::Value* borrow = s.b.CreateZExt(s.Operand(2), a->getType());
  s.Return(s.b.CreateSub(difference, borrow), 0);
  s.Return(s.b.CreateOr(s.b.CreateICmpULT(a, b), s.b.CreateICmpULT(difference, borrow)), 1);
  return {};
}

Status EmitAnd(Site& s) {
  s.Return(s.b.CreateAnd(s.Operand(0), s.Operand(1)));
  return {};
}
Status EmitOr(Site& s) {
  s.Return(s.b.CreateOr(s.Operand(0), s.Operand(1)));
  return {};
}
Status EmitXor(Site& s) {
  s.Return(s.b.CreateXor(s.Operand(0), s.Operand(1)));
  return {};
}
Status EmitNot(Site& s) {
  s.Return(s.b.CreateNot(s.Operand(0)));
  return {};
}

Status EmitSext(Site& s) {
  s.Return(s.b.CreateSExt(s.Operand(0), ShapedLike(s.Operand(0), s.e.I(s.Width()))));
  return {};
}
Status EmitZext(Site& s) {
  s.Return(s.b.CreateZExt(s.Operand(0), ShapedLike(s.Operand(0), s.e.I(s.Width()))));
  return {};
}
Status EmitTrunc(Site& s) {
  s.Return(s.b.CreateTrunc(s.Operand(0), ShapedLike(s.Operand(0), s.e.I(s.Width()))));
  return {};
}

namespace {
Status Clamp(Site& s, bool from_signed) {
  unsigned from = static_cast<unsigned>(ir::Bits(s.inst.from)), to = s.Width();
  if (std::max(from, to) > 64) return s.Unsupported("128-bit operands");
  unsigned width = 2 * std::max(from, to);  // holds every value of both types, signed or not
  llvm::Value* a = s.Operand(0);
  llvm::Type* wide = ShapedLike(a, s.e.I(width));
  llvm::Value* value = from_signed ? s.b.CreateSExt(a, wide) : s.b.CreateZExt(a, wide);
  bool to_unsigned = s.Has(ir::kUnsigned);
  llvm::APInt largest =
      to_unsigned ? llvm::APInt::getLowBitsSet(width, to) : llvm::APInt::getSignedMaxValue(to).sext(width);
  llvm::APInt smallest = to_unsigned ? llvm::APInt(width, 0) : llvm::APInt::getSignedMinValue(to).sext(width);
  value = s.b.CreateBinaryIntrinsic(intrinsic::smin, value, llvm::ConstantInt::get(wide, largest));
  value = s.b.CreateBinaryIntrinsic(intrinsic::smax, value, llvm::ConstantInt::get(wide, smallest));
  s.Return(s.b.CreateTrunc(value, ShapedLike(a, s.e.I(to))));
  return {};
}
}  // namespace

Status EmitSatS(Site& s) { return Clamp(s, true); }
Status EmitSatU(Site& s) { return Clamp(s, false); }

}  // namespace ptx2cpu::lowering
