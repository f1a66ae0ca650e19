// Lanes and warps: which of them run, and code for each warp of a block.
#pragma once

#include <functional>

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// -- of the current step: i32, or vectors of consecutive ones --
llvm::Value* Thread(FunctionEmitter& e);
llvm::Value* Lane(FunctionEmitter& e);

// -- lanes of a warp, i32 --
llvm::Value* LiveMask(FunctionEmitter& e, llvm::Value* warp);  // exist and have not exited
void StoreLiveMask(FunctionEmitter& e, llvm::Value* warp, llvm::Value* mask);
llvm::Value* LanesOf(FunctionEmitter& e, llvm::Value* warp);      // exist
llvm::Value* FirstLanes(FunctionEmitter& e, llvm::Value* count);  // of a warp, at most all
llvm::Value* AnyLive(FunctionEmitter& e);                         // i1: of the block
// The live lanes among `count` consecutive threads of the block from the step's first on, at most 32, as an
// integer of as many bits. They may be of two warps.
llvm::Value* LiveThreads(FunctionEmitter& e, unsigned count);
void EndThreads(FunctionEmitter& e, llvm::Value* bits);  // they have exited
// The lanes that wait at the other arm of a divergent branch. Only in functions with a parked_slot.
llvm::Value* ParkedMask(FunctionEmitter& e);
void StoreParkedMask(FunctionEmitter& e, llvm::Value* mask);
// Continues after a loop over threads only while some thread is live.
void ContinueWhileLive(FunctionEmitter& e, llvm::Value* any_live, llvm::BasicBlock* otherwise);

// -- warps --
Status ForCountOfWarps(FunctionEmitter& e, const char* name,
                       const std::function<Status(llvm::Value* warp)>& body);
// Block level: `body` for every warp with live lanes, where values that differ between threads are available.
Status ForEachWarp(FunctionEmitter& e, const std::function<Status(llvm::Value* live)>& body);

// True where no thread of this kernel waits for another one in a loop.
bool NobodyWaits(const ir::Function& f);
// The step is one lane of a kernel that no other thread waits for.
bool LaneMayEnd(const FunctionEmitter& e);

// Calls `scalar` for each lane when any argument is a vector (of numbers, no predicates).
llvm::Value* EachLane(FunctionEmitter& e, const std::vector<llvm::Value*>& arguments,
                      const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& scalar);

}  // namespace ptx2cpu::lowering
