// The level of the code under emission, and the lanes that it runs for at once.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <optional>
#include <utility>

#include "ir/function.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::lowering {

// The clock of each thread of a region, see time.cpp. All are i64.
struct ThreadTimes {
  struct Of {
    llvm::AllocaInst* begin = nullptr;  // of the region; 0: no thread has read
    llvm::AllocaInst* skew = nullptr;   // of the thread
  };
  Of clock, timer;
  std::map<const ir::Inst*, llvm::AllocaInst*> latest;  // by the place that reads
};

// Quotients and remainders of the places in a row of the data, at the start of the row's part.
struct PlacesInRow {
  llvm::Value* begin = nullptr;                // i32: tid.x there
  std::map<uint32_t, llvm::Value*> results{};  // by the division's result
};

// The width is a property of the region that is being emitted: at width 1 a value is a scalar, at width W one
// that differs between lanes is a vector <W x T> and a uniform one a scalar.
struct LaneStep {
  ir::Level level = ir::Level::kBlock;
  unsigned width = 1;             // lanes of the step
  llvm::Value* warp = nullptr;    // i32; null at block level
  llvm::Value* lane = nullptr;    // i32, first lane of the step
  llvm::Value* thread = nullptr;  // i32, first thread of the step
  // i32, of the first lane, where the loops count them; else the block's table has them.
  llvm::Value* tid[3] = {nullptr, nullptr, nullptr};
  llvm::BasicBlock* end = nullptr;   // end_lane, end_warp, or the function's return
  llvm::BasicBlock* exit = nullptr;  // exit_lane
  // Accesses of different iterations are independent: no barrier is between them.
  llvm::MDNode* access_group = nullptr;
  std::optional<ThreadTimes> times{};
  const PlacesInRow* places = nullptr;  // null: steps may be in two rows of the data
  // The instructions that a value is computed from may have been skipped because no lane was active.
  bool under_masks = false;
};

// The step of the code that is being emitted. It changes for the life of a Scope only.
class CurrentStep {
 public:
  const LaneStep* operator->() const { return &step_; }
  const LaneStep& operator*() const { return step_; }

  class Scope {
   public:
    Scope(CurrentStep& current, LaneStep step)
        : current_(current), saved_(std::exchange(current.step_, std::move(step))) {}
    ~Scope() { current_.step_ = std::move(saved_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CurrentStep& current_;
    LaneStep saved_;
  };

 private:
  LaneStep step_;
};

}  // namespace ptx2cpu::lowering
