// Decides whether the data that a loop reads may be read before it. Internal to this folder.
#pragma once

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MustExecute.h>
#include <llvm/IR/Dominators.h>

#include <optional>

namespace ptx2cpu::lowering {

class LoopReads {
 public:
  LoopReads(llvm::Loop& loop, llvm::AAResults& aliases, const llvm::DominatorTree& dominators)
      : loop_(loop), aliases_(aliases), dominators_(dominators) {}

  // Every turn makes the gather, and nothing in the loop writes what it may read.
  bool MayLeave(const llvm::CallBase& gather);

 private:
  void Look();
  bool Writes(const llvm::Instruction& write, const llvm::CallBase& gather);

  llvm::Loop& loop_;
  llvm::AAResults& aliases_;
  const llvm::DominatorTree& dominators_;
  llvm::SmallVector<const llvm::Instruction*, 16> writes_;
  std::optional<llvm::SimpleLoopSafetyInfo> safety_;
};

}  // namespace ptx2cpu::lowering
