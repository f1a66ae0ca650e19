// 1 / sqrt(x) by multiply-adds: a division and a root take turns in one unit, twice as long and more.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <iterator>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

namespace {

using Value = llvm::Value*;
using ir::Type;

struct Line {
  // Half the exponent, negated, and a mantissa that lies on a line: near c / sqrt(x).
  uint64_t start;
  // The tested bits are at most these for normal, positive numbers. For zeros, infinities, NaN, negative
  // numbers and all subnormal ones that the line does not approximate, they are greater as unsigned integers.
  uint64_t max_tested;
};
// For doubles, c spares a product with the factor of the first step; the line and kFactor minimise that
// step's error, 2^-10.1.
constexpr Line kOfFloats = {0x5F374740, 0x3F06EFAA}, kOfDoubles = {0x5FE166A000000000, 0x3FF4DB22D0E56042};
constexpr double kFactor = 0x1.e4184ap+0;
// ((1 - e)^(-1/2) - 1) / e for |e| <= 0.069, the most that 1 - x * line^2 is
constexpr double kSeries[] = {0x1.19594ap-2, 0x1.4177d6p-2, 0x1.7fff98p-2, 0x1.ffff9p-2};

}  // namespace

// For f32, one step adds four terms of a series, so that few operations depend on another: the relative error
// is below 2^-23.2, and the manual allows 2^-22.9. For f64, a Newton step, one with three terms of the series
// of (1 - e)^(-1/2) and another Newton step: the error is less than a unit of the last place. Scalars have
// the bits of vectors.
Value Floats::ReciprocalRoot(Value x, Type type) {
  const auto fma = [&](Value a, Value c, Value d) { return FusedOrCall(a, c, d); };
  const auto error_of = [&](Value y) { return fma(b.CreateFNeg(b.CreateFMul(x, y)), y, Constant(x, 1)); };
  const Line& line = type == Type::kF64 ? kOfDoubles : kOfFloats;
  Value bits = AsBits(x, type);
  Value near = FromBits(b.CreateSub(Literal(bits, line.start), b.CreateLShr(bits, 1)), type);
  Value tested = nullptr, result = nullptr;
  if (type == Type::kF64) {
    tested = fma(b.CreateFNeg(b.CreateFMul(x, near)), near, Constant(x, kFactor));
    Value first = b.CreateFMul(near, tested), error = error_of(first);
    Value series = fma(error, Constant(x, 0.375), Constant(x, 0.5));
    result = fma(b.CreateFMul(first, error), series, first);
    result = fma(b.CreateFMul(result, Constant(x, 0.5)), error_of(result), result);
  } else {
    Value error = error_of(near);
    tested = Constant(x, kSeries[0]);
    for (size_t n = 1; n < std::size(kSeries); ++n) tested = fma(tested, error, Constant(x, kSeries[n]));
    result = fma(b.CreateFMul(near, error), tested, near);
  }

  Value others = b.CreateICmpUGT(AsBits(tested, type), Literal(bits, line.max_tested));
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
