#include "lowering/llvm/optimize/idle_trips.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <optional>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

using namespace llvm::PatternMatch;

constexpr unsigned kMaxJumps = 4;  // from the test to the end of the trip; cycles of jumps do not end

// A loop with one counter, which its head compares before anything else happens.
struct CountedLoop {
  llvm::PHINode* counter;
  llvm::Instruction* following;  // the counter of the next trip; it does not wrap around
  llvm::BranchInst* back;        // at the end of a trip
};

// Whether the block does nothing but jump to the one after it.
bool OnlyJumps(const llvm::BasicBlock& block) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch != nullptr && branch->isUnconditional() && block.sizeWithoutDebug() == 1;
}

bool IsIdle(const llvm::Instruction& inst) { return !inst.mayHaveSideEffects() && !inst.mayReadFromMemory(); }

// Values of blocks that each trip runs through are of use in the loop only.
bool StaysWithin(const llvm::BasicBlock& block, const llvm::Loop& loop) {
  return llvm::all_of(block, [&](const llvm::Instruction& inst) {
    return IsIdle(inst) && llvm::all_of(inst.users(), [&](const llvm::User* user) {
             return loop.contains(llvm::cast<llvm::Instruction>(user));
           });
  });
}

std::optional<CountedLoop> CounterOf(const llvm::Loop& loop) {
  llvm::BasicBlock *head = loop.getHeader(), *latch = loop.getLoopLatch();
  if (latch == nullptr || latch == head || loop.getLoopPreheader() == nullptr) return std::nullopt;
  auto* back = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (back == nullptr || !back->isConditional() || !loop.isLoopExiting(latch)) return std::nullopt;
  if (!llvm::hasSingleElement(head->phis())) return std::nullopt;
  llvm::PHINode* counter = &*head->phis().begin();
  auto* following = llvm::dyn_cast<llvm::Instruction>(counter->getIncomingValueForBlock(latch));
  if (following == nullptr || !match(following, m_NUWAdd(m_Specific(counter), m_One()))) return std::nullopt;
  if (!StaysWithin(*head, loop) || !StaysWithin(*latch, loop)) return std::nullopt;
  return CountedLoop{counter, following, back};
}

// From which value of the counter on the head leads to the end of the trip at once. Null: none is known.
llvm::Value* FirstIdle(const llvm::Loop& loop, const CountedLoop& counted) {
  const auto* test = llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  if (test == nullptr || !test->isConditional()) return nullptr;
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  bool idle_if[2];
  for (unsigned n = 0; n < 2; ++n) {
    const llvm::BasicBlock* to = test->getSuccessor(n);
    for (unsigned jumps = 0; to != latch && OnlyJumps(*to) && jumps < kMaxJumps; ++jumps)
      to = to->getSingleSuccessor();
    idle_if[n] = to == latch;
  }
  if (idle_if[0] == idle_if[1]) return nullptr;
  llvm::CmpInst::Predicate predicate;
  llvm::Value* bound;
  if (!match(test->getCondition(), m_ICmp(predicate, m_Specific(counted.counter), m_Value(bound))))
    return nullptr;
  if (!loop.isLoopInvariant(bound)) return nullptr;
  // Busy trips: those whose counter compares so.
  if (idle_if[0]) predicate = llvm::CmpInst::getInversePredicate(predicate);
  if (predicate == llvm::CmpInst::ICMP_ULT) return bound;
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bound);
  const bool includes_bound = predicate == llvm::CmpInst::ICMP_ULE || predicate == llvm::CmpInst::ICMP_EQ;
  if (!includes_bound || constant == nullptr || constant->isMaxValue(false)) return nullptr;
  return llvm::ConstantInt::get(constant->getType(), constant->getValue() + 1);
}

bool EndEarly(const llvm::Loop& loop) {
  const std::optional<CountedLoop> counted = CounterOf(loop);
  llvm::Value* idle = counted ? FirstIdle(loop, *counted) : nullptr;
  if (idle == nullptr) return false;
  llvm::IRBuilder<> b(counted->back);
  llvm::Value* busy = b.CreateICmpULT(counted->following, idle);
  const bool again_if_true = counted->back->getSuccessor(0) == loop.getHeader();
  llvm::Value* condition = counted->back->getCondition();
  counted->back->setCondition(again_if_true ? b.CreateLogicalAnd(condition, busy)
                                            : b.CreateLogicalOr(condition, b.CreateNot(busy)));
  return true;
}

}  // namespace

llvm::PreservedAnalyses EndIdleTrips::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  for (const llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
    changed |= EndEarly(*loop);
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
