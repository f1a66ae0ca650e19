// The threads of a flat kernel's block: rows of them, thread by thread or as vectors.
//
// LLVM's loop vectoriser makes vectors of the loop over threads where threads have no loop of their own.
// If they have one, it considers that inner loop, in which a thread's accesses are mostly far apart (a
// grid-stride loop, a dot product down a column); threads side by side touch consecutive memory. There the
// row is emitted as lane vectors.
#include "lowering/llvm/emit/time.h"
#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/kernel/loops.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

// In the inner loop tid.x is the counter, so that addresses are visibly consecutive whatever the block's
// shape. `body` is given the row's step: tid.y, tid.z, and of its first thread everything.
Status LoopEmitter::EachRow(llvm::MDNode* access_group, const std::function<Status(LaneStep, Value)>& body) {
  llvm::Type* word = b.getInt32Ty();
  Value width = e.body.Field(offsetof(ptx2cpu_block, ntid), word, "ntid.x");
  Value height = e.body.Field(offsetof(ptx2cpu_block, ntid) + 4, word, "ntid.y");
  LaneLoop z = Open(e.body.Field(offsetof(ptx2cpu_block, ntid) + 8, word, "ntid.z"), "z");
  LaneLoop y = Open(height, "y");
  Value row = b.CreateAdd(b.CreateMul(z.index, height, "", true, true), y.index, "", true, true);
  Value first = b.CreateMul(row, width, "first", true, true);
  LaneStep row_step{.level = ir::Level::kLane,
                    .thread = first,
                    .tid = {b.getInt32(0), y.index, z.index},
                    .access_group = access_group};
  TRY_STATUS(body(row_step, width));
  for (const LaneLoop* loop : {&y, &z}) Close(*loop, access_group);
  return {};
}

Status LoopEmitter::RowsThreadByThread(const ir::Inst& inst) {
  llvm::MDNode* access_group = llvm::MDNode::getDistinct(e.m.context, {});
  const std::optional<ThreadTimes> times = BeginTimes(e, inst.edges[0].to);
  return EachRow(access_group, [&](LaneStep lane_step, Value width) -> Status {
    lane_step.times = times;
    LaneLoop x = Open(width, "x");
    lane_step.thread = b.CreateAdd(lane_step.thread, x.index, "thread", true, true);
    lane_step.tid[0] = x.index;
    lane_step.lane = b.CreateAnd(lane_step.thread, b.getInt32(31));
    lane_step.warp = b.CreateLShr(lane_step.thread, 5);
    TRY_STATUS(Lane(inst, lane_step, x));
    Close(x, access_group);
    return {};
  });
}

// As many threads of a row at a time as the plan is wide.
Status LoopEmitter::RowsAsVectors(LanePlan& plan) {
  const std::optional<ThreadTimes> times = BeginTimes(e, plan.region.blocks[0]);
  const unsigned log_width = llvm::Log2_32(plan.width);
  return EachRow(llvm::MDNode::getDistinct(e.m.context, {}), [&](LaneStep row_step, Value width) -> Status {
    row_step.access_group = nullptr;
    row_step.times = times;
    row_step.width = plan.width;
    Value steps = b.CreateLShr(b.CreateAdd(width, b.getInt32(plan.width - 1)), log_width);
    return e.body.Loop(steps, "x", [&](Value index) -> Status {
      LaneStep part = row_step;
      part.tid[0] = b.CreateShl(index, log_width, "tid.x", true, true);
      part.thread = b.CreateAdd(row_step.thread, part.tid[0], "thread", true, true);
      CurrentStep::Scope scope(e.step, part);
      if (times) BeginThread(e, *times);
      return LaneVectors(e, plan).Run(FirstLanes(e, b.CreateSub(width, part.tid[0])));
    });
  });
}

Status LoopEmitter::ForThreads(const ir::Inst& inst) {
  const uint32_t* required = e.f.required_threads;
  std::optional<LanePlan> rows = PlanRows(e, inst.edges[0].to);
  // With fewer threads in a row vectors are too empty; what is not a loop LLVM may have done well.
  const uint32_t least_row = rows && rows->region.levels.size() > 1 ? rows->width / 4 : kWarpSize;
  Alignment::Region notes(e.alignment, inst.edges[0].to, !MasksLanes(inst));
  if (!rows || (required[0] != 0 && required[0] < least_row)) {
    TRY_STATUS(RowsThreadByThread(inst));
  } else if (required[0] != 0) {
    TRY_STATUS(RowsAsVectors(*rows));
  } else {
    llvm::BasicBlock *wide = e.body.NewBlock("wide_rows"), *narrow = e.body.NewBlock("narrow_rows"),
                     *after = e.body.NewBlock("after_rows");
    Value width = e.body.Field(offsetof(ptx2cpu_block, ntid), b.getInt32Ty(), "ntid.x");
    b.CreateCondBr(b.CreateICmpUGE(width, b.getInt32(least_row)), wide, narrow);
    b.SetInsertPoint(wide);
    TRY_STATUS(RowsAsVectors(*rows));
    b.CreateBr(after);
    b.SetInsertPoint(narrow);
    TRY_STATUS(RowsThreadByThread(inst));
    b.CreateBr(after);
    b.SetInsertPoint(after);
  }
  notes.Finish();
  if (e.f.has_early_exit) ContinueWhileLive(e, AnyLive(e), e.step->end);
  e.blocks.Jump(inst.edges[1]);
  return {};
}

}  // namespace ptx2cpu::lowering
