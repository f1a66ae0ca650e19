// LLVM's view of a Target. Internal to this folder.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

Result<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target, int optimisation,
                                                                 bool for_jit);

// What createDataLayout of its machines returns, as text; of a machine that exists, if there was one.
Result<std::string> DataLayoutOf(const Target& target);

// A machine for the JIT that belongs to this thread until it is returned, and is used again then.
struct ReturnMachine {
  std::string key;
  void operator()(llvm::TargetMachine* machine) const;
};
using BorrowedMachine = std::unique_ptr<llvm::TargetMachine, ReturnMachine>;
Result<BorrowedMachine> BorrowTargetMachine(const Target& target, int optimisation);

}  // namespace ptx2cpu::lowering
