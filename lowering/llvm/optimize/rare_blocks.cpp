#include "lowering/llvm/optimize/rare_blocks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

constexpr uint64_t kRarely = 16;  // times as often is the other way taken

// Whether the instruction computes a vector, cannot fault, and reads only its operands.
bool MayMove(const llvm::Instruction& inst) {
  if (!inst.getType()->isVectorTy() || inst.isIntDivRem()) return false;
  return llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::ShuffleVectorInst,
                   llvm::InsertElementInst, llvm::SelectInst, llvm::GetElementPtrInst>(inst);
}

class Sinker {
 public:
  Sinker(llvm::Function& function, const llvm::DominatorTree& dominators) : f_(function), d_(dominators) {}

  bool Run() {
    FindRareBlocks();
    if (rare_.empty()) return false;
    FindMoved();
    if (moved_.empty()) return false;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&f_)) {
      if (!rare_.contains(block)) continue;
      for (llvm::Instruction& inst : *block) {
        if (!llvm::isa<llvm::PHINode>(inst)) MoveOperands(inst);
      }
      MoveForPhis(*block);
    }
    for (llvm::Instruction* inst : moved_) {  // users come first
      if (inst->use_empty()) inst->eraseFromParent();
    }
    return true;
  }

 private:
  void FindRareBlocks() {
    for (llvm::BasicBlock& block : f_) {
      const llvm::BasicBlock* from = block.getSinglePredecessor();
      const llvm::DomTreeNode* node = d_.getNode(&block);
      if (from == nullptr || node == nullptr) continue;
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
      uint64_t yes = 0, no = 0;
      if (branch == nullptr || !branch->isConditional() || !llvm::extractBranchWeights(*branch, yes, no))
        continue;
      const bool is_first = branch->getSuccessor(0) == &block;
      if ((is_first ? yes : no) * kRarely > (is_first ? no : yes)) continue;
      llvm::SmallVector<llvm::BasicBlock*, 16> all;
      d_.getDescendants(&block, all);
      rare_.insert(all.begin(), all.end());
    }
  }

  // Where an operand is needed: a block's parameter needs it at the end of the block before.
  static const llvm::BasicBlock* PlaceOf(const llvm::Use& use) {
    const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) return phi->getIncomingBlock(use);
    return user->getParent();
  }

  void FindMoved() {
    for (llvm::BasicBlock* block : llvm::post_order(&f_)) {
      if (rare_.contains(block)) continue;
      for (llvm::Instruction& inst : llvm::reverse(*block)) {
        if (!MayMove(inst) || inst.use_empty()) continue;
        const bool only_there = llvm::all_of(inst.uses(), [&](const llvm::Use& use) {
          const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
          return rare_.contains(PlaceOf(use)) || moved_.contains(const_cast<llvm::Instruction*>(user));
        });
        if (only_there) moved_.insert(&inst);
      }
    }
  }

  llvm::Value* Made(llvm::Value* value, llvm::Instruction& before) {
    auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    if (inst == nullptr || !moved_.contains(inst)) return value;
    llvm::Instruction*& made = made_[{before.getParent(), inst}];
    if (made != nullptr) return made;
    llvm::Instruction* copy = inst->clone();
    copy->insertBefore(before.getIterator());
    made = copy;  // before its operands are made, which may grow the map
    for (llvm::Use& operand : copy->operands()) operand.set(Made(operand.get(), *copy));
    return copy;
  }

  void MoveOperands(llvm::Instruction& inst) {
    for (llvm::Use& operand : inst.operands()) operand.set(Made(operand.get(), inst));
  }

  void MoveForPhis(llvm::BasicBlock& from) {
    for (llvm::BasicBlock* to : llvm::successors(&from)) {
      for (llvm::PHINode& phi : to->phis()) {
        for (unsigned n = 0; n < phi.getNumIncomingValues(); ++n) {
          if (phi.getIncomingBlock(n) != &from) continue;
          phi.setIncomingValue(n, Made(phi.getIncomingValue(n), *from.getTerminator()));
        }
      }
    }
  }

  llvm::Function& f_;
  const llvm::DominatorTree& d_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> rare_;
  llvm::SetVector<llvm::Instruction*> moved_;
  llvm::DenseMap<std::pair<const llvm::BasicBlock*, const llvm::Instruction*>, llvm::Instruction*> made_;
};

}  // namespace

llvm::PreservedAnalyses SinkIntoRareBlocks::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager& analyses) {
  return PreservedWithBlocks(
      Sinker(function, analyses.getResult<llvm::DominatorTreeAnalysis>(function)).Run());
}

}  // namespace ptx2cpu::lowering
