#include "lowering/llvm/kernel/function.h"

#include <algorithm>

#include "analysis/memory/region_locals.h"
#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/kernel/loops.h"
#include "lowering/llvm/lanes/locals.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Level;
using ir::Opcode;
using Value = llvm::Value*;

namespace {

constexpr uint32_t kStackLocalLimit = 16384;

// Where one region has them, a thread's locals are through when its iteration is; on the stack LLVM can
// promote them. Not when it calls functions: they reach its locals by offsets from this thread's window.
bool LocalsMayLiveOnStack(const FunctionEmitter& e) {
  if (e.f.local_bytes == 0 || e.f.local_bytes > kStackLocalLimit) return false;
  for (uint32_t index : e.m.layout.functions) {
    if (DefinitionOf(e.m.ir, e.m.ir.functions[index]) != nullptr) return false;
  }
  const bool calls = std::ranges::any_of(
      e.f.insts, [](const ir::Inst& inst) { return inst.op == Opcode::kCallIndirect && inst.block.valid(); });
  return !calls && analysis::LocalsAreOfOneRegion(e.f);
}

}  // namespace

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
