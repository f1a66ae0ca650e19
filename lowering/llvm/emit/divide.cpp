// Division of integers. No machine divides vectors of integers, so vectors are divided as f64.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

namespace intrinsic = llvm::Intrinsic;

namespace {

llvm::Value* AllOnes(llvm::Value* like) { return llvm::Constant::getAllOnesValue(like->getType()); }
llvm::Constant* Smallest(llvm::Value* like) {
  return llvm::ConstantInt::get(like->getType(),
                                llvm::APInt::getSignedMinValue(like->getType()->getScalarSizeInBits()));
}

llvm::Value* QuotientOrRest(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* divisor, bool is_signed,
                            bool remainder) {
  if (remainder) return is_signed ? b.CreateSRem(x, divisor) : b.CreateURem(x, divisor);
  return is_signed ? b.CreateSDiv(x, divisor) : b.CreateUDiv(x, divisor);
}

// -- 32 bits and less --

// Up to 32 bits f64 is exact enough: a quotient that is not an integer lies at least 1 / divisor below the
// next one, which is more than 2^-32 of it, far above the rounding.
llvm::Value* DivideWords(Site& s, llvm::Value* x, llvm::Value* divisor, bool is_signed, bool remainder) {
  llvm::Type* wide = ShapedLike(x, s.b.getDoubleTy());
  auto number = [&](llvm::Value* v) {
    return is_signed ? s.b.CreateSIToFP(v, wide) : s.b.CreateUIToFP(v, wide);
  };
  llvm::Value* ratio = s.b.CreateFDiv(number(x), number(divisor));
  llvm::Value* quotient =
      is_signed ? s.b.CreateFPToSI(ratio, x->getType()) : s.b.CreateFPToUI(ratio, x->getType());
  return remainder ? s.b.CreateSub(x, s.b.CreateMul(quotient, divisor)) : quotient;
}

// Divides by one number for all lanes: by the product with its reciprocal, which a loop computes once. A half
// is added to the dividend's magnitude, so that the quotient lies at least half a divisor's part from the
// next integer; the two roundings together are less than 2^-51 of it, which is below 2^-18 of such a part.
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

// -- 64 bits --

// A non-negative f64 below 2^64, cut to an integer.
llvm::Value* ToUnsigned(Site& s, llvm::Value* number, llvm::Type* integers) {
  llvm::IRBuilder<>& b = s.b;
  if (s.e.m.traits.has_avx512) return b.CreateFPToUI(number, integers);
  // Both halves lie in the fraction of a sum with 2^52; no machine without AVX-512 converts vectors.
  auto constant = [&](double value) { return llvm::ConstantFP::get(number->getType(), value); };
  auto floor = [&](llvm::Value* v) { return b.CreateUnaryIntrinsic(intrinsic::floor, v); };
  auto fraction = [&](llvm::Value* v) {
    llvm::Value* bits = b.CreateBitCast(b.CreateFAdd(v, constant(0x1p52)), integers);
    return b.CreateAnd(bits, Literal(bits, (uint64_t{1} << 52) - 1));
  };
  llvm::Value* high = floor(b.CreateFMul(number, constant(0x1p-32)));
  llvm::Value* low = floor(b.CreateFSub(number, b.CreateFMul(high, constant(0x1p32))));
  llvm::Value* bits = fraction(high);
  return b.CreateOr(b.CreateShl(bits, Literal(bits, 32)), fraction(low));
}

struct Quotients {
  llvm::Value *quotient, *rest;
};

// The product with a reciprocal that is too small by 2^-50, which the four roundings do not reach: so no
// estimate exceeds the quotient. What the first leaves is less than x * 2^-49 + divisor, what the second
// leaves less than two divisors. `one` is the divisor where it is the same for all lanes: a loop computes its
// reciprocal once.
Quotients DivideUnsigned(Site& s, llvm::Value* x, llvm::Value* divisor, llvm::Value* one) {
  llvm::IRBuilder<>& b = s.b;
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  auto number = [&](llvm::Value* v) { return b.CreateUIToFP(v, ShapedLike(v, b.getDoubleTy())); };
  llvm::Value* by = number(one == nullptr ? divisor : one);
  llvm::Value* reciprocal = b.CreateFDiv(llvm::ConstantFP::get(by->getType(), 1 - 0x1p-50), by);
  if (one != nullptr) reciprocal = Broadcast(b, reciprocal, lanes);
  llvm::Value *quotient = nullptr, *rest = x;
  for (int step = 0; step < 2; ++step) {
    llvm::Value* part = ToUnsigned(s, b.CreateFMul(number(rest), reciprocal), x->getType());
    rest = b.CreateSub(rest, b.CreateMul(part, divisor));
    quotient = quotient == nullptr ? part : b.CreateAdd(quotient, part);
  }
  llvm::Value* one_more = b.CreateICmpUGE(rest, divisor);
  return {b.CreateAdd(quotient, b.CreateZExt(one_more, x->getType())),
          b.CreateSub(rest, b.CreateSelect(one_more, divisor, Literal(x, 0)))};
}

llvm::Value* DivideLongs(Site& s, llvm::Value* x, llvm::Value* divisor, llvm::Value* one, bool is_signed,
                         bool remainder) {
  llvm::IRBuilder<>& b = s.b;
  if (!is_signed) {
    const Quotients found = DivideUnsigned(s, x, divisor, one);
    return remainder ? found.rest : found.quotient;
  }
  auto magnitude = [&](llvm::Value* v) {
    return b.CreateIntrinsic(intrinsic::abs, {v->getType()}, {v, b.getFalse()});
  };
  const Quotients found =
      DivideUnsigned(s, magnitude(x), magnitude(divisor), one == nullptr ? one : magnitude(one));
  llvm::Value* result = remainder ? found.rest : found.quotient;
  llvm::Value* negates = b.CreateICmpSLT(remainder ? x : b.CreateXor(x, divisor), Literal(x, 0));
  return b.CreateSelect(negates, b.CreateNeg(result), result);
}

// -- all --

// A constant divisor is a product for LLVM, up to 32 bits in vectors; a power of two is a shift.
bool LlvmHasNoDivision(llvm::Value* divisor, unsigned width) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(divisor);
  if (constant == nullptr) return false;
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue());
  return width <= 32 || (number != nullptr && number->getValue().isPowerOf2());
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
  llvm::Value* one = s.Raw(1);  // where it is the same for all lanes
  if (one->getType()->isVectorTy()) one = nullptr;
  llvm::Value* result = nullptr;
  if (!a->getType()->isVectorTy() || LlvmHasNoDivision(b, s.Width())) {
    result = QuotientOrRest(s.b, a, divisor, is_signed, remainder);
  } else if (s.Width() > 32) {
    if (one != nullptr) one = s.b.CreateSelect(s.b.CreateICmpEQ(one, Literal(one, 0)), Literal(one, 1), one);
    result = DivideLongs(s, a, divisor, one, is_signed, remainder);
  } else {
    result = one != nullptr ? DivideByOneNumber(s, a, one, is_signed, remainder)
                            : DivideWords(s, a, divisor, is_signed, remainder);
  }
  result = s.b.CreateSelect(by_zero, AllOnes(a), result);  // the remainder too, as an H200 does
  s.Return(result);
  return {};
}

}  // namespace

Status EmitDivS(Site& s) { return Divide(s, true, false); }
Status EmitDivU(Site& s) { return Divide(s, false, false); }
Status EmitRemS(Site& s) { return Divide(s, true, true); }
Status EmitRemU(Site& s) { return Divide(s, false, true); }

}  // namespace ptx2cpu::lowering
