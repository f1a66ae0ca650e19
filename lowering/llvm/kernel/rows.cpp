// The threads of a flat kernel's block: rows of them, thread by thread or as vectors.
//
// LLVM's loop vectoriser makes vectors of the loop over threads where threads have no loop of their own.
// If they have one, it considers that inner loop, in which a thread's accesses are mostly far apart (a
// grid-stride loop, a dot product down a column); threads side by side touch consecutive memory. There the
// row is emitted as lane vectors.
//
// With masks of every kind (AVX-512) a row's last step is the same code under a mask. Elsewhere steps are
// whole, and the threads of what is left run one by one.
#include "lowering/llvm/emit/time.h"
#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/kernel/loops.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

// In the inner loop tid.x is the counter, so that addresses are visibly consecutive whatever the block's
// shape. `body` is given the row's step: tid.y, tid.z, and of its first thread everything.
Status LoopEmitter::EachRow(const std::function<Status(LaneStep, Value)>& body) {
  llvm::Type* word = b.getInt32Ty();
  llvm::MDNode* access_group = llvm::MDNode::getDistinct(e.m.context, {});
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

Status LoopEmitter::ThreadsOneByOne(const ir::Inst& inst, LaneStep row_step, Value first, Value end) {
  LaneLoop x = Open(end, "x", first);
  row_step.thread = b.CreateAdd(row_step.thread, x.index, "thread", true, true);
  row_step.tid[0] = x.index;
  row_step.lane = b.CreateAnd(row_step.thread, b.getInt32(31));
  row_step.warp = b.CreateLShr(row_step.thread, 5);
  TRY_STATUS(Lane(inst, row_step, x));
  Close(x, row_step.access_group, first != nullptr);
  return {};
}

// As many threads of a row at a time as the plan is wide.
Status LoopEmitter::RowAsVectors(const ir::Inst& inst, const LaneStep& row_step, Value width,
                                 const LanePlan& plan) {
  const unsigned log_width = llvm::Log2_32(plan.width);
  Value steps = b.CreateLShr(b.CreateAdd(width, b.getInt32(plan.width - 1)), log_width);
  return e.body.Loop(steps, "x", [&](Value index) -> Status {
    LaneStep part = row_step;
    part.access_group = nullptr;
    part.width = plan.width;
    part.tid[0] = b.CreateShl(index, log_width, "tid.x", true, true);
    part.thread = b.CreateAdd(row_step.thread, part.tid[0], "thread", true, true);
    auto run = [&](Value live, llvm::BasicBlock* mixed) {
      CurrentStep::Scope scope(e.step, part);
      if (part.times) BeginThread(e, *part.times);
      return LaneVectors(e, plan).Run(live, mixed);
    };
    Value rest = b.CreateSub(width, part.tid[0]);
    if (plan.masks_steps) {
      if (e.f.required_threads[0] != 0 && e.f.required_threads[0] % plan.width == 0)
        return run(nullptr, nullptr);
      Value numbers = Consecutive(b, b.getInt32(0), plan.width);
      return run(b.CreateICmpULT(numbers, Broadcast(b, rest, plan.width)), nullptr);
    }
    llvm::BasicBlock *whole = e.body.NewBlock("whole_step"), *some = e.body.NewBlock("part_of_step"),
                     *after = e.body.NewBlock("after_step");
    b.CreateCondBr(b.CreateICmpUGE(rest, b.getInt32(plan.width)), whole, some);
    b.SetInsertPoint(whole);
    TRY_STATUS(run(nullptr, some));
    b.CreateBr(after);
    b.SetInsertPoint(some);
    Value end = b.CreateAdd(part.tid[0], b.getInt32(plan.width), "", true, true);
    TRY_STATUS(ThreadsOneByOne(inst, row_step, part.tid[0],
                               b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, width, end)));
    b.CreateBr(after);
    b.SetInsertPoint(after);
    return {};
  });
}

Status LoopEmitter::ForThreads(const ir::Inst& inst) {
  const ir::BlockId entry = inst.edges[0].to;
  const uint32_t row = e.f.required_threads[0];
  std::optional<LanePlan> plan = PlanRows(e, entry);
  // With fewer threads in a row masked vectors are too empty; what is not a loop LLVM may have done well.
  const uint32_t least_row = !plan || !plan->masks_steps      ? 0
                             : plan->region.levels.size() > 1 ? plan->width / 4
                                                              : plan->width;
  if (plan && row != 0 && row < least_row) plan.reset();
  Alignment::Region notes(e.alignment, entry, !MasksLanes(inst));
  const std::optional<ThreadTimes> times = BeginTimes(e, entry);
  TRY_STATUS(EachRow([&](LaneStep row_step, Value width) -> Status {
    row_step.times = times;
    if (!plan) return ThreadsOneByOne(inst, row_step, nullptr, width);
    if (row != 0 || least_row == 0) return RowAsVectors(inst, row_step, width, *plan);
    llvm::BasicBlock *wide = e.body.NewBlock("wide_row"), *narrow = e.body.NewBlock("narrow_row"),
                     *after = e.body.NewBlock("after_row");
    b.CreateCondBr(b.CreateICmpUGE(width, b.getInt32(least_row)), wide, narrow);
    b.SetInsertPoint(wide);
    TRY_STATUS(RowAsVectors(inst, row_step, width, *plan));
    b.CreateBr(after);
    b.SetInsertPoint(narrow);
    TRY_STATUS(ThreadsOneByOne(inst, row_step, nullptr, width));
    b.CreateBr(after);
    b.SetInsertPoint(after);
    return {};
  }));
  notes.Finish();
  if (e.f.has_early_exit) ContinueWhileLive(e, AnyLive(e), e.step->end);
  e.blocks.Jump(inst.edges[1]);
  return {};
}

}  // namespace ptx2cpu::lowering
