#include "lowering/llvm/optimize/long_functions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

#include <optional>
#include <utility>
#include <vector>

#include "lowering/llvm/optimize/long_blocks.h"

namespace ptx2cpu::lowering {

namespace {

// The size of a piece in blocks, and the number of further blocks that a loop counts for.
constexpr size_t kSizeOfPiece = 1024, kSizeOfLoop = 12;

// A piece is what one block dominates and another, which that one dominates and which is in the same loop,
// does not: control enters it at one place. It is left where the code leaves it: into the next piece, back to
// a loop's head, out of the loop. Pieces are looked for along paths of the dominator tree, from each block to
// that of its children which has most below it.
class Splitter {
 public:
  explicit Splitter(llvm::Function& function)
      : function_(function), dominators_(function), loops_(dominators_) {
    for (const llvm::DomTreeNode* node :
         llvm::post_order<const llvm::DomTreeNode*>(dominators_.getRootNode())) {
      size_t below = loops_.isLoopHeader(node->getBlock()) ? kSizeOfLoop + 1 : 1;
      for (const llvm::DomTreeNode* child : node->children()) below += below_.lookup(child);
      below_[node] = below;
    }
  }

  void Run() {
    starts_.push_back(dominators_.getRootNode());
    while (!starts_.empty()) FollowPath(starts_.pop_back_val());
    if (pieces_.empty()) return;
    const llvm::CodeExtractorAnalysisCache cache(function_);
    for (const std::vector<llvm::BasicBlock*>& piece : pieces_) {
      llvm::CodeExtractor extractor(piece, nullptr, false, nullptr, nullptr, nullptr, false, false, nullptr,
                                    "piece");
      if (!extractor.isEligible()) continue;
      llvm::Function* made = extractor.extractCodeRegion(cache);
      if (made != nullptr) made->addFnAttr(llvm::Attribute::NoInline);
    }
  }

 private:
  using Node = const llvm::DomTreeNode*;

  void FollowPath(Node start) {
    path_.clear();
    for (Node node = start; node != nullptr;) {
      path_.push_back(node);
      Node next = nullptr;
      for (Node child : node->children()) {
        if (next == nullptr || below_.lookup(child) > below_.lookup(next)) next = child;
      }
      for (Node child : node->children()) {
        if (child != next && below_.lookup(child) > kSizeOfPiece) starts_.push_back(child);
      }
      node = next;
    }
    Cut(0, path_.size());
  }

  // The size of the code between two places of the path.
  size_t SizeBetween(size_t from, size_t to) const {
    return below_.lookup(path_[from]) - (to < path_.size() ? below_.lookup(path_[to]) : 0);
  }

  const llvm::Loop* LoopAt(size_t place) const { return loops_.getLoopFor(path_[place]->getBlock()); }
  bool MayBegin(size_t place) const {
    llvm::BasicBlock* block = path_[place]->getBlock();
    return block != &function_.getEntryBlock() && !loops_.isLoopHeader(block);
  }

  // At the outermost level of this part of the path; where too much is between two places of it, also
  // in between.
  void Cut(size_t from, size_t to) {
    const llvm::Loop* outer = LoopAt(from);
    for (size_t n = from; n < to; ++n) {
      const llvm::Loop* loop = LoopAt(n);
      if (outer != nullptr && (loop == nullptr || loop->getLoopDepth() < outer->getLoopDepth())) outer = loop;
    }
    std::optional<size_t> begin;  // of the piece
    size_t before = from;         // the last place of that level, or where the part begins
    for (size_t n = from; n < to; ++n) {
      if (LoopAt(n) != outer) continue;
      CutBetween(before, n, begin);
      if (!begin && MayBegin(n)) begin = n;
      before = n;
    }
    if (before + 1 < to && SizeBetween(before, to) > kSizeOfPiece) Cut(before + 1, to);
  }

  // Two places of one level that follow each other; the piece may end at either.
  void CutBetween(size_t place, size_t next, std::optional<size_t>& begin) {
    if (place == next) return;
    if (SizeBetween(place, next) > kSizeOfPiece) {
      if (begin && *begin != place) Add(*begin, place);
      begin.reset();
      if (place + 1 < next) Cut(place + 1, next);
    } else if (begin && SizeBetween(*begin, next) >= kSizeOfPiece) {
      Add(*begin, next);
      begin.reset();
    }
  }

  void Add(size_t from, size_t to) {
    if (SizeBetween(from, to) <= kSizeOfPiece / 2) return;
    std::vector<llvm::BasicBlock*> blocks;
    llvm::SmallVector<Node> open{path_[from]};
    while (!open.empty()) {
      const Node node = open.pop_back_val();
      blocks.push_back(node->getBlock());
      for (Node child : node->children()) {
        if (child != path_[to]) open.push_back(child);
      }
    }
    RemoveShared(blocks);
    pieces_.push_back(std::move(blocks));
  }

  // Blocks that others lead to as well (where a warp's turn ends early): the piece leads to them.
  static void RemoveShared(std::vector<llvm::BasicBlock*>& piece) {
    llvm::DenseSet<llvm::BasicBlock*> inside(piece.begin(), piece.end());
    llvm::SmallVector<llvm::BasicBlock*> work(piece.begin() + 1, piece.end());
    while (!work.empty()) {
      llvm::BasicBlock* block = work.pop_back_val();
      const auto is_outside = [&](llvm::BasicBlock* from) { return !inside.contains(from); };
      if (block == piece.front() || is_outside(block) || llvm::none_of(llvm::predecessors(block), is_outside))
        continue;
      inside.erase(block);
      work.append(llvm::succ_begin(block), llvm::succ_end(block));
    }
    std::erase_if(piece, [&](llvm::BasicBlock* block) { return !inside.contains(block); });
  }

  llvm::Function& function_;
  const llvm::DominatorTree dominators_;
  const llvm::LoopInfo loops_;
  llvm::DenseMap<Node, size_t> below_;  // size of what it dominates
  llvm::SmallVector<Node> starts_;
  std::vector<Node> path_;
  std::vector<std::vector<llvm::BasicBlock*>> pieces_;  // each with the block that begins it first
};

}  // namespace

void SplitLongFunctions(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && NumbersOfLoops(function).AreMany()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) Splitter(*function).Run();
}

}  // namespace ptx2cpu::lowering
