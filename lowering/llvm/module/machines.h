// LLVM's code generators of the machines that kernels are compiled for.
#pragma once

namespace ptx2cpu::lowering {

// Registers those that this program has. machines.cpp has all three; a program that defines this function
// itself links only the ones that it names.
void InitialiseMachines();

void InitialiseX86();
void InitialiseAArch64();
void InitialiseRiscV();

}  // namespace ptx2cpu::lowering
