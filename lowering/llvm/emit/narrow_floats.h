// Small floats coded with integers, for scalars and vectors alike: formats that the machine has no
// instructions for.
#pragma once

#include "ir/float_format.h"
#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

struct NarrowRounding {
  ir::Rounding mode = ir::Rounding::kNearestEven;
  bool saturate_finite = false;   // infinities and overflow become the largest finite value
  llvm::Value* random = nullptr;  // kStochastic: added to the first `random_bits` discarded bits
  unsigned random_bits = 0;
};

// The i32 code of f32 bits, in the storage of the format, rounded once.
llvm::Value* EncodeNarrow(llvm::IRBuilder<>& b, llvm::Value* f32_bits, const ir::FloatFormat& format,
                          const NarrowRounding& rounding);
// The f32 bits of an i32 code; exact. NaN becomes the canonical one.
llvm::Value* DecodeNarrow(llvm::IRBuilder<>& b, llvm::Value* code, const ir::FloatFormat& format);

}  // namespace ptx2cpu::lowering
