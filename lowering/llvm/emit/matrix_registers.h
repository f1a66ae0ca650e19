// Registers of matrix fragments as vectors of 32 lanes.
#pragma once

#include "ir/matrix.h"
#include "lowering/llvm/emit/lane_bits.h"

namespace ptx2cpu::lowering {

inline constexpr uint32_t kRows = 8, kRowWords = 4;  // of a register

llvm::Type* RowType(Site& s);
// <32 x i1> of the lanes that take part.
llvm::Value* IsMember(Site& s, llvm::Value* taking);
// The register of 32 lanes, zero in lanes that take no part.
llvm::Value* RegisterOf(Site& s, size_t operand, llvm::Value* is_member);
// An 8x8 matrix of 16-bit elements.
llvm::Value* Transposed(Site& s, llvm::Value* pairs);

}  // namespace ptx2cpu::lowering
