#include <llvm-c/Target.h>

#include "lowering/llvm/module/machines.h"

namespace ptx2cpu::lowering {

void InitialiseX86() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

}  // namespace ptx2cpu::lowering
