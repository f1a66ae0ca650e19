#include "lowering/llvm/optimize/hoist_gathers.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MustExecute.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

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
      : loop_(loop), aliases_(aliases), dominators_(dominators) {}

  bool Run() {
    llvm::BasicBlock* before = loop_.getLoopPreheader();
    if (before == nullptr || !FindGathers()) return false;
    FindWrites();
    size_t hoisted = 0;
    for (llvm::CallBase* gather : gathers_) {
      if (hoisted == kMaxHoisted || !MayLeave(*gather)) continue;
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

  void FindWrites() {
    for (llvm::BasicBlock* block : loop_.blocks()) {
      for (llvm::Instruction& inst : *block) {
        if (inst.mayWriteToMemory() && IntrinsicIn(inst, llvm::Intrinsic::prefetch) == nullptr)
          writes_.push_back(&inst);
      }
    }
  }

  // What is ordered, a fence or an atomic, may let another thread's store be seen.
  bool Writes(const llvm::Instruction& write, const llvm::CallBase& gather) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&write);
    if (store != nullptr && store->isUnordered())
      return llvm::isModOrRefSet(aliases_.getModRefInfo(&gather, llvm::MemoryLocation::get(store)));
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&write);
    return call == nullptr || llvm::isModSet(aliases_.getModRefInfo(call, &gather));
  }

  // What runs in no turn may fault.
  bool MayLeave(const llvm::CallBase& gather) {
    if (!safety_) {
      safety_.emplace();
      safety_->computeLoopSafetyInfo(&loop_);
    }
    return safety_->isGuaranteedToExecute(gather, &dominators_, &loop_) &&
           llvm::none_of(writes_, [&](const llvm::Instruction* write) { return Writes(*write, gather); });
  }

  llvm::Loop& loop_;
  llvm::AAResults& aliases_;
  const llvm::DominatorTree& dominators_;
  llvm::SmallVector<llvm::CallBase*, 16> gathers_;
  llvm::SmallVector<const llvm::Instruction*, 16> writes_;
  std::optional<llvm::SimpleLoopSafetyInfo> safety_;
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
