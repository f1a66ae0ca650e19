#include "lowering/llvm/optimize/vector_halves.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

using namespace llvm::PatternMatch;

// The vector whose halves are permuted alike. Null: this is not such a permutation.
llvm::Value* WholeOf(llvm::Instruction& both) {
  llvm::Value *high = nullptr, *low = nullptr;
  if (!both.getType()->isVectorTy() || both.getType()->getScalarSizeInBits() != 64) return nullptr;
  if (!match(&both, m_c_Or(m_Shl(m_ZExt(m_Value(high)), m_SpecificInt(32)), m_ZExt(m_Value(low)))))
    return nullptr;
  const auto* highs = llvm::dyn_cast<llvm::ShuffleVectorInst>(high);
  const auto* lows = llvm::dyn_cast<llvm::ShuffleVectorInst>(low);
  if (highs == nullptr || lows == nullptr || highs->getShuffleMask() != lows->getShuffleMask())
    return nullptr;
  llvm::Value *whole[2], *other[2];
  for (unsigned n = 0; n < 2; ++n) {
    if (llvm::isa<llvm::PoisonValue>(highs->getOperand(n)) &&
        llvm::isa<llvm::PoisonValue>(lows->getOperand(n))) {
      whole[n] = nullptr;
      continue;
    }
    if (!match(highs->getOperand(n), m_Trunc(m_LShr(m_Value(whole[n]), m_SpecificInt(32)))) ||
        !match(lows->getOperand(n), m_Trunc(m_Value(other[n]))) || whole[n] != other[n] ||
        whole[n]->getType()->getScalarSizeInBits() != 64)
      return nullptr;
  }
  if (whole[0] == nullptr) return nullptr;
  if (whole[1] == nullptr) whole[1] = llvm::PoisonValue::get(whole[0]->getType());
  return llvm::IRBuilder<>(&both).CreateShuffleVector(whole[0], whole[1], highs->getShuffleMask());
}

}  // namespace

llvm::PreservedAnalyses JoinVectorHalves::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : block) {
      if (inst.getOpcode() != llvm::Instruction::Or) continue;
      llvm::Value* whole = WholeOf(inst);
      if (whole == nullptr) continue;
      inst.replaceAllUsesWith(whole);
      replaced.emplace_back(&inst);
    }
  }
  const bool changed = !replaced.empty();
  llvm::RecursivelyDeleteTriviallyDeadInstructions(replaced);
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
