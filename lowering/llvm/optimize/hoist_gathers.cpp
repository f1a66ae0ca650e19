#include "lowering/llvm/optimize/hoist_gathers.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>

#include "lowering/llvm/optimize/loop_reads.h"
#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

constexpr size_t kMaxHoisted = 64;  // of a loop: more would be a copy of what they read

const llvm::IntrinsicInst* IntrinsicIn(const llvm::Instruction& inst, llvm::Intrinsic::ID id) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
  return call != nullptr && call->getIntrinsicID() == id ? call : nullptr;
}

class Hoister {
 public:
  Hoister(llvm::Loop& loop, llvm::AAResults& aliases, const llvm::DominatorTree& dominators)
      : loop_(loop), reads_(loop, aliases, dominators) {}

  bool Run() {
    llvm::BasicBlock* before = loop_.getLoopPreheader();
    if (before == nullptr || !FindGathers()) return false;
    size_t hoisted = 0;
    for (llvm::CallBase* gather : gathers_) {
      if (hoisted == kMaxHoisted || !reads_.MayLeave(*gather)) continue;
      gather->moveBefore(before->getTerminator());
      ++hoisted;
    }
    return hoisted != 0;
  }

 private:
  bool FindGathers() {
    for (llvm::BasicBlock* block : loop_.blocks()) {
      for (llvm::Instruction& inst : *block) {
        if (IntrinsicIn(inst, llvm::Intrinsic::masked_gather) != nullptr &&
            loop_.hasLoopInvariantOperands(&inst))
          gathers_.push_back(llvm::cast<llvm::CallBase>(&inst));
      }
    }
    return !gathers_.empty();
  }

  llvm::Loop& loop_;
  LoopReads reads_;
  llvm::SmallVector<llvm::CallBase*, 16> gathers_;
};

}  // namespace

llvm::PreservedAnalyses HoistGathers::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& aliases = analyses.getResult<llvm::AAManager>(function);
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  bool changed = false;
  for (llvm::Loop* loop : llvm::reverse(
           analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()))  // inner ones first
    changed |= Hoister(*loop, aliases, dominators).Run();
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
