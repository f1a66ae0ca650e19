#include "lowering/llvm/optimize/turn_order.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <optional>

namespace ptx2cpu::lowering {

namespace {

constexpr size_t kMaxAccesses = 100;  // each is compared with each other one

class Turn {
 public:
  Turn(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::AAResults& aliases, llvm::ScalarEvolution& evolution)
      : aliases_(aliases), evolution_(evolution) {
    llvm::LoopBlocksRPO order(&loop);
    order.perform(&loops);
    for (llvm::BasicBlock* block : order) {
      for (llvm::Instruction& inst : *block) {
        if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(inst)) accesses_.push_back(&inst);
      }
    }
  }

  bool IsLong() const { return accesses_.size() > kMaxAccesses && std::ranges::any_of(accesses_, IsStore); }

  // Whether joining accesses could pass one that must stay before or after them.
  bool HasOrder() {
    if (std::ranges::none_of(accesses_, IsStore)) return false;
    for (size_t n = 0; n < accesses_.size(); ++n) {
      const bool is_store = IsStore(accesses_[n]);
      // What lies between a store and the last one beside it, between the first load beside one and it.
      for (size_t m = is_store ? LastBeside(n) : FirstBeside(n); m != n; is_store ? --m : ++m) {
        if (Meet(accesses_[n], accesses_[m])) return true;
      }
    }
    return false;
  }

 private:
  static bool IsStore(const llvm::Instruction* access) { return llvm::isa<llvm::StoreInst>(access); }

  std::optional<int64_t> Distance(llvm::Instruction* from, llvm::Instruction* to) {
    const llvm::SCEV *first = evolution_.getSCEV(llvm::getLoadStorePointerOperand(from)),
                     *second = evolution_.getSCEV(llvm::getLoadStorePointerOperand(to));
    const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getMinusSCEV(second, first));
    if (distance == nullptr || distance->getAPInt().getSignificantBits() > 64) return std::nullopt;
    return distance->getAPInt().getSExtValue();
  }
  // Accesses of one array count as beside each other also where their distance is unknown: LLVM may find it
  // under conditions that it tests in front of the loop.
  bool AreBeside(size_t one, size_t other) {
    return IsStore(accesses_[one]) == IsStore(accesses_[other]) && BaseOf(one) == BaseOf(other);
  }
  const llvm::SCEV* BaseOf(size_t access) {
    return evolution_.getPointerBase(evolution_.getSCEV(llvm::getLoadStorePointerOperand(accesses_[access])));
  }
  size_t LastBeside(size_t store) {
    size_t last = accesses_.size() - 1;
    while (last != store && !AreBeside(store, last)) --last;
    return last;
  }
  size_t FirstBeside(size_t load) {
    size_t first = 0;
    while (first != load && !AreBeside(load, first)) ++first;
    return first;
  }

  // Whether one writes what the other accesses in the same turn.
  bool Meet(llvm::Instruction* one, llvm::Instruction* other) {
    if (!IsStore(one) && !IsStore(other)) return false;
    const llvm::MemoryLocation first = llvm::MemoryLocation::get(one),
                               second = llvm::MemoryLocation::get(other);
    if (aliases_.isNoAlias(first, second)) return false;
    const std::optional<int64_t> distance = Distance(one, other);
    if (!distance || !first.Size.hasValue() || !second.Size.hasValue()) return true;
    return *distance < static_cast<int64_t>(first.Size.getValue().getFixedValue()) &&
           -*distance < static_cast<int64_t>(second.Size.getValue().getFixedValue());
  }

  llvm::AAResults& aliases_;
  llvm::ScalarEvolution& evolution_;
  llvm::SmallVector<llvm::Instruction*, 32> accesses_;  // in their order
};

}  // namespace

llvm::PreservedAnalyses KeepOrderOfTurns::run(llvm::Function& function,
                                              llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const bool is_vectorised =
        llvm::getOptionalBoolLoopAttribute(loop, "llvm.loop.vectorize.enable").value_or(true);
    if (!loop->isInnermost() || !is_vectorised || !loop->isAnnotatedParallel()) continue;
    Turn turn(*loop, loops, analyses.getResult<llvm::AAManager>(function),
              analyses.getResult<llvm::ScalarEvolutionAnalysis>(function));
    if (turn.IsLong()) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
    } else if (turn.HasOrder()) {
      loop->setLoopID(llvm::makePostTransformationMetadata(function.getContext(), loop->getLoopID(),
                                                           {"llvm.loop.parallel_accesses"}, {}));
    }
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace ptx2cpu::lowering
