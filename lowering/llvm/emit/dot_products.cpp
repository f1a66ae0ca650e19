// Dot products of the bytes or halves of words.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

namespace {
// Part `number` of `bits` width, extended to 32 bits.
llvm::Value* Part(Site& s, llvm::Value* word, unsigned number, unsigned bits, bool is_signed) {
  unsigned up = 32 - bits * (number + 1);
  llvm::Value* top = s.b.CreateShl(word, Literal(word, up));
  llvm::Value* down = Literal(word, 32 - bits);
  return is_signed ? s.b.CreateAShr(top, down) : s.b.CreateLShr(top, down);
}

// Machines that multiply bytes have one factor's bytes signed and the other's not. A number of the other sign
// is brought there by adding or taking away 128, and 128 times the other factor's bytes is made up for:
//   signed a * signed b = (a + 128) * b - 128 * b,   a * b = a * (b - 128) + 2 * (a * 64), neither signed
class ByteProducts {
 public:
  ByteProducts(Site& s, llvm::Value* like)
      : b_(s.b), lanes_(llvm::cast<llvm::FixedVectorType>(like->getType())->getNumElements()) {}

  static bool Has(Site& s, llvm::Value* like) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
    return s.e.m.traits.has_vnni && type != nullptr && type->getNumElements() >= 4;
  }

  llvm::Value* Sum(llvm::Value* a, llvm::Value* b, llvm::Value* sum, bool signed_a, bool signed_b) {
    constexpr uint64_t kSigns = 0x80808080, kHalves = 0x40404040;
    if (signed_a && !signed_b) return Sum(b, a, sum, signed_b, signed_a);
    if (!signed_a && signed_b) return Add(sum, a, b);
    llvm::Value* zero = Literal(sum, 0);
    if (signed_a) {
      llvm::Value* above = Add(zero, Literal(b, kSigns), b);
      return b_.CreateSub(Add(sum, b_.CreateXor(a, Literal(a, kSigns)), b), above);
    }
    llvm::Value* below = b_.CreateShl(Add(zero, a, Literal(a, kHalves)), Literal(a, 1));
    return b_.CreateAdd(Add(sum, a, b_.CreateXor(b, Literal(b, kSigns))), below);
  }

 private:
  llvm::Value* Add(llvm::Value* sum, llvm::Value* a, llvm::Value* signed_b) {
    const unsigned part = std::min(lanes_, 16u);
    const llvm::Intrinsic::ID id = part == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                   : part == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                               : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (unsigned first = 0; first < lanes_; first += part) {
      llvm::SmallVector<int, 16> lanes(part);
      std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
      auto of = [&](llvm::Value* whole) { return b_.CreateShuffleVector(whole, lanes); };
      parts.push_back(b_.CreateIntrinsic(id, {}, {of(sum), of(a), of(signed_b)}));
    }
    return llvm::concatenateVectors(b_, parts);
  }

  llvm::IRBuilder<>& b_;
  unsigned lanes_;
};
}  // namespace

Status EmitDp4a(Site& s) {
  if (ByteProducts::Has(s, s.Operand(2))) {
    s.Return(ByteProducts(s, s.Operand(2))
                 .Sum(s.Operand(0), s.Operand(1), s.Operand(2), s.Has(ir::kSignedA), s.Has(ir::kSignedB)));
    return {};
  }
  llvm::Value* sum = s.Operand(2);
  for (unsigned i = 0; i < 4; ++i) {
    sum = s.b.CreateAdd(sum, s.b.CreateMul(Part(s, s.Operand(0), i, 8, s.Has(ir::kSignedA)),
                                           Part(s, s.Operand(1), i, 8, s.Has(ir::kSignedB))));
  }
  s.Return(sum);
  return {};
}

Status EmitDp2a(Site& s) {
  llvm::Value* sum = s.Operand(2);
  unsigned first = s.Has(ir::kHigh) ? 2 : 0;
  for (unsigned i = 0; i < 2; ++i) {
    sum = s.b.CreateAdd(sum, s.b.CreateMul(Part(s, s.Operand(0), i, 16, s.Has(ir::kSignedA)),
                                           Part(s, s.Operand(1), first + i, 8, s.Has(ir::kSignedB))));
  }
  s.Return(sum);
  return {};
}

}  // namespace ptx2cpu::lowering
