// The lanes of a warp as bits of a word.
#pragma once

#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

inline llvm::Value* Bits(Site& s, llvm::Value* predicate) {
  return s.b.CreateBitCast(Broadcast(s.b, predicate, kWarpSize), s.e.I(kWarpSize));
}
inline llvm::Value* NonZero(Site& s, llvm::Value* value) {
  return s.b.CreateICmpNE(value, Literal(value, 0));
}
inline llvm::Value* FirstLane(Site& s, llvm::Value* mask) {
  return s.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, s.b.getFalse());
}
inline llvm::Value* ThreadOf(Site& s, llvm::Value* lane) { return s.b.CreateAdd(s.e.step->thread, lane); }

// The lanes that take part in a collective whose lanes all name one mask, operand number `mask_operand`
// (i32). Missing lanes are a fault. Defined in collective.cpp.
Result<llvm::Value*> LanesTaking(Site& s, size_t mask_operand);

}  // namespace ptx2cpu::lowering
