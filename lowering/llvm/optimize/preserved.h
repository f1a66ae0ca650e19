// The analyses that stay valid after passes which keep all blocks and edges. Internal to this folder.
#pragma once

#include <llvm/IR/Analysis.h>
#include <llvm/IR/CFG.h>

namespace ptx2cpu::lowering {

// All of them where nothing has changed, else those of blocks.
inline llvm::PreservedAnalyses PreservedWithBlocks(bool changed) {
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace ptx2cpu::lowering
