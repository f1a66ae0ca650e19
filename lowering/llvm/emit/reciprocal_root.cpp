// 1 / sqrt(x) of f32 by multiply-adds: a division and a root take turns in one unit, twice as long.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

namespace {

using Value = llvm::Value*;

// Half the exponent, negated, and a mantissa that lies on a line: near c / sqrt(x), for a c that the factor
// of the first step needs no other product with. Both numbers are where that step's error is least, 2^-10.1.
constexpr uint64_t kLine = 0x5F0B3500;
constexpr double kFactor = 0x1.e4184ap+0;
// The factor's bits for normal, positive numbers are at most these. Those for zeros, infinity, NaN, negative
// numbers and all subnormal ones that the line is not near to are greater as unsigned integers: -infinity and
// NaN too.
constexpr uint64_t kMaxFactorBits = 0x3FA6D725;

}  // namespace

// Newton's step, then one that adds three terms of the series of (1 - e)^(-1/2). The relative error is below
// 2^-23.4; the manual allows 2^-22.9. Scalars have the bits of vectors.
Value Floats::ReciprocalRoot(Value x) {
  const auto fma = [&](Value a, Value c, Value d) { return FusedOrCall(a, c, d); };
  Value bits = AsBits(x, ir::Type::kF32);
  Value near = FromBits(b.CreateSub(Literal(bits, kLine), b.CreateLShr(bits, 1)), ir::Type::kF32);
  Value factor = fma(b.CreateFNeg(b.CreateFMul(x, near)), near, Constant(x, kFactor));
  Value first = b.CreateFMul(near, factor);
  Value error = fma(b.CreateFNeg(b.CreateFMul(x, first)), first, Constant(x, 1));
  Value series = fma(error, Constant(x, 0.375), Constant(x, 0.5));
  Value result = fma(b.CreateFMul(first, error), series, first);

  Value others = b.CreateICmpUGT(AsBits(factor, ir::Type::kF32), Literal(bits, kMaxFactorBits));
  Value any = others->getType()->isVectorTy() ? b.CreateOrReduce(others) : others;
  llvm::BasicBlock *before = b.GetInsertBlock(), *divides = e.body.NewBlock("divides"),
                   *done = e.body.NewBlock("root");
  b.CreateCondBr(any, divides, done, llvm::MDBuilder(e.m.context).createUnlikelyBranchWeights());
  b.SetInsertPoint(divides);
  Value quotient = b.CreateFDiv(Constant(x, 1), b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
  Value mixed = b.CreateSelect(others, quotient, result);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* either = b.CreatePHI(x->getType(), 2);
  either->addIncoming(result, before);
  either->addIncoming(mixed, divides);
  return either;
}

}  // namespace ptx2cpu::lowering
