#include "lowering/llvm/optimize/wide_joins.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

namespace ptx2cpu::lowering {

namespace {

// The number of edges from which on a block is divided, and the number for each part.
constexpr size_t kWide = 128, kPart = 32;

using Blocks = llvm::SmallVector<llvm::BasicBlock*>;

// A block for each kPart of the blocks that lead here.
Blocks PartsOf(llvm::BasicBlock& join, llvm::ArrayRef<llvm::BasicBlock*> from) {
  Blocks parts;
  for (; from.size() > 1; from = from.drop_front(std::min(kPart, from.size()))) {
    llvm::BasicBlock* part = llvm::SplitBlockPredecessors(&join, from.take_front(kPart), ".part");
    if (part != nullptr) parts.push_back(part);
  }
  return parts;
}

}  // namespace

llvm::PreservedAnalyses DivideWideJoins::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::DenseSet<const llvm::BasicBlock*> wide;
  for (llvm::BasicBlock& block : function) {
    if (block.hasNPredecessorsOrMore(kWide)) wide.insert(&block);
  }
  if (wide.empty()) return llvm::PreservedAnalyses::all();
  // In the order of the code: blocks that die together are in one part.
  llvm::MapVector<llvm::BasicBlock*, llvm::SmallSetVector<llvm::BasicBlock*, 8>> edges;
  for (llvm::BasicBlock* from : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    for (llvm::BasicBlock* to : llvm::successors(from)) {
      if (wide.contains(to)) edges[to].insert(from);
    }
  }
  for (auto& [join, from] : edges) {
    if (join->isEntryBlock() || join->isEHPad()) continue;
    Blocks parts(from.begin(), from.end());
    while (parts.size() >= kWide) parts = PartsOf(*join, parts);
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace ptx2cpu::lowering
