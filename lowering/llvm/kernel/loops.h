// Regions, and the loops of for_warps and for_lanes: a terminator emits its loop and, inside, a
// fresh copy of the region it runs.
#pragma once

#include <functional>
#include <optional>

#include "lowering/llvm/emit/function_emitter.h"
#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

// The region that begins at `edge.to`, for the lanes of `step`.
Status EmitRegion(FunctionEmitter& e, const ir::Edge& edge, const LaneStep& step);

class LoopEmitter {
 public:
  explicit LoopEmitter(FunctionEmitter& e) : e(e), b(e.b) {}
  Status ForWarps(const ir::Inst& inst);
  Status ForLanes(const ir::Inst& inst);  // over the lanes of a warp
  // The loop where lanes suspend on their own: one lane after the other.
  Status ForEachLane(const ir::Inst& inst);
  // Flat: over the threads of the block, as a nest over z, y and x, rows.cpp.
  Status ForThreads(const ir::Inst& inst);

 private:
  // Head and latch of a loop that is entered at least once.
  struct LaneLoop {
    llvm::PHINode* index;
    llvm::BasicBlock *head, *next, *after;
    llvm::Value* count;
  };
  LaneLoop Open(llvm::Value* count, const char* name, llvm::Value* first = nullptr);
  // `remainder`: not worth being made vectors of.
  void Close(const LaneLoop& loop, llvm::MDNode* access_group, bool remainder = false);
  llvm::MDNode* Metadata(llvm::MDNode* access_group, bool remainder);
  // Whether some lanes of the loop may have exited before it, or may exit in it.
  bool MasksLanes(const ir::Inst& loop) const {
    return e.lanes_missing && (loop.attrs.flags & ir::kUniform) == 0;
  }
  bool MayExit(const ir::Inst& loop) const {
    return e.exits.within[loop.block.index] && (loop.attrs.flags & ir::kUniform) == 0;
  }
  // Clears the lane's live bit.
  llvm::BasicBlock* ExitBlock(const LaneStep& lane_step, llvm::BasicBlock* done);
  // The region of one lane, in the innermost loop; skips lanes that have exited.
  Status Lane(const ir::Inst& inst, LaneStep lane_step, const LaneLoop& loop);

  // ahead.cpp: lines that a lane `by` after the step's updates, if it `is_there`; those of the loop's first
  // lanes; those of the lane some turns later.
  bool PrefetchesLater(const ir::Inst& inst) const;
  Status PrefetchForLane(const ir::Inst& inst, LaneStep step, llvm::Value* by, llvm::Value* is_there);
  Status PrefetchFirst(const ir::Inst& inst, const LaneStep& step, llvm::Value* first, llvm::Value* end);
  Status PrefetchLater(const ir::Inst& inst, const LaneStep& step, const LaneLoop& loop);

  // Some lanes of the warp: `count` from `first` on, those of them that exist.
  Status LanesOneByOne(const ir::Inst& inst, llvm::Value* first, unsigned count,
                       const std::optional<ThreadTimes>& times);
  // The same for those of them that have not exited and are not parked.
  Status LanesOfMask(const ir::Inst& inst, llvm::Value* first, unsigned count,
                     const std::optional<ThreadTimes>& times);
  // `body` for each lane of the warp that is a bit of `bits`.
  Status ForSetBits(llvm::Value* bits, const std::function<Status(LaneStep)>& body);
  Status LanesAsVectors(const ir::Inst& inst, const LanePlan& plan);
  // One step: its lanes that run are bits of `live`.
  Status StepOfLanes(const ir::Inst& inst, const LanePlan& plan, llvm::Value* live,
                     const std::optional<ThreadTimes>& times);
  Status EachRow(const std::function<Status(LaneStep, llvm::Value*)>& body);
  Status Threads(const ir::Inst& inst);
  Status WideRows(const ir::Inst& inst, const LanePlan& plan);
  // Whether rows have `width` threads at least.
  Status IfRowsHold(unsigned width, const std::function<Status()>& yes, const std::function<Status()>& no);
  Status EachWarp(const ir::Inst& inst);
  // The loop over lanes that is all that a loop over warps does; null: it does other things.
  const ir::Inst* OnlyLanes(const ir::Inst& warps) const;
  // Threads of the row from `first` (null: 0, and there are no others) up to `end`: one at least.
  Status ThreadsOneByOne(const ir::Inst& inst, LaneStep row_step, llvm::Value* first, llvm::Value* end);
  // `live` (an integer of a bit each): the threads that have not exited; null: all. `rest`: how many of the
  // row are left.
  Status MaskedStepOfRow(const LanePlan& plan, llvm::Value* rest, llvm::Value* live);
  Status StepOfRow(const ir::Inst& inst, const LaneStep& row_step, llvm::Value* width, const LanePlan& plan);
  // How many threads of the row, from its first one on, may do something. Null: all. guarded_rows.cpp
  llvm::Value* GuardedThreads(const LaneRegion& region, const LaneStep& row_step, llvm::Value* width);
  Status GuardedThreadsOneByOne(const ir::Inst& inst, const LaneStep& row_step, llvm::Value* width);
  // quotient_rows.cpp: a row's threads, divided where a row of the data ends; where it has no such rows,
  // `others`.
  Status RowsOfData(const ir::Inst& inst, const LanePlan& plan, const LaneStep& row_step, llvm::Value* width,
                    const std::function<Status()>& others);
  Status EachRowOfData(const ir::Inst& inst, const LanePlan& plan, const LaneStep& row_step,
                       llvm::Value* width, llvm::Value* first_place, llvm::Value* least,
                       const std::vector<llvm::Value*>& divisors);
  Status RowAsVectors(const LanePlan& plan, const LaneStep& row_step, llvm::Value* first, llvm::Value* end,
                      const std::function<Status()>& step);

  FunctionEmitter& e;
  llvm::IRBuilder<>& b;
};

}  // namespace ptx2cpu::lowering
