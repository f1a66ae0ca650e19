// Keeps LLVM from computing results that the processor would flush to zero.
//
//   %x = phi float [ 0x3810000000000000, %entry ], [ %y, %loop ]
//   %y = call float @llvm.fma.f32(float %x, float 0.5, float 0.0)
//
// After unrolling, all operands are constants; LLVM then folds the fma without a flush, and a product that
// was rounded up to the least normal number with it. A fence on one operand prevents that; it costs nothing.
// A value may become constant through phis, selects, arguments, and memory that the function stores constants
// to. Nearly all operations have operands that are loaded from elsewhere and stay as they are.
#pragma once

#include <llvm/IR/Function.h>

namespace ptx2cpu::lowering {

// For a function that runs with flush to zero, before LLVM's passes.
void FenceConstantResults(llvm::Function& function);

}  // namespace ptx2cpu::lowering
