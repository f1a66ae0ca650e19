#include "lowering/llvm/optimize/unrolling.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <functional>

#include "lowering/llvm/module/steps.h"

namespace ptx2cpu::lowering {

namespace {

// Instructions of the body. The benchmark's kernels reach their speed at 16 to 30; from 60 on, generating
// code takes half as long again.
constexpr size_t kMaxBody = 24;

// The same for steps of a block whose number is known: stores past the caches and trees in shared memory gain
// by copies (reduce_shared takes 1.6 times as long with 80).
constexpr size_t kMaxStep = 400;

// Short loops of a function that get copies of their bodies, the innermost first: after each, LLVM walks over
// all of the loop around it.
constexpr size_t kMaxLoops = 24;

bool IsShort(const llvm::Loop& loop, size_t most) {
  size_t size = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) size += block->sizeWithoutDebug();
  return loop.isInnermost() && size <= most;
}

}  // namespace

llvm::PreservedAnalyses KeepLongLoops::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) {
  llvm::SmallVector<llvm::Loop*> loops =
      analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder();
  std::ranges::stable_sort(loops, std::greater(), &llvm::Loop::getLoopDepth);
  size_t unrolled = 0;
  for (llvm::Loop* loop : loops) {
    if (!IsShort(*loop, kMaxBody) || ++unrolled > kMaxLoops)
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.runtime.disable", 1);
  }
  return llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses KeepSteps::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (llvm::findOptionMDForLoop(loop, kStepsMetadata) == nullptr) continue;
    if (!IsShort(*loop, kMaxStep)) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.disable", 1);
    } else if (const unsigned trips = evolution.getSmallConstantTripCount(loop);
               trips > 1 && IsShort(*loop, kMaxStep / trips)) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.full", 1);
    }
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace ptx2cpu::lowering
