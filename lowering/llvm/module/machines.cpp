#include "lowering/llvm/module/machines.h"

namespace ptx2cpu::lowering {

void InitialiseMachines() {
  InitialiseX86();
  InitialiseAArch64();
  InitialiseRiscV();
}

}  // namespace ptx2cpu::lowering
