// Finds the thread of a block that met a hardware fault. Vector code cannot know it: one of its instructions
// accesses memory for many threads. The block runs again in the interpreter, on copies of memory.
#pragma once

#include <optional>
#include <span>

#include "ir/fault_of_block.h"
#include "ir/interpret/interpret.h"

namespace ptx2cpu::ir {

// The first thread that accesses the address or leaves the window. Variables
// of `storage` are bound to those of the launch. Nothing: none does within a second or two, since memory is
// no longer what it was when the block began, or the block waits for others, or it reads textures.
std::optional<FaultingAccess> FindThread(const Module& module, const Function& kernel, ModuleStorage& storage,
                                         std::span<const std::byte> params, const FaultOfBlock& fault);

}  // namespace ptx2cpu::ir
