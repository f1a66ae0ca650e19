// Kernels whose subnormal results all become zeros run with the processor's flush to zero: no code tests
// results then.
//
//   void kernel(block) {
//     saved = MXCSR
//     if saved & FTZ { kernel.flushing(block) ; return }    the launcher has set it for many blocks
//     MXCSR = saved | FTZ ; kernel.flushing(block) ; MXCSR = saved
//   }
//
// x86 flushes as .ftz does: what is below the least normal number when rounded with any exponent (Intel SDM,
// volume 1, 11.5.2.3 and 4.9.1.5). Operands are still flushed by code where they may be subnormal: LLVM gives
// `x` for `x * 1` and `x + -0`, which no processor then flushes; and results of constants, which LLVM
// computes. Faults leave a kernel by a jump, before which runtime/worker/fault.cpp restores the register.
#pragma once

#include <llvm/IR/Function.h>

#include "ir/function.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

// Whether the kernel and the functions that it reaches have results that .ftz may flush, and no others that
// may be subnormal.
bool RunsFlushing(const ir::Module& module, const ir::Function& kernel, const KernelLayout& layout,
                  const TargetTraits& traits);

// `entry` as above; it has its final name and a body.
void RunFlushing(llvm::Function* entry);
// Code that is emitted into the function tests no results, and constants that LLVM folds in it are flushed.
void DeclareFlushing(llvm::Function& function);

}  // namespace ptx2cpu::lowering
