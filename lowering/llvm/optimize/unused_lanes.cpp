#include "lowering/llvm/optimize/unused_lanes.h"

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

// Whether each lane of the result depends only on the same lane of the operands. (A divisor without a value
// is an error also in a lane that is not used.)
bool IsLaneWise(const llvm::Instruction& inst) {
  if (inst.isIntDivRem()) return false;
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst>(inst)) return true;
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&inst))
    return select->getCondition()->getType()->isVectorTy();
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst))
    return llvm::isTriviallyVectorizable(call->getIntrinsicID()) && call->getType()->isVectorTy();
  const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst);
  auto lanes = [](llvm::Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector == nullptr ? 0 : vector->getNumElements();
  };
  return cast != nullptr && lanes(cast->getType()) == lanes(cast->getSrcTy());
}

class Lanes {
 public:
  // Which lanes of the operand the user needs, if its own result is needed in the lanes that are known so
  // far.
  llvm::APInt NeededBy(const llvm::User& user, const llvm::Use& use, unsigned count) const {
    llvm::APInt all = llvm::APInt::getAllOnes(count);
    const auto& inst = *llvm::cast<llvm::Instruction>(&user);
    if (const auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&inst)) {
      const auto* lane = llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand());
      if (use.getOperandNo() != 0 || lane == nullptr || lane->uge(count)) return all;
      return llvm::APInt::getOneBitSet(count, static_cast<unsigned>(lane->getZExtValue()));
    }
    const auto known = needed_.find(&inst);
    if (known == needed_.end()) return all;
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&inst)) {
      llvm::APInt lanes(count, 0);
      const int first = use.getOperandNo() == 0 ? 0 : static_cast<int>(count);
      for (unsigned n = 0; n < known->second.getBitWidth(); ++n) {
        const int from = shuffle->getMaskValue(n) - first;
        if (known->second[n] && from >= 0 && from < static_cast<int>(count))
          lanes.setBit(static_cast<unsigned>(from));
      }
      return lanes;
    }
    return IsLaneWise(inst) && known->second.getBitWidth() == count ? known->second : all;
  }

  // Users come first, except those on the next trip of a loop, which need all.
  void Visit(llvm::Instruction& inst) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(inst.getType());
    if (type == nullptr || llvm::isa<llvm::PHINode>(inst)) return;
    llvm::APInt lanes(type->getNumElements(), 0);
    for (const llvm::Use& use : inst.uses()) lanes |= NeededBy(*use.getUser(), use, type->getNumElements());
    needed_[&inst] = lanes;
  }

  bool Drop(llvm::ShuffleVectorInst& shuffle) const {
    const llvm::APInt& lanes = needed_.at(&shuffle);
    llvm::SmallVector<int, 64> mask(shuffle.getShuffleMask());
    bool drops = false;
    for (unsigned n = 0; n < mask.size(); ++n) {
      if (lanes[n] || mask[n] < 0) continue;
      mask[n] = llvm::PoisonMaskElem;
      drops = true;
    }
    if (drops) shuffle.setShuffleMask(mask);
    return drops;
  }

 private:
  llvm::DenseMap<const llvm::Instruction*, llvm::APInt> needed_;
};

}  // namespace

llvm::PreservedAnalyses DropUnusedLanes::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Lanes lanes;
  llvm::SmallVector<llvm::ShuffleVectorInst*, 32> shuffles;
  for (llvm::BasicBlock* block : llvm::post_order(&function)) {
    for (llvm::Instruction& inst : llvm::reverse(*block)) {
      lanes.Visit(inst);
      if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&inst)) shuffles.push_back(shuffle);
    }
  }
  bool changed = false;
  for (llvm::ShuffleVectorInst* shuffle : shuffles) {
    if (llvm::isa<llvm::FixedVectorType>(shuffle->getType())) changed |= lanes.Drop(*shuffle);
  }
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
