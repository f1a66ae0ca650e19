// The threads of a flat kernel's block: rows of them, thread by thread or as vectors.
//
// LLVM's loop vectoriser makes vectors of the loop over threads where threads have no loop of their own.
// Where they have one it looks at that inner loop, in which a thread's accesses mostly lie far apart (a
// grid-stride loop, a dot product down a column); threads side by side touch consecutive memory. There the
// row is emitted as lane vectors.
#include <utility>

#include "lowering/llvm/kernel/function_emitter.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

// In the inner loop tid.x is the counter, so that addresses are visibly consecutive whatever the block's
// shape. `body` is given the row's step: tid.y, tid.z, and of its first thread everything.
Status FunctionEmitter::EachRow(llvm::MDNode* access_group,
                                const std::function<Status(LaneStep, llvm::Value*)>& body) {
  llvm::Type* word = b.getInt32Ty();
  llvm::Value* width = Field(offsetof(ptx2cpu_block, ntid), word, "ntid.x");
  llvm::Value* height = Field(offsetof(ptx2cpu_block, ntid) + 4, word, "ntid.y");
  LaneLoop z = OpenLoop(Field(offsetof(ptx2cpu_block, ntid) + 8, word, "ntid.z"), "z");
  LaneLoop y = OpenLoop(height, "y");
  llvm::Value* row = b.CreateAdd(b.CreateMul(z.index, height, "", true, true), y.index, "", true, true);
  llvm::Value* first = b.CreateMul(row, width, "first", true, true);
  LaneStep row_step{.level = ir::Level::kLane,
                    .thread = first,
                    .tid = {b.getInt32(0), y.index, z.index},
                    .access_group = access_group};
  TRY_STATUS(body(row_step, width));
  for (const LaneLoop* loop : {&y, &z}) CloseLoop(*loop, access_group);
  return {};
}

Status FunctionEmitter::EmitRowsThreadByThread(const ir::Inst& inst) {
  llvm::MDNode* access_group = llvm::MDNode::getDistinct(m.context, {});
  const std::optional<ThreadTimes> times = BeginTimes(inst.edges[0].to);
  return EachRow(access_group, [&](LaneStep lane_step, llvm::Value* width) -> Status {
    lane_step.times = times;
    LaneLoop x = OpenLoop(width, "x");
    lane_step.thread = b.CreateAdd(lane_step.thread, x.index, "thread", true, true);
    lane_step.tid[0] = x.index;
    lane_step.lane = b.CreateAnd(lane_step.thread, b.getInt32(31));
    lane_step.warp = b.CreateLShr(lane_step.thread, 5);
    TRY_STATUS(EmitLane(inst, lane_step, x));
    CloseLoop(x, access_group);
    return {};
  });
}

// Up to 32 threads of a row at a time.
Status FunctionEmitter::EmitRowsAsVectors(LaneRegion& region) {
  const std::optional<ThreadTimes> times = BeginTimes(region.blocks[0]);
  return EachRow(
      llvm::MDNode::getDistinct(m.context, {}), [&](LaneStep row_step, llvm::Value* width) -> Status {
        row_step.access_group = nullptr;
        row_step.times = times;
        llvm::Value* steps = b.CreateLShr(b.CreateAdd(width, b.getInt32(kWarpSize - 1)), 5);
        return Loop(steps, "x", [&](llvm::Value* index) -> Status {
          const LaneStep saved = std::exchange(step, row_step);
          step.width = kWarpSize;
          step.tid[0] = b.CreateShl(index, 5, "tid.x", true, true);
          step.thread = b.CreateAdd(row_step.thread, step.tid[0], "thread", true, true);
          if (times) BeginThread(*times);
          Status status = LaneVectors(*this, region).Run(FirstLanes(b.CreateSub(width, step.tid[0])));
          step = saved;
          return status;
        });
      });
}

std::optional<LaneRegion> FunctionEmitter::RegionOfRows(const ir::Inst& inst) const {
  if (m.lane_width != kWarpSize || stack_locals_ != nullptr) return std::nullopt;
  LaneRegionOptions options{.private_shared = private_shared,
                            .threads = LaneRegionOptions::Threads::kRow,
                            .varies_outside = [&](ir::ValueId id) { return IsVarying(id); }};
  std::optional<LaneRegion> region = analysis::FindLaneRegion(f, inst.edges[0].to, options);
  if (!region || !LaneVectors::SuitsRows(*this, *region)) return std::nullopt;
  return region;
}

Status FunctionEmitter::EmitForThreads(const ir::Inst& inst) {
  const uint32_t* required = f.required_threads;
  std::optional<LaneRegion> rows = RegionOfRows(inst);
  // With fewer threads in a row vectors are too empty; what is no loop LLVM may have done well.
  const uint32_t least_row = rows && rows->levels.size() > 1 ? kWarpSize / 4 : kWarpSize;
  BeginNotes(inst, !MasksLanes(inst));
  if (!rows || (required[0] != 0 && required[0] < least_row)) {
    TRY_STATUS(EmitRowsThreadByThread(inst));
  } else if (required[0] != 0) {
    TRY_STATUS(EmitRowsAsVectors(*rows));
  } else {
    llvm::BasicBlock *wide = NewBlock("wide_rows"), *narrow = NewBlock("narrow_rows"),
                     *after = NewBlock("after_rows");
    llvm::Value* width = Field(offsetof(ptx2cpu_block, ntid), b.getInt32Ty(), "ntid.x");
    b.CreateCondBr(b.CreateICmpUGE(width, b.getInt32(least_row)), wide, narrow);
    b.SetInsertPoint(wide);
    TRY_STATUS(EmitRowsAsVectors(*rows));
    b.CreateBr(after);
    b.SetInsertPoint(narrow);
    TRY_STATUS(EmitRowsThreadByThread(inst));
    b.CreateBr(after);
    b.SetInsertPoint(after);
  }
  EndNotes();
  if (f.has_early_exit) ContinueWhileLive(AnyLive(), step.end);
  Jump(inst.edges[1]);
  return {};
}

}  // namespace ptx2cpu::lowering
