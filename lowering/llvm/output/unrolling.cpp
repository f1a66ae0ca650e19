#include "lowering/llvm/output/unrolling.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace ptx2cpu::lowering {

namespace {

// Instructions of the body. The benchmark's kernels reach their speed at 16 to 30; from 60 on, generating
// code takes half as long again.
constexpr size_t kMaxBody = 24;

bool IsShort(const llvm::Loop& loop) {
  size_t size = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) size += block->sizeWithoutDebug();
  return loop.isInnermost() && size <= kMaxBody;
}

}  // namespace

llvm::PreservedAnalyses KeepLongLoops::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) {
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (!IsShort(*loop)) llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.runtime.disable", 1);
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace ptx2cpu::lowering
