#include "lowering/llvm/module/steps.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>

#include "ir/result.h"

namespace ptx2cpu::lowering {

void MarkSteps(llvm::IRBuilder<>& b) {
  llvm::BasicBlock* head = b.GetInsertBlock()->getSinglePredecessor();
  CHECK(head != nullptr, "the builder is not at the end of a loop");
  // The counter: its first value, then that of the next turn.
  const auto& counter = llvm::cast<llvm::PHINode>(head->front());
  llvm::LLVMContext& context = b.getContext();
  llvm::Metadata* steps = llvm::MDNode::get(context, llvm::MDString::get(context, kStepsMetadata));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, steps});
  loop->replaceOperandWith(0, loop);
  counter.getIncomingBlock(1)->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace ptx2cpu::lowering
