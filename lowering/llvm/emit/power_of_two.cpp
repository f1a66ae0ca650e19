// ex2 by AVX-512: VREDUCE and VRNDSCALE divide the argument, and VSCALEF multiplies by a power of two of any
// size, rounds once and knows infinity and NaN. The bits are those of runtime/math/approximate.cpp, which
// needs five operations more.
//
//   ex2(x)   ->   n = rndscale(x) ; f = reduce(x) ; p = 2^f by its series ; scalef(p, n)
//
// reduce(infinity) is 0. Where results that would be subnormal count as zero, a mask makes them so.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <functional>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

struct PowerRow {
  unsigned lanes;
  intrinsic::ID reduce, scale;
};
constexpr PowerRow kPowers[] = {
    {16, intrinsic::x86_avx512_mask_reduce_ps_512, intrinsic::x86_avx512_mask_scalef_ps_512},
    {8, intrinsic::x86_avx512_mask_reduce_ps_256, intrinsic::x86_avx512_mask_scalef_ps_256},
    {4, intrinsic::x86_avx512_mask_reduce_ps_128, intrinsic::x86_avx512_mask_scalef_ps_128},
};
constexpr uint32_t kToNearestSilently = 0b1000, kCurrentRounding = 4;

// Computes a vector in parts of the instruction's length.
Value InParts(llvm::IRBuilder<>& b, const PowerRow& row, Value vector,
              const std::function<Value(unsigned first, llvm::ArrayRef<Value> mask)>& part) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  llvm::SmallVector<Value, 3> mask{
      llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getFloatTy(), row.lanes)),
      llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8u, row.lanes)))};
  if (row.lanes == 16) mask.push_back(b.getInt32(kCurrentRounding));
  llvm::SmallVector<Value, 4> parts;
  for (unsigned first = 0; first < count; first += row.lanes) parts.push_back(part(first, mask));
  return llvm::concatenateVectors(b, parts);
}

}  // namespace

bool Floats::HasPowerOfTwo(Value x) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return e.m.traits.has_avx512 && vector != nullptr && vector->getElementType()->isFloatTy() &&
         vector->getNumElements() % 4 == 0;
}

Value Floats::PowerOfTwo(Value x, bool flushes) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  const PowerRow& row =
      *std::ranges::find_if(kPowers, [&](const PowerRow& r) { return count % r.lanes == 0; });
  const auto fma = [&](Value y, Value z, Value more) { return FusedOrCall(y, z, more); };
  const auto constant = [&](double value) { return Constant(x, value); };
  // A subtraction is sooner done than VREDUCE where no argument of the series is infinite: -infinity is not
  // used then.
  Value limited = flushes ? b.CreateSelect(b.CreateFCmpOGT(x, constant(128)), constant(128), x) : x;
  Value n = b.CreateUnaryIntrinsic(intrinsic::roundeven, limited);
  Value f = flushes ? b.CreateFSub(limited, n)
                    : InParts(b, row, x, [&](unsigned first, llvm::ArrayRef<Value> mask) {
                        llvm::SmallVector<Value, 5> arguments{PartOf(x, first, row.lanes),
                                                              b.getInt32(kToNearestSilently)};
                        arguments.append(mask.begin(), mask.end());
                        return b.CreateIntrinsic(row.reduce, {}, arguments);
                      });
  Value q = b.CreateFMul(f, f), first = fma(f, constant(0x1.ebfbep-3), constant(0x1.62e43p-1)),
        second = fma(f, constant(0x1.3b2a1cp-7), constant(0x1.c6af6cp-5)),
        third = fma(f, constant(0x1.44404p-13), constant(0x1.5f0896p-10));
  Value power = fma(fma(fma(third, q, second), q, first), f, constant(1));
  Value result = InParts(b, row, x, [&](unsigned part, llvm::ArrayRef<Value> mask) {
    llvm::SmallVector<Value, 5> arguments{PartOf(power, part, row.lanes), PartOf(n, part, row.lanes)};
    arguments.append(mask.begin(), mask.end());
    return b.CreateIntrinsic(row.scale, {}, arguments);
  });
  if (!flushes) return result;
  return b.CreateSelect(b.CreateFCmpOLT(x, constant(-126)), constant(0), result);
}

}  // namespace ptx2cpu::lowering
