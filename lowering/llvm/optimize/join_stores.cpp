#include "lowering/llvm/optimize/join_stores.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

constexpr size_t kMinStores = 4, kMaxBytes = 64;
constexpr size_t kMaxDistance = 1000;  // instructions between the first and the last

struct Element {
  int64_t offset;
  llvm::StoreInst* store;
};
using StoreRun = llvm::SmallVector<Element, 16>;

// Elements of vectors, and results of scalar arithmetic that is done in their registers.
bool IsInVectorRegister(const llvm::Value* value) {
  if (llvm::isa<llvm::Constant>(value) || llvm::isa<llvm::LoadInst>(value)) return false;
  if (value->getType()->isFloatTy() || value->getType()->isDoubleTy()) return true;
  return llvm::isa<llvm::ExtractElementInst>(value) &&
         (value->getType()->isIntegerTy(32) || value->getType()->isIntegerTy(64));
}

class Joiner {
 public:
  Joiner(llvm::BasicBlock& block, llvm::AAResults& aliases) : block_(block), aliases_(aliases) {}

  bool Run() {
    const llvm::DataLayout& layout = block_.getDataLayout();
    llvm::MapVector<std::pair<llvm::Value*, llvm::Type*>, StoreRun> stores;
    for (llvm::Instruction& inst : block_) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&inst);
      if (store == nullptr || !store->isSimple() || !IsInVectorRegister(store->getValueOperand())) continue;
      llvm::APInt offset(64, 0);
      llvm::Value* base = store->getPointerOperand()->stripAndAccumulateConstantOffsets(
          layout, offset, /*AllowNonInbounds=*/true);
      stores[{base, store->getValueOperand()->getType()}].push_back({offset.getSExtValue(), store});
    }
    bool changed = false;
    for (auto& [key, all] : stores)
      changed |= JoinRuns(all, static_cast<int64_t>(layout.getTypeStoreSize(key.second)));
    return changed;
  }

 private:
  bool JoinRuns(StoreRun& all, int64_t bytes) {
    if (all.size() < kMinStores) return false;
    llvm::stable_sort(all,
                      [](const Element& one, const Element& other) { return one.offset < other.offset; });
    bool changed = false;
    for (size_t first = 0; first < all.size();) {
      size_t end = first + 1;
      while (end < all.size() && all[end].offset == all[end - 1].offset + bytes) ++end;
      // The same place twice: which store remains is not looked into.
      const bool twice = (end < all.size() && all[end].offset == all[end - 1].offset) ||
                         (first > 0 && all[first].offset == all[first - 1].offset);
      const size_t most = std::min(end - first, kMaxBytes / static_cast<size_t>(bytes));
      const size_t count = llvm::bit_floor(most);
      if (twice || count < kMinStores) {
        first = end;
        continue;
      }
      const llvm::ArrayRef<Element> run(&all[first], count);
      if (MayMove(run)) {
        Join(run);
        changed = true;
      }
      first += count;
    }
    return changed;
  }

  static llvm::StoreInst* LastOf(llvm::ArrayRef<Element> run) {
    return llvm::max_element(run, [](const Element& one,
                                     const Element& other) { return one.store->comesBefore(other.store); })
        ->store;
  }

  // To the last of them: nothing between that sees whether an earlier one is done.
  bool MayMove(llvm::ArrayRef<Element> run) {
    llvm::SmallPtrSet<const llvm::Instruction*, 16> own;
    for (const Element& element : run) own.insert(element.store);
    const llvm::StoreInst* last = LastOf(run);
    return llvm::all_of(run, [&](const Element& element) {
      const llvm::MemoryLocation place = llvm::MemoryLocation::get(element.store);
      size_t distance = 0;
      for (llvm::Instruction* inst = element.store; inst != last; inst = inst->getNextNode()) {
        if (++distance > kMaxDistance) return false;
        if (own.contains(inst) || !inst->mayReadOrWriteMemory()) {
          if (!inst->isTerminator() && !inst->mayThrow()) continue;
          return false;
        }
        if (llvm::isModOrRefSet(aliases_.getModRefInfo(inst, place))) return false;
      }
      return true;
    });
  }

  static void Join(llvm::ArrayRef<Element> run) {
    llvm::StoreInst* last = LastOf(run);
    llvm::IRBuilder<> b(last);
    llvm::Type* element = last->getValueOperand()->getType();
    llvm::Value* vector =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(element, static_cast<unsigned>(run.size())));
    for (size_t n = 0; n < run.size(); ++n)
      vector = b.CreateInsertElement(vector, run[n].store->getValueOperand(), uint64_t{n});
    llvm::Value* pointer = run.front().store->getPointerOperand();
    llvm::StoreInst* joined = b.CreateAlignedStore(vector, pointer, run.front().store->getAlign());
    llvm::AAMDNodes tags = run.front().store->getAAMetadata();
    for (const Element& member : run) tags = tags.merge(member.store->getAAMetadata());
    joined->setAAMetadata(tags);
    for (const Element& member : run) member.store->eraseFromParent();
  }

  llvm::BasicBlock& block_;
  llvm::AAResults& aliases_;
};

}  // namespace

llvm::PreservedAnalyses JoinStores::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& aliases = analyses.getResult<llvm::AAManager>(function);
  bool changed = false;
  for (llvm::BasicBlock& block : function) changed |= Joiner(block, aliases).Run();
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
