#include "lowering/llvm/optimize/regroup_masks.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

using Opcode = llvm::Instruction::BinaryOps;
constexpr unsigned kMaxDepth = 16;
constexpr size_t kMinParts = 3;
constexpr size_t kMaxBits = 64;  // operations may share operands, which are counted once for each

bool IsMask(const llvm::Value& value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
  return type != nullptr && type->getElementType()->isIntegerTy(1);
}

bool Combines(const llvm::Value* value, Opcode op) {
  const auto* inst = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return inst != nullptr && inst->getOpcode() == op && IsMask(*inst);
}

class Group {
 public:
  Group(llvm::BinaryOperator& root, const llvm::LoopInfo& loops)
      : root_(root), op_(root.getOpcode()), loops_(loops) {}

  bool Run() {
    AddParts(&root_, 0);
    if (bits_.empty() || bits_.size() + masks_.size() < kMinParts) return false;
    llvm::IRBuilder<> b(&root_);
    llvm::Value* bit = Combined(b, bits_);
    auto* type = llvm::cast<llvm::FixedVectorType>(root_.getType());
    llvm::Value* all = b.CreateVectorSplat(type->getNumElements(), bit);
    llvm::Value* mask = masks_.empty() ? all : b.CreateBinOp(op_, Combined(b, masks_), all);
    root_.replaceAllUsesWith(mask);
    return true;
  }

 private:
  // The operands of a tree of operations of one kind whose results have no other uses.
  void AddParts(llvm::Value* value, unsigned depth) {
    if (depth < kMaxDepth && Combines(value, op_) && (value == &root_ || value->hasOneUse())) {
      for (llvm::Value* operand : llvm::cast<llvm::BinaryOperator>(value)->operands())
        AddParts(operand, depth + 1);
      return;
    }
    llvm::Value* lanes = nullptr;
    using namespace llvm::PatternMatch;
    if (depth < kMaxDepth && match(value, m_Shuffle(m_Value(lanes), m_Value(), m_ZeroMask())) &&
        AddBits(lanes, depth + 1))
      return;
    masks_.push_back(value);
  }

  // What the first lane holds, where all of it is known as bits.
  bool AddBits(llvm::Value* lanes, unsigned depth) {
    llvm::Value* bit = nullptr;
    using namespace llvm::PatternMatch;
    if (match(lanes, m_InsertElt(m_Value(), m_Value(bit), m_ZeroInt()))) {
      bits_.push_back(bit);
      return true;
    }
    if (depth >= kMaxDepth || bits_.size() >= kMaxBits || !Combines(lanes, op_)) return false;
    const size_t before = bits_.size();
    for (llvm::Value* operand : llvm::cast<llvm::BinaryOperator>(lanes)->operands()) {
      if (AddBits(operand, depth + 1)) continue;
      bits_.resize(before);
      return false;
    }
    return true;
  }

  unsigned DepthOf(const llvm::Value* value) const {
    const auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    return inst == nullptr ? 0 : loops_.getLoopDepth(inst->getParent());
  }

  // First those of the outer loops, so that what is before a loop can be computed there.
  llvm::Value* Combined(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<llvm::Value*>& parts) {
    llvm::stable_sort(parts,
                      [&](const llvm::Value* x, const llvm::Value* y) { return DepthOf(x) < DepthOf(y); });
    llvm::Value* all = parts[0];
    for (llvm::Value* part : llvm::drop_begin(parts)) all = b.CreateBinOp(op_, all, part);
    return all;
  }

  llvm::BinaryOperator& root_;
  const Opcode op_;
  const llvm::LoopInfo& loops_;
  llvm::SmallVector<llvm::Value*, 8> bits_, masks_;
};

bool IsRoot(const llvm::BinaryOperator& inst) {
  const Opcode op = inst.getOpcode();
  if ((op != llvm::Instruction::Or && op != llvm::Instruction::And) || !IsMask(inst)) return false;
  return !inst.hasOneUse() || !Combines(inst.user_back(), op);
}

}  // namespace

llvm::PreservedAnalyses RegroupMasks::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::SmallVector<llvm::BinaryOperator*, 16> roots;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : block) {
      auto* combines = llvm::dyn_cast<llvm::BinaryOperator>(&inst);
      if (combines != nullptr && IsRoot(*combines)) roots.push_back(combines);
    }
  }
  bool changed = false;
  for (llvm::BinaryOperator* root : roots) changed |= Group(*root, loops).Run();
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
