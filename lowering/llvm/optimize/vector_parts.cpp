#include "lowering/llvm/optimize/vector_parts.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

constexpr unsigned kMinBits = 128;  // narrower integers are registers

// The vector whose elements, as an integer, these are.
llvm::Value* PartOf(llvm::TruncInst& part) {
  using namespace llvm::PatternMatch;
  llvm::Value* vector = nullptr;
  const llvm::APInt* shift = nullptr;
  const bool is_first = match(part.getOperand(0), m_BitCast(m_Value(vector)));
  if (!is_first && !match(part.getOperand(0), m_LShr(m_BitCast(m_Value(vector)), m_APInt(shift))))
    return nullptr;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
  if (type == nullptr || part.getSrcTy()->getScalarSizeInBits() <= kMinBits || part.getSrcTy()->isVectorTy())
    return nullptr;
  const unsigned element = type->getScalarSizeInBits(), bits = part.getType()->getScalarSizeInBits();
  const uint64_t first = is_first ? 0 : shift->getLimitedValue();
  if (element < 8 || bits % element != 0 || first % element != 0 ||
      first + bits > part.getSrcTy()->getScalarSizeInBits())
    return nullptr;
  llvm::IRBuilder<> b(&part);
  llvm::Value* elements = b.CreateShuffleVector(
      vector, llvm::createSequentialMask(static_cast<unsigned>(first / element), bits / element, 0));
  return elements;
}

// Mostly the integer is a vector again; a part that is an integer in between would be treated as one.
bool Replace(llvm::TruncInst& part) {
  const bool are_vectors = llvm::all_of(part.users(), [](const llvm::User* user) {
    return llvm::isa<llvm::BitCastInst>(user) && user->getType()->isVectorTy();
  });
  llvm::Value* elements = are_vectors ? PartOf(part) : nullptr;
  if (elements == nullptr) return false;
  for (llvm::User* user : part.users()) {
    llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(user));
    user->replaceAllUsesWith(b.CreateBitCast(elements, user->getType()));
  }
  return true;
}

}  // namespace

llvm::PreservedAnalyses ExtractVectorParts::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : block) {
      auto* part = llvm::dyn_cast<llvm::TruncInst>(&inst);
      if (part != nullptr && Replace(*part)) llvm::append_range(replaced, part->users());
    }
  }
  const bool changed = !replaced.empty();
  llvm::RecursivelyDeleteTriviallyDeadInstructions(replaced);
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
