#include <llvm-c/Target.h>

#include "lowering/llvm/module/machines.h"

namespace ptx2cpu::lowering {

void InitialiseRiscV() {
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTarget();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVAsmPrinter();
  LLVMInitializeRISCVAsmParser();
}

}  // namespace ptx2cpu::lowering
