// The processor of this machine as far as code depends on it, known without LLVM.
#pragma once

#include <string>

namespace ptx2cpu::rt {

// The same text on machines for which LLVM would generate the same code, and on few others: family and model,
// and every bit that announces an instruction or is enabled by the system.
std::string MachineIdentity();

}  // namespace ptx2cpu::rt
