#include "lowering/llvm/optimize/order_stores.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <numeric>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

// The number of elements in a register; 0: the store is at most one register, or not of whole registers.
unsigned ElementsOfParts(const llvm::StoreInst& store, unsigned bits) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(store.getValueOperand()->getType());
  if (type == nullptr || !store.isSimple()) return 0;
  const auto element = static_cast<unsigned>(store.getDataLayout().getTypeSizeInBits(type->getElementType()));
  if (element < 8 || bits % element != 0) return 0;
  const unsigned count = bits / element;
  if (type->getNumElements() <= count || type->getNumElements() % count != 0) return 0;
  // Variables of the function are in the first cache.
  return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(store.getPointerOperand())) ? 0 : count;
}

void Divide(llvm::StoreInst& store, unsigned count) {
  llvm::IRBuilder<> b(&store);
  auto* order = llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false), "", "~{memory}",
                                     /*SideEffects=*/true);
  llvm::Value *whole = store.getValueOperand(), *to = store.getPointerOperand();
  auto* type = llvm::cast<llvm::FixedVectorType>(whole->getType());
  const uint64_t bytes = store.getDataLayout().getTypeStoreSize(type->getElementType());
  for (unsigned first = 0; first < type->getNumElements(); first += count) {
    if (first != 0) b.CreateCall(order);
    llvm::SmallVector<int, 64> lanes(count);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
    llvm::StoreInst* part = b.CreateAlignedStore(b.CreateShuffleVector(whole, lanes),
                                                 b.CreateConstGEP1_64(b.getInt8Ty(), to, first * bytes),
                                                 llvm::commonAlignment(store.getAlign(), first * bytes));
    part->copyMetadata(store);
  }
  store.eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses OrderStores::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  const auto bits = static_cast<unsigned>(
      target.getRegisterBitWidth(llvm::TargetTransformInfo::RGK_FixedWidthVector).getFixedValue());
  if (bits < 128) return llvm::PreservedAnalyses::all();
  llvm::SmallVector<std::pair<llvm::StoreInst*, unsigned>> wide;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : block) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&inst);
      const unsigned count = store == nullptr ? 0 : ElementsOfParts(*store, bits);
      if (count != 0) wide.emplace_back(store, count);
    }
  }
  for (const auto& [store, count] : wide) Divide(*store, count);
  return PreservedWithBlocks(!wide.empty());
}

}  // namespace ptx2cpu::lowering
