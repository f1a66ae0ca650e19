#include "lowering/llvm/kernel/function.h"

#include <algorithm>

#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/kernel/loops.h"
#include "lowering/llvm/lanes/locals.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Level;
using Value = llvm::Value*;

Status BeginLiveMasks(FunctionEmitter& e) {
  e.body.Field(offsetof(ptx2cpu_block, live), e.b.getPtrTy(), "live");
  return ForCountOfWarps(e, "all_live", [&](Value warp) {
    StoreLiveMask(e, warp, LanesOf(e, warp));
    if (e.f.parked_slot != ~0u) {
      CurrentStep::Scope scope(e.step, {.warp = warp});
      StoreParkedMask(e, e.b.getInt32(0));
    }
    return Status{};
  });
}

Status EmitKernel(FunctionEmitter& e) {
  e.memory.PrepareSlots();
  if (LocalsMayLiveOnStack(e)) {
    e.memory.PutLocalsOnStack(std::max(e.f.local_bytes, 1u));
    e.memory.SetLocalGranule(LocalGranule(e));
  }
  if (e.f.has_early_exit) TRY_STATUS(BeginLiveMasks(e));
  llvm::BasicBlock* end = e.body.NewBlock("return");
  TRY_STATUS(EmitRegion(e, {e.f.entry, {}}, {.level = Level::kBlock, .width = 1, .end = end}));
  e.b.SetInsertPoint(end);
  e.b.CreateRetVoid();
  return {};
}

Status EmitCallee(FunctionEmitter& e) {
  llvm::Function* function = e.body.function;
  Value thread = function->getArg(1);
  const LaneStep step{.level = Level::kLane,
                      .width = 1,
                      .warp = e.b.CreateLShr(thread, 5),
                      .lane = e.b.CreateAnd(thread, e.b.getInt32(31)),
                      .thread = thread};
  e.memory.FindLocalsOfCallee(thread);
  if (e.f.local_bytes != 0) e.memory.PutLocalsOnStack(e.f.local_bytes);
  ir::Edge entry{e.f.entry, e.f.at_block(e.f.entry).params};
  unsigned number = 2;
  // The entry block may be a loop head: its parameters are phis whose first value is the argument.
  for (ir::ValueId param : entry.args) e.values.Set(param, function->getArg(number++));
  return EmitRegion(e, entry, step);
}

}  // namespace ptx2cpu::lowering
