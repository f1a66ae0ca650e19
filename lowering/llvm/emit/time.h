// The clock of each thread of a region, see time.cpp.
#pragma once

#include <optional>

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// Before the loop over threads whose region begins there, and before each thread; nothing where no clock is
// read.
std::optional<ThreadTimes> BeginTimes(FunctionEmitter& e, ir::BlockId entry);
void BeginThread(FunctionEmitter& e, const ThreadTimes& times);
// A clock or timer, as i64.
llvm::Value* TimeValue(Site& site, ir::Special special);

}  // namespace ptx2cpu::lowering
