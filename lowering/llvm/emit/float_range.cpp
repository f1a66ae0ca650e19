// Minimum and maximum by AVX-512: VRANGE orders -0 below +0. Where one operand is a number, a mask keeps it
// where the other operand is NaN. Of two operands, VRANGE returns the other one where one is a quiet NaN, so
// operands that may be signalling are made quiet before.
//
//   max(x, number)   ->   k = x is no NaN ; r = number ; r{k} = vrange(x, number)
//   max(x, y)        ->   r = vrange(vrange(x, x), vrange(y, y)) ; canonical where r is NaN, unless only
//   others
//                         read it
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

struct RangeRow {
  Type type;
  unsigned lanes;
  intrinsic::ID range;
};
constexpr RangeRow kRanges[] = {
    {Type::kF32, 16, intrinsic::x86_avx512_mask_range_ps_512},
    {Type::kF32, 8, intrinsic::x86_avx512_mask_range_ps_256},
    {Type::kF32, 4, intrinsic::x86_avx512_mask_range_ps_128},
    {Type::kF64, 8, intrinsic::x86_avx512_mask_range_pd_512},
    {Type::kF64, 4, intrinsic::x86_avx512_mask_range_pd_256},
    {Type::kF64, 2, intrinsic::x86_avx512_mask_range_pd_128},
};
constexpr uint32_t kRangeMaximum = 0b0101, kRangeMinimum = 0b0100;  // with the sign of what is chosen
constexpr uint32_t kCurrentRounding = 4;

// The longest vectors of which `count` elements are made.
const RangeRow* RangeOf(Type type, unsigned count) {
  const auto row = std::ranges::find_if(
      kRanges, [&](const RangeRow& r) { return r.type == type && count % r.lanes == 0; });
  return row == std::end(kRanges) ? nullptr : row;
}

}  // namespace

bool Floats::HasRange(Value like, Type type) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return e.m.traits.has_avx512 && vector != nullptr && RangeOf(type, vector->getNumElements()) != nullptr;
}

Value Floats::InRange(Value x, Value number, Type type, bool maximum) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  const RangeRow& row = *RangeOf(type, count);
  llvm::SmallVector<Value, 4> parts;
  for (unsigned first = 0; first < count; first += row.lanes) {
    Value part = PartOf(x, first, row.lanes), otherwise = PartOf(number, first, row.lanes);
    Value ordered = b.CreateFCmpORD(part, part);
    llvm::Type* mask = b.getIntNTy(std::max(8u, row.lanes));
    if (row.lanes < 8) {
      llvm::SmallVector<int, 8> from(8);
      for (unsigned i = 0; i < 8; ++i) from[i] = static_cast<int>(std::min(i, row.lanes));
      ordered = b.CreateShuffleVector(ordered, llvm::Constant::getNullValue(ordered->getType()), from);
    }
    llvm::SmallVector<Value, 6> arguments{part, otherwise,
                                          b.getInt32(maximum ? kRangeMaximum : kRangeMinimum), otherwise,
                                          b.CreateBitCast(ordered, mask)};
    if (row.lanes * ir::Bits(type) == 512) arguments.push_back(b.getInt32(kCurrentRounding));
    parts.push_back(b.CreateIntrinsic(row.range, {}, arguments));
  }
  return llvm::concatenateVectors(b, parts);
}

// What of two operands, neither of which signals, the other one is where one is NaN.
Value Floats::QuietRange(Value x, Value y, Type type, bool maximum) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  const RangeRow& row = *RangeOf(type, count);
  llvm::SmallVector<Value, 4> parts;
  for (unsigned first = 0; first < count; first += row.lanes) {
    Value part = PartOf(x, first, row.lanes);
    llvm::SmallVector<Value, 6> arguments{
        part, PartOf(y, first, row.lanes), b.getInt32(maximum ? kRangeMaximum : kRangeMinimum), part,
        llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8u, row.lanes)))};
    if (row.lanes * ir::Bits(type) == 512) arguments.push_back(b.getInt32(kCurrentRounding));
    parts.push_back(b.CreateIntrinsic(row.range, {}, arguments));
  }
  return llvm::concatenateVectors(b, parts);
}

Value Floats::MinMaxInRange(Value x, Value y, Type type, bool maximum, NeverNan never_nan) {
  if (!never_nan.first_quiet) x = QuietRange(x, x, type, maximum);
  if (!never_nan.second_quiet) y = QuietRange(y, y, type, maximum);
  Value best = QuietRange(x, y, type, maximum);
  return never_nan.any_nan ? best : b.CreateSelect(IsNan(best, type), CanonicalNan(best, type), best);
}

}  // namespace ptx2cpu::lowering
