#include "lowering/llvm/emit/lone_atomics.h"

#include <cstddef>

#include "analysis/lanes/lone_atomics.h"
#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

LoneAtomics::LoneAtomics(FunctionEmitter& e, const ir::Function& f) : e_(e), any_(analysis::MayRunAlone(f)) {}

bool LoneAtomics::IsOpen(const ir::Inst& inst) const {
  return any_ && !decided_ && analysis::MayBeAlone(inst);
}

bool LoneAtomics::IsAlone(const ir::Inst& inst) const {
  return any_ && decided_.value_or(false) && analysis::MayBeAlone(inst);
}

Value LoneAtomics::Alone() {
  if (alone_ == nullptr) {
    alone_ = e_.body.AtEntry([&] {
      Value word = e_.body.Field(offsetof(ptx2cpu_block, alone), e_.b.getInt32Ty(), "alone");
      return e_.b.CreateICmpNE(word, e_.b.getInt32(0));
    });
  }
  return alone_;
}

Value LoneAtomics::Either(const std::function<Value()>& alone, const std::function<Value()>& else_) {
  auto& b = e_.b;
  llvm::BasicBlock *plain = e_.body.NewBlock("alone"), *locked = e_.body.NewBlock("not_alone"),
                   *done = e_.body.NewBlock("updated");
  b.CreateCondBr(Alone(), plain, locked);
  const auto arm = [&](llvm::BasicBlock* block, bool is_alone, const std::function<Value()>& make) {
    b.SetInsertPoint(block);
    const Decided decided(*this, is_alone);
    Value value = make();
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(done);
    return std::pair{value, end};
  };
  const auto [first, first_end] = arm(plain, true, alone);
  const auto [second, second_end] = arm(locked, false, else_);
  b.SetInsertPoint(done);
  if (first == nullptr || second == nullptr) return nullptr;
  llvm::PHINode* either = b.CreatePHI(first->getType(), 2);
  either->addIncoming(first, first_end);
  either->addIncoming(second, second_end);
  return either;
}

}  // namespace ptx2cpu::lowering
