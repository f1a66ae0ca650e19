// 1 / sqrt(x) by multiply-adds: a division and a root take turns in one unit, twice as long and more.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

namespace {

using Value = llvm::Value*;
using ir::Type;

struct Line {
  // Half the exponent, negated, and a mantissa that lies on a line: near c / sqrt(x), for a c that the factor
  // of the first step needs no other product with. It and kFactor are where that step's error is least,
  // 2^-10.1.
  uint64_t start;
  // The factor's bits for normal, positive numbers are at most these. Those for zeros, infinity, NaN,
  // negative numbers and all subnormal ones that the line is not near to are greater as unsigned integers:
  // -infinity and NaN too.
  uint64_t max_factor;
};
constexpr Line kOfFloats = {0x5F0B3500, 0x3FA6D725}, kOfDoubles = {0x5FE166A000000000, 0x3FF4DB22D0E56042};
constexpr double kFactor = 0x1.e4184ap+0;

}  // namespace

// Newton's step, then one that adds three terms of the series of (1 - e)^(-1/2). The relative error is below
// 2^-23.4 then; the manual allows 2^-22.9. For f64 another step of Newton's: less than a unit of the last
// place. Scalars have the bits of vectors.
Value Floats::ReciprocalRoot(Value x, Type type) {
  const auto fma = [&](Value a, Value c, Value d) { return FusedOrCall(a, c, d); };
  const auto error_of = [&](Value y) { return fma(b.CreateFNeg(b.CreateFMul(x, y)), y, Constant(x, 1)); };
  const Line& line = type == Type::kF64 ? kOfDoubles : kOfFloats;
  Value bits = AsBits(x, type);
  Value near = FromBits(b.CreateSub(Literal(bits, line.start), b.CreateLShr(bits, 1)), type);
  Value factor = fma(b.CreateFNeg(b.CreateFMul(x, near)), near, Constant(x, kFactor));
  Value first = b.CreateFMul(near, factor), error = error_of(first);
  Value series = fma(error, Constant(x, 0.375), Constant(x, 0.5));
  Value result = fma(b.CreateFMul(first, error), series, first);
  if (type == Type::kF64) result = fma(b.CreateFMul(result, Constant(x, 0.5)), error_of(result), result);

  Value others = b.CreateICmpUGT(AsBits(factor, type), Literal(bits, line.max_factor));
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
