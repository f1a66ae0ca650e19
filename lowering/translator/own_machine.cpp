// Replaces machines.cpp, which registers every machine: programs with this file compile for their own machine
// only.
#include "lowering/llvm/module/machines.h"

namespace ptx2cpu::lowering {

void InitialiseMachines() {
#if defined(__x86_64__)
  InitialiseX86();
#elif defined(__aarch64__)
  InitialiseAArch64();
#endif
}

}  // namespace ptx2cpu::lowering
