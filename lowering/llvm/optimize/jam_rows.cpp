#include "lowering/llvm/optimize/jam_rows.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>

#include "lowering/llvm/module/steps.h"
#include "lowering/llvm/optimize/register_pressure.h"

namespace ptx2cpu::lowering {

namespace {

constexpr unsigned kMaxTurns = 4;
constexpr unsigned kMinChain = 8;         // operations, each of which waits for the one before
constexpr unsigned kMaxChainsOfTurn = 4;  // independent ones, which processors find themselves
constexpr size_t kMaxBody = 400;          // instructions

// The loop's body begins with its head, which is straight code; several turns execute it together.
class Jam {
 public:
  Jam(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const llvm::TargetTransformInfo& target)
      : loop_(loop),
        evolution_(evolution),
        target_(target),
        head_(*loop.getHeader()),
        latch_(loop.getLoopLatch()) {}

  bool Run() {
    if (!HasForm() || !IsLongChain() || !IsMovable()) return false;
    const unsigned trips = evolution_.getSmallConstantTripCount(&loop_);
    turns_ = kMaxTurns;
    while (turns_ > 1 && (trips % turns_ != 0 || !Fits())) turns_ /= 2;
    if (trips == 0 || turns_ < 2) return false;
    Repeat();
    Interleave();
    return true;
  }

 private:
  bool HasForm() const {
    if (!loop_.isInnermost() || latch_ == nullptr || loop_.getLoopPreheader() == nullptr) return false;
    size_t size = 0;
    for (const llvm::BasicBlock* block : loop_.blocks()) size += block->sizeWithoutDebug();
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch_->getTerminator());
    return size <= kMaxBody && branch != nullptr && loop_.getExitingBlock() == latch_ &&
           loop_.getExitBlock() != nullptr;
  }

  static bool IsVectorArithmetic(const llvm::Instruction& inst) {
    if (!inst.getType()->isVectorTy() || !inst.getType()->isFPOrFPVectorTy()) return false;
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
    return llvm::isa<llvm::BinaryOperator>(inst) ||
           (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fma);
  }

  bool IsLongChain() const {
    llvm::DenseMap<const llvm::Value*, unsigned> length;
    unsigned longest = 0, all = 0;
    for (const llvm::Instruction& inst : head_) {
      if (llvm::isa<llvm::PHINode>(inst)) continue;
      unsigned before = 0;
      for (const llvm::Value* operand : inst.operands()) before = std::max(before, length.lookup(operand));
      const bool counts = IsVectorArithmetic(inst);
      all += counts;
      length[&inst] = before + counts;
      longest = std::max(longest, before + counts);
    }
    return longest >= kMinChain && all <= longest * kMaxChainsOfTurn;
  }

  // Threads are independent of each other, except for scratch memory that their turns use one after the
  // other.
  bool IsMovable() const {
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      for (const llvm::Instruction& inst : *block) {
        const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&inst);
        if (pointer != nullptr && loop_.isLoopInvariant(pointer) &&
            llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)))
          return false;
        if (block != &head_ || inst.isTerminator() || !inst.mayReadOrWriteMemory()) continue;
        const bool simple = pointer != nullptr && !inst.isVolatile() && !inst.isAtomic();
        if (!simple || (inst.mayWriteToMemory() && &head_ != latch_)) return false;
      }
    }
    return true;
  }

  // Invariant operands that do not fit are in memory whatever the turns do.
  bool Fits() const {
    const unsigned registers = target_.getNumberOfRegisters(target_.getRegisterClassForType(true));
    const VectorsKept kept = VectorsKeptIn(loop_, head_, target_);
    const unsigned own = turns_ * kept.inside;
    return kept.outside + own <= registers || (kept.outside > registers / 2 && own <= registers * 3 / 4);
  }

  // `turns_` copies of the body, one after the other.
  void Repeat() {
    llvm::BasicBlock* exit = loop_.getExitBlock();
    const llvm::SmallVector<llvm::BasicBlock*, 8> blocks(loop_.blocks());
    body_.insert(blocks.begin(), blocks.end());
    llvm::SmallVector<llvm::Instruction*, kMaxTurns> ends;  // of turns but the last
    llvm::MDNode* properties = loop_.getLoopID();
    copies_.resize(turns_);
    heads_.assign(1, &head_);
    llvm::BasicBlock* last = latch_;
    for (unsigned turn = 1; turn < turns_; ++turn) {
      llvm::ValueToValueMapTy& map = *(copies_[turn] = std::make_unique<llvm::ValueToValueMapTy>());
      llvm::SmallVector<llvm::BasicBlock*, 8> made;
      for (llvm::BasicBlock* block : blocks) {
        llvm::BasicBlock* copy = llvm::CloneBasicBlock(block, map, ".jam", head_.getParent());
        while (block == &head_ && llvm::isa<llvm::PHINode>(copy->front())) copy->front().eraseFromParent();
        map[block] = copy;
        made.push_back(copy);
        body_.insert(copy);
      }
      for (llvm::PHINode& phi : head_.phis()) map[&phi] = At(turn - 1, phi.getIncomingValueForBlock(latch_));
      llvm::remapInstructionsInBlocks(made, map);
      heads_.push_back(llvm::cast<llvm::BasicBlock>(At(turn, &head_)));
      auto* next = llvm::cast<llvm::BasicBlock>(At(turn, latch_));
      ends.push_back(last->getTerminator());
      last = next;
    }
    for (llvm::PHINode& phi : exit->phis()) {
      llvm::Value* value = phi.getIncomingValueForBlock(latch_);
      phi.addIncoming(At(turns_ - 1, value), last);
      phi.removeIncomingValue(latch_, false);
    }
    for (llvm::PHINode& phi : head_.phis()) {
      const int from = phi.getBasicBlockIndex(latch_);
      phi.setIncomingValue(from, At(turns_ - 1, phi.getIncomingValue(from)));
      phi.setIncomingBlock(from, last);
    }
    // The last copy's branch leads to the loop's own head.
    auto* back = llvm::cast<llvm::BranchInst>(last->getTerminator());
    for (unsigned way = 0; way < back->getNumSuccessors(); ++way) {
      if (back->getSuccessor(way) == heads_.back()) back->setSuccessor(way, &head_);
    }
    back->setMetadata(llvm::LLVMContext::MD_loop, properties);
    for (unsigned turn = 0; turn + 1 < turns_; ++turn) {
      llvm::Instruction* end = ends[turn];
      llvm::BranchInst::Create(heads_[turn + 1], end->getIterator());
      end->eraseFromParent();
    }
  }

  llvm::Value* At(unsigned turn, llvm::Value* value) const {
    if (turn == 0) return value;
    const auto found = copies_[turn]->find(value);
    return found == copies_[turn]->end() ? value : &*found->second;
  }

  // Interleaves the instructions of the heads, also those of the copies whose blocks have no other
  // predecessor.
  void Interleave() {
    llvm::SmallVector<llvm::SmallVector<llvm::Instruction*, 64>, kMaxTurns> lists(turns_);
    for (unsigned turn = 0; turn < turns_; ++turn) {
      for (llvm::Instruction& inst : *heads_[turn]) {
        if (llvm::isa<llvm::PHINode>(inst) || inst.isTerminator()) continue;
        lists[turn].push_back(&inst);
        waiting_.insert(&inst);
      }
    }
    llvm::SmallVector<bool, kMaxTurns> complete(turns_, true);  // so far: its accesses keep their order
    for (size_t n = 0; n < lists[0].size(); ++n) {
      for (unsigned turn = 0; turn < turns_; ++turn) {
        llvm::Instruction& inst = *lists[turn][n];
        if (complete[turn] || !inst.mayReadOrWriteMemory()) complete[turn] &= Place(inst, true);
      }
    }
  }

  // After what it needs. False: an operand is computed elsewhere in the body, or by an access that is not
  // due yet.
  bool Place(llvm::Instruction& inst, bool due) {
    if (!waiting_.contains(&inst)) return inst.getParent() == &head_ || !body_.contains(inst.getParent());
    if (!due && inst.mayReadOrWriteMemory()) return false;
    for (llvm::Value* operand : inst.operands()) {
      auto* made = llvm::dyn_cast<llvm::Instruction>(operand);
      if (made != nullptr && !Place(*made, false)) return false;
    }
    waiting_.erase(&inst);
    inst.moveBefore(head_.getTerminator());
    return true;
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  const llvm::TargetTransformInfo& target_;
  llvm::BasicBlock& head_;
  llvm::BasicBlock* const latch_;
  unsigned turns_ = 1;
  llvm::SmallVector<std::unique_ptr<llvm::ValueToValueMapTy>, kMaxTurns> copies_;  // of turns but the first
  llvm::SmallVector<llvm::BasicBlock*, kMaxTurns> heads_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> body_;  // with the copies
  llvm::SmallPtrSet<llvm::Instruction*, 32> waiting_;
};

}  // namespace

llvm::PreservedAnalyses JamRows::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.getParent()->getNamedMetadata(kAtomicsMetadata) != nullptr)
    return llvm::PreservedAnalyses::all();
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  bool changed = false;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    const bool of_threads = llvm::findOptionMDForLoop(loop, kRowsMetadata) != nullptr ||
                            llvm::findOptionMDForLoop(loop, kStepsMetadata) != nullptr;
    if (of_threads) changed |= Jam(*loop, evolution, target).Run();
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace ptx2cpu::lowering
