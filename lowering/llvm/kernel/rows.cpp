// The threads of a flat kernel's block: rows of them, thread by thread or as vectors.
//
// The emitter makes the vectors itself where the estimate of lane_cost.h prefers that: LLVM's loop vectoriser
// considers a thread's own loop, in which accesses are mostly far apart, and does not vectorise rows with
// masks or atomics.
//
// With masks of every kind (AVX-512) a row's last step is the same code under a mask; where short code begins
// with a test of bounds (`if (x < n)`), steps within these are code without masks. Elsewhere steps are whole,
// and the threads of what is left run one by one.
#include "lowering/llvm/emit/time.h"
#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/kernel/loops.h"
#include "lowering/llvm/lanes/joined_rows.h"
#include "lowering/llvm/module/steps.h"
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
  LaneStep first_step = row_step;
  first_step.width = 1;
  if (first != nullptr) {
    first_step.thread = b.CreateAdd(row_step.thread, first, "thread", true, true);
    first_step.tid[0] = first;
  }
  TRY_STATUS(PrefetchFirst(inst, first_step, first, end));
  LaneLoop x = Open(end, "x", first);
  row_step.thread = b.CreateAdd(row_step.thread, x.index, "thread", true, true);
  row_step.tid[0] = x.index;
  row_step.lane = b.CreateAnd(row_step.thread, b.getInt32(31));
  row_step.warp = b.CreateLShr(row_step.thread, 5);
  TRY_STATUS(Lane(inst, row_step, x));
  Close(x, row_step.access_group, first != nullptr);
  return {};
}

// Under a mask: the threads that exist and have not exited.
Status LoopEmitter::MaskedStepOfRow(const LanePlan& plan, Value rest, Value live) {
  Value mask = b.CreateICmpULT(Consecutive(b, b.getInt32(0), plan.width), Broadcast(b, rest, plan.width));
  if (live == nullptr) return LaneVectors(e, plan).Run(mask);
  llvm::BasicBlock *inside = e.body.NewBlock("live_step"), *after = e.body.NewBlock("after_step");
  mask = b.CreateAnd(mask, b.CreateBitCast(live, mask->getType()));
  Value bits = b.CreateBitCast(mask, live->getType());
  b.CreateCondBr(b.CreateICmpNE(bits, Literal(bits, 0)), inside, after);
  b.SetInsertPoint(inside);
  TRY_STATUS(LaneVectors(e, plan).Run(mask));
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

Status LoopEmitter::StepOfRow(const ir::Inst& inst, const LaneStep& row_step, Value width,
                              const LanePlan& plan) {
  Value first = e.step->tid[0], rest = b.CreateSub(width, first), live = nullptr;
  if (MasksLanes(inst)) live = LiveThreads(e, plan.width);
  if (e.step->times) BeginThread(e, *e.step->times);
  const uint32_t row = e.f.required_threads[0];
  const bool always_whole = live == nullptr && !plan.quotients && row != 0 && row % plan.width == 0;
  const bool parts = plan.masks_steps && LaneVectors(e, plan).partings.PaysToPart();
  if (always_whole && plan.masks_steps && !parts) return LaneVectors(e, plan).Run(nullptr);
  if (plan.masks_steps && !parts) return MaskedStepOfRow(plan, rest, live);
  llvm::BasicBlock *whole = e.body.NewBlock("whole_step"), *part = e.body.NewBlock("part_of_step"),
                   *after = e.body.NewBlock("after_step");
  Value is_whole = b.CreateICmpUGE(rest, b.getInt32(plan.width));
  if (live != nullptr)
    is_whole = b.CreateAnd(is_whole, b.CreateICmpEQ(live, llvm::Constant::getAllOnesValue(live->getType())));
  b.CreateCondBr(is_whole, whole, part);
  b.SetInsertPoint(whole);
  TRY_STATUS(LaneVectors(e, plan).Run(nullptr, part));
  b.CreateBr(after);
  b.SetInsertPoint(part);
  if (plan.masks_steps) {
    TRY_STATUS(MaskedStepOfRow(plan, rest, live));
  } else {
    Value end = b.CreateAdd(first, b.getInt32(plan.width), "", true, true);
    TRY_STATUS(
        ThreadsOneByOne(inst, row_step, first, b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, width, end)));
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

// As many threads of a row at a time as the plan is wide: those from `first` (null: 0) up to `end`.
Status LoopEmitter::RowAsVectors(const LanePlan& plan, const LaneStep& row_step, Value first, Value end,
                                 const std::function<Status()>& step) {
  const unsigned log_width = llvm::Log2_32(plan.width);
  Value count = first == nullptr ? end : b.CreateSub(end, first);
  Value steps = b.CreateLShr(b.CreateAdd(count, b.getInt32(plan.width - 1)), log_width);
  TRY_STATUS(e.body.Loop(steps, "x", [&](Value index) -> Status {
    LaneStep part = row_step;
    part.access_group = nullptr;
    part.width = plan.width;
    part.tid[0] = b.CreateShl(index, log_width, "tid.x", true, true);
    if (first != nullptr) part.tid[0] = b.CreateAdd(first, part.tid[0], "tid.x", true, true);
    part.thread = b.CreateAdd(row_step.thread, part.tid[0], "thread", true, true);
    CurrentStep::Scope scope(e.step, part);
    return step();
  }));
  MarkSteps(b);
  return {};
}

Status LoopEmitter::IfRowsHold(unsigned width, const std::function<Status()>& yes,
                               const std::function<Status()>& no) {
  Value threads = e.body.Field(offsetof(ptx2cpu_block, ntid), b.getInt32Ty(), "ntid.x");
  llvm::BasicBlock *wide = e.body.NewBlock("wide_row"), *narrow = e.body.NewBlock("narrow_row"),
                   *after = e.body.NewBlock("after_row");
  b.CreateCondBr(b.CreateICmpUGE(threads, b.getInt32(width)), wide, narrow);
  b.SetInsertPoint(wide);
  TRY_STATUS(yes());
  b.CreateBr(after);
  b.SetInsertPoint(narrow);
  TRY_STATUS(no());
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

// Wide steps are whole, and their lanes part nowhere outside the loop; other threads are in steps as usual.
Status LoopEmitter::WideRows(const ir::Inst& inst, const LanePlan& plan) {
  Alignment::Region notes(e.alignment, inst.edges[0].to, true);
  const std::optional<ThreadTimes> times = BeginTimes(e, inst.edges[0].to);
  const std::optional<LanePlan> narrow = PlanRows(e, inst.edges[0].to);
  TRY_STATUS(EachRow([&](LaneStep row_step, Value width) -> Status {
    row_step.times = times;
    Value guarded = GuardedThreads(plan.region, row_step, width);
    return RowAsVectors(plan, row_step, nullptr, guarded != nullptr ? guarded : width, [&]() -> Status {
      Value first = e.step->tid[0];
      llvm::BasicBlock *whole = e.body.NewBlock("wide_step"), *part = e.body.NewBlock("part_of_step"),
                       *after = e.body.NewBlock("after_step");
      Value end = b.CreateAdd(first, b.getInt32(plan.width), "", true, true);
      b.CreateCondBr(b.CreateICmpULE(end, width), whole, part);
      b.SetInsertPoint(whole);
      if (times) BeginThread(e, *times);
      TRY_STATUS(LaneVectors(e, plan).Run(nullptr, part));
      b.CreateBr(after);
      b.SetInsertPoint(part);
      end = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, width);
      if (narrow) {
        TRY_STATUS(RowAsVectors(*narrow, row_step, first, end,
                                [&] { return StepOfRow(inst, row_step, width, *narrow); }));
      } else {
        TRY_STATUS(ThreadsOneByOne(inst, row_step, first, end));
      }
      b.CreateBr(after);
      b.SetInsertPoint(after);
      return {};
    });
  }));
  notes.Finish();
  return {};
}

Status LoopEmitter::ForThreads(const ir::Inst& inst) {
  const std::optional<LanePlan> wide = PlanWideRows(e, inst.edges[0].to);
  auto others = [&] { return Threads(inst); };
  if (!wide) {
    TRY_STATUS(others());
  } else if (e.f.required_threads[0] != 0) {
    TRY_STATUS(WideRows(inst, *wide));
  } else {
    TRY_STATUS(IfRowsHold(wide->width, [&] { return WideRows(inst, *wide); }, others));
  }
  if (e.exits.within[inst.block.index]) {
    e.lanes_missing = true;
    ContinueWhileLive(e, AnyLive(e), e.step->end);
  }
  e.blocks.Jump(inst.edges[1]);
  return {};
}

Status LoopEmitter::Threads(const ir::Inst& inst) {
  const ir::BlockId entry = inst.edges[0].to;
  const uint32_t row = e.f.required_threads[0];
  std::optional<LanePlan> plan = PlanRows(e, entry);
  // With fewer threads in a row masked vectors are too empty.
  const bool has_loops = plan && plan->region.levels.size() > 1;
  const uint32_t least_row = plan && plan->masks_steps ? plan->width / (has_loops ? 4 : 2) : 0;
  if (plan && row != 0 && LongestRow(e) < least_row) plan.reset();
  std::optional<LanePlan> rows_of_data;
  if (!MasksLanes(inst)) rows_of_data = PlanQuotientRows(e, entry);
  Alignment::Region notes(e.alignment, entry, !MasksLanes(inst));
  const std::optional<ThreadTimes> times = BeginTimes(e, entry);
  TRY_STATUS(EachRow([&](LaneStep row_step, Value width) -> Status {
    row_step.times = times;
    auto in_steps = [&]() -> Status {
      if (!plan) return GuardedThreadsOneByOne(inst, row_step, width);
      Value guarded = GuardedThreads(plan->region, row_step, width);
      return RowAsVectors(*plan, row_step, nullptr, guarded != nullptr ? guarded : width,
                          [&] { return StepOfRow(inst, row_step, width, *plan); });
    };
    auto as_vectors = [&] {
      return rows_of_data ? RowsOfData(inst, *rows_of_data, row_step, width, in_steps) : in_steps();
    };
    if (row != 0 || least_row == 0) return as_vectors();
    return IfRowsHold(least_row, as_vectors,
                      [&] { return ThreadsOneByOne(inst, row_step, b.getInt32(0), width); });
  }));
  notes.Finish();
  return {};
}

}  // namespace ptx2cpu::lowering
