// Rounding to odd: f64 and f32 results whose last bit shows that they are not exact.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

Value Floats::Odd(Value rounded, Value error) {
  Value bits = AsBits(rounded, Type::kF64);
  Value even = b.CreateICmpEQ(b.CreateAnd(bits, Literal(bits, 1)), Literal(bits, 0));
  Value zero = Constant(error, 0);
  bits = Step(bits, Type::kF64, b.CreateAnd(even, b.CreateFCmpOGT(error, zero)), true);
  // A step up made the last bit odd, and then the error is not negative.
  bits = Step(bits, Type::kF64, b.CreateAnd(even, b.CreateFCmpOLT(error, zero)), false);
  return FromBits(bits, Type::kF64);
}

// Knuth's two-sum computes the error exactly; with infinities and NaN it is NaN, and nothing is adjusted.
Value Floats::SumOdd(Value x, Value y) {
  Value sum = b.CreateFAdd(x, y), virtual_y = b.CreateFSub(sum, x);
  Value error = b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, virtual_y)), b.CreateFSub(y, virtual_y));
  return Odd(sum, error);
}

Value Floats::F64ToF32Odd(Value value) {
  Value nearest = b.CreateFPTrunc(value, ShapedLike(value, b.getFloatTy()));
  Value back = b.CreateFPExt(nearest, value->getType());
  Value bits = AsBits(nearest, Type::kF32);
  Value even = b.CreateICmpEQ(b.CreateAnd(bits, Literal(bits, 1)), Literal(bits, 0));
  bits = Step(bits, Type::kF32, b.CreateAnd(even, b.CreateFCmpOGT(value, back)), true);
  bits = Step(bits, Type::kF32, b.CreateAnd(even, b.CreateFCmpOLT(value, back)), false);
  return FromBits(bits, Type::kF32);
}

// In fewer operations than Odd: the magnitude grows where the error has the value's sign.
Value Floats::OddF32(Value rounded, Value error) {
  Value bits = AsBits(rounded, Type::kF32);
  Value shrinks = b.CreateAShr(b.CreateXor(bits, AsBits(error, Type::kF32)), Literal(bits, 31));
  Value even = b.CreateICmpEQ(b.CreateAnd(bits, Literal(bits, 1)), Literal(bits, 0));
  Value adjusts = b.CreateAnd(even, b.CreateFCmpONE(error, Constant(error, 0)));
  Value step = b.CreateSelect(adjusts, b.CreateOr(shrinks, Literal(bits, 1)), Literal(bits, 0));
  return FromBits(b.CreateAdd(bits, step), Type::kF32);
}

namespace {

// Operands of AVX-512's own instructions.
constexpr unsigned kRegisterLanes = 16;
constexpr uint32_t kDown = 9, kUp = 10;  // the rounding of the instruction; it raises no exception

Value RegisterAt(llvm::IRBuilder<>& b, Value vector, unsigned first) {
  const unsigned width = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  llvm::SmallVector<int, kRegisterLanes> lanes;
  for (unsigned i = 0; i < kRegisterLanes; ++i)
    lanes.push_back(first + i < width ? static_cast<int>(first + i) : llvm::PoisonMaskElem);
  return b.CreateShuffleVector(vector, lanes);
}

}  // namespace

bool Floats::RoundsEachInstruction(Value like) const {
  return e.m.traits.has_avx512 && like->getType()->isVectorTy();
}

// Rounded down and rounded up, an inexact result gives two neighbours, one of which is odd. If neither is
// odd, they are equal, except for the sign of an exact sum of 0, which is + where the addends differ.
Value Floats::FmaOddF32(Value x, Value y, Value z) {
  if (!RoundsEachInstruction(x)) {
    Value product = b.CreateFMul(x, y);
    if (z == nullptr) return product;
    Value sum = b.CreateFAdd(product, z), virtual_z = b.CreateFSub(sum, product);
    Value error =
        b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, virtual_z)), b.CreateFSub(z, virtual_z));
    return OddF32(sum, error);
  }
  const unsigned width = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  llvm::SmallVector<Value, 4> parts;
  for (unsigned first = 0; first < width; first += kRegisterLanes) {
    auto rounded = [&](uint32_t direction) -> Value {
      std::vector<Value> operands{RegisterAt(b, x, first), RegisterAt(b, y, first)};
      if (z != nullptr) operands.push_back(RegisterAt(b, z, first));
      operands.push_back(b.getInt32(direction));
      return b.CreateIntrinsic(
          z != nullptr ? intrinsic::x86_avx512_vfmadd_ps_512 : intrinsic::x86_avx512_mul_ps_512, {},
          operands);
    };
    Value down = rounded(kDown), up = rounded(kUp), bits = AsBits(down, Type::kF32);
    Value odd = b.CreateICmpNE(b.CreateAnd(bits, Literal(bits, 1)), Literal(bits, 0));
    parts.push_back(b.CreateSelect(odd, down, up));
  }
  Value whole = parts.size() == 1 ? parts[0] : llvm::concatenateVectors(b, parts);
  llvm::SmallVector<int, 64> lanes(width);
  std::iota(lanes.begin(), lanes.end(), 0);
  return width % kRegisterLanes == 0 ? whole : b.CreateShuffleVector(whole, lanes);
}

}  // namespace ptx2cpu::lowering
