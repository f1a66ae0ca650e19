#include "lowering/llvm/optimize/loop_reads.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>

namespace ptx2cpu::lowering {

namespace {

// The empty assembly that keeps stores in order (lanes/order_of_memory.cpp) is no instruction.
bool IsNoWrite(const llvm::Instruction& inst) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&inst);
  if (call == nullptr) return false;
  if (const auto* text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
    return text->getAsmString().empty();
  return call->getIntrinsicID() == llvm::Intrinsic::prefetch;
}

}  // namespace

void LoopReads::Look() {
  safety_.emplace();
  safety_->computeLoopSafetyInfo(&loop_);
  for (llvm::BasicBlock* block : loop_.blocks()) {
    for (llvm::Instruction& inst : *block) {
      if (inst.mayWriteToMemory() && !IsNoWrite(inst)) writes_.push_back(&inst);
    }
  }
}

// What is ordered, a fence or an atomic, may let another thread's store be seen.
bool LoopReads::Writes(const llvm::Instruction& write, const llvm::CallBase& gather) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&write);
  if (store != nullptr && store->isUnordered())
    return llvm::isModOrRefSet(aliases_.getModRefInfo(&gather, llvm::MemoryLocation::get(store)));
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&write);
  return call == nullptr || llvm::isModSet(aliases_.getModRefInfo(call, &gather));
}

// What runs in no turn may fault.
bool LoopReads::MayLeave(const llvm::CallBase& gather) {
  if (!safety_) Look();
  return safety_->isGuaranteedToExecute(gather, &dominators_, &loop_) &&
         llvm::none_of(writes_, [&](const llvm::Instruction* write) { return Writes(*write, gather); });
}

}  // namespace ptx2cpu::lowering
