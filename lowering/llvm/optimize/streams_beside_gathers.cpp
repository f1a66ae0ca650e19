#include "lowering/llvm/optimize/streams_beside_gathers.h"

#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

namespace ptx2cpu::lowering {

namespace {

// A gather for so many stores costs as much as the stores gain.
constexpr uint64_t kStoresOfGather = 64;

bool IsGather(const llvm::Instruction& inst) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_gather;
}

}  // namespace

bool GathersWaitForStreams(const llvm::TargetMachine& machine) {
  return machine.getTargetTriple().isX86() && !machine.getTargetCPU().starts_with("znver") &&
         !machine.getTargetCPU().starts_with("sapphirerapids") &&
         !machine.getTargetCPU().starts_with("emeraldrapids") &&
         !machine.getTargetCPU().starts_with("graniterapids");
}

llvm::PreservedAnalyses CacheStoresBesideGathers::run(llvm::Function& function,
                                                      llvm::FunctionAnalysisManager& analyses) {
  llvm::SmallVector<llvm::StoreInst*, 8> streams;
  llvm::SmallVector<llvm::Instruction*, 8> gathers;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : block) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&inst);
      if (store != nullptr && store->getMetadata(llvm::LLVMContext::MD_nontemporal) != nullptr)
        streams.push_back(store);
      if (IsGather(inst)) gathers.push_back(&inst);
    }
  }
  if (streams.empty() || gathers.empty()) return llvm::PreservedAnalyses::all();
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  const auto& frequencies = analyses.getResult<llvm::BlockFrequencyAnalysis>(function);
  const auto outermost = [&](const llvm::Instruction* inst) {
    const llvm::Loop* loop = loops.getLoopFor(inst->getParent());
    return loop == nullptr ? nullptr : loop->getOutermostLoop();
  };
  const auto often = [&](const llvm::Instruction* inst) {
    return frequencies.getBlockFreq(inst->getParent()).getFrequency();
  };
  llvm::DenseMap<const llvm::Loop*, uint64_t> most;  // of its gathers, how often one runs
  for (const llvm::Instruction* gather : gathers)
    most[outermost(gather)] = std::max(most[outermost(gather)], often(gather));
  for (llvm::StoreInst* store : streams) {
    const auto found = most.find(outermost(store));
    if (found == most.end() || found->second < often(store) / kStoresOfGather) continue;
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, nullptr);
    *changed_ = true;
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace ptx2cpu::lowering
