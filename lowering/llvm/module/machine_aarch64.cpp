#include <llvm-c/Target.h>

#include "lowering/llvm/module/machines.h"

namespace ptx2cpu::lowering {

void InitialiseAArch64() {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser();
}

}  // namespace ptx2cpu::lowering
