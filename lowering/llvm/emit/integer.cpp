// Integer arithmetic, comparison, width changes. Bit operations are in bits.cpp.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

using ir::Compare;
namespace intrinsic = llvm::Intrinsic;

namespace {

llvm::Value* AllOnes(llvm::Value* like) { return llvm::Constant::getAllOnesValue(like->getType()); }
llvm::Constant* Smallest(llvm::Value* like) {
  return llvm::ConstantInt::get(like->getType(),
                                llvm::APInt::getSignedMinValue(like->getType()->getScalarSizeInBits()));
}

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
  // A negative factor was taken for 2^64 more than it is.
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

namespace {

llvm::Value* QuotientOrRest(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* divisor, bool is_signed,
                            bool remainder) {
  if (remainder) return is_signed ? b.CreateSRem(x, divisor) : b.CreateURem(x, divisor);
  return is_signed ? b.CreateSDiv(x, divisor) : b.CreateUDiv(x, divisor);
}

// There is no instruction for vectors. Up to 32 bits f64 is exact enough: a quotient that is not an integer
// lies at least 1 / divisor below the next one, which is more than 2^-32 of it, far above the rounding.
llvm::Value* DivideVectors(Site& s, llvm::Value* x, llvm::Value* divisor, bool is_signed, bool remainder) {
  if (s.Width() > 32) {
    return EachLane(s.e, {x, divisor}, [&](const std::vector<llvm::Value*>& v) {
      return QuotientOrRest(s.b, v[0], v[1], is_signed, remainder);
    });
  }
  llvm::Type* wide = ShapedLike(x, s.b.getDoubleTy());
  auto number = [&](llvm::Value* v) {
    return is_signed ? s.b.CreateSIToFP(v, wide) : s.b.CreateUIToFP(v, wide);
  };
  llvm::Value* ratio = s.b.CreateFDiv(number(x), number(divisor));
  llvm::Value* quotient =
      is_signed ? s.b.CreateFPToSI(ratio, x->getType()) : s.b.CreateFPToUI(ratio, x->getType());
  return remainder ? s.b.CreateSub(x, s.b.CreateMul(quotient, divisor)) : quotient;
}

// By one number for all lanes: the product with its reciprocal, which a loop computes once. A half is added
// to the dividend's magnitude, so that the quotient lies at least half a divisor's part from the next
// integer; the two roundings together are less than 2^-51 of it, which is below 2^-18 of such a part.
llvm::Value* DivideByOneNumber(Site& s, llvm::Value* x, llvm::Value* divisor, bool is_signed,
                               bool remainder) {
  llvm::IRBuilder<>& b = s.b;
  llvm::Value* by_zero = b.CreateICmpEQ(divisor, Literal(divisor, 0));
  llvm::Value* negates = is_signed ? b.CreateICmpEQ(divisor, AllOnes(divisor)) : b.getFalse();
  divisor = b.CreateSelect(b.CreateOr(by_zero, negates), Literal(divisor, 1), divisor);
  auto number = [&](llvm::Value* v) {
    llvm::Type* wide = ShapedLike(v, b.getDoubleTy());
    return is_signed ? b.CreateSIToFP(v, wide) : b.CreateUIToFP(v, wide);
  };
  llvm::Value* reciprocal = b.CreateFDiv(llvm::ConstantFP::get(b.getDoubleTy(), 1), number(divisor));
  llvm::Value *dividend = number(x), *half = llvm::ConstantFP::get(dividend->getType(), 0.5);
  if (is_signed) half = b.CreateBinaryIntrinsic(intrinsic::copysign, half, dividend);
  auto spread = [&](llvm::Value* v) {
    return Broadcast(b, v, llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements());
  };
  llvm::Value* ratio = b.CreateFMul(b.CreateFAdd(dividend, half), spread(reciprocal));
  llvm::Value* quotient =
      is_signed ? b.CreateFPToSI(ratio, x->getType()) : b.CreateFPToUI(ratio, x->getType());
  if (remainder) return b.CreateSub(x, b.CreateMul(quotient, spread(divisor)));
  return b.CreateSelect(negates, b.CreateNeg(quotient), quotient);
}

// Division with a divisor that cannot trap; the cases PTX defines otherwise are selected after it.
Status Divide(Site& s, bool is_signed, bool remainder) {
  if (s.Width() == 128) return s.Unsupported("128-bit operands");
  llvm::Value *a = s.Operand(0), *b = s.Operand(1);
  llvm::Value* by_zero = s.b.CreateICmpEQ(b, Literal(b, 0));
  llvm::Value* replaced = by_zero;
  if (is_signed) {  // min / -1: with the divisor 1 the quotient is min and the remainder 0, as PTX has it
    llvm::Value* overflow = s.b.CreateAnd(s.b.CreateICmpEQ(a, Smallest(a)), s.b.CreateICmpEQ(b, AllOnes(b)));
    replaced = s.b.CreateOr(by_zero, overflow);
  }
  llvm::Value* divisor = s.b.CreateSelect(replaced, Literal(b, 1), b);
  // LLVM turns a constant divisor into a product.
  const bool vectors = a->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(b);
  llvm::Value* one = s.Raw(1);  // where it is the same for all lanes
  const bool by_one_number = vectors && s.Width() <= 32 && !one->getType()->isVectorTy();
  llvm::Value* result = by_one_number ? DivideByOneNumber(s, a, one, is_signed, remainder)
                        : vectors     ? DivideVectors(s, a, divisor, is_signed, remainder)
                                      : QuotientOrRest(s.b, a, divisor, is_signed, remainder);
  result = s.b.CreateSelect(by_zero, AllOnes(a), result);  // the remainder too, as an H200 does
  s.Return(result);
  return {};
}

}  // namespace

Status EmitDivS(Site& s) { return Divide(s, true, false); }
Status EmitDivU(Site& s) { return Divide(s, false, false); }
Status EmitRemS(Site& s) { return Divide(s, true, true); }
Status EmitRemU(Site& s) { return Divide(s, false, true); }

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

Status EmitIcmp(Site& s) {
  using Predicate = llvm::CmpInst::Predicate;
  Predicate predicate;
  switch (s.inst.attrs.compare) {
    case Compare::kEq:
      predicate = Predicate::ICMP_EQ;
      break;
    case Compare::kNe:
      predicate = Predicate::ICMP_NE;
      break;
    case Compare::kSlt:
      predicate = Predicate::ICMP_SLT;
      break;
    case Compare::kSle:
      predicate = Predicate::ICMP_SLE;
      break;
    case Compare::kSgt:
      predicate = Predicate::ICMP_SGT;
      break;
    case Compare::kSge:
      predicate = Predicate::ICMP_SGE;
      break;
    case Compare::kUlt:
      predicate = Predicate::ICMP_ULT;
      break;
    case Compare::kUle:
      predicate = Predicate::ICMP_ULE;
      break;
    case Compare::kUgt:
      predicate = Predicate::ICMP_UGT;
      break;
    case Compare::kUge:
      predicate = Predicate::ICMP_UGE;
      break;
    default:
      return s.Broken("no integer predicate");
  }
  s.Return(s.b.CreateICmp(predicate, s.Operand(0), s.Operand(1)));
  return {};
}

}  // namespace ptx2cpu::lowering
