// LLVM 19 cannot select a mask of 16 lanes, or of one lane and zeros, that is read as an f16 where f16 is a
// type of the processor (AVX512-FP16): "Cannot select: f16 = bitcast v16i1". Internal to this folder.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// In front of code generation: bits that may be such a mask pass through a general register before they are
// read as an f16.
void MoveMasksThatAreHalves(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace ptx2cpu::lowering
