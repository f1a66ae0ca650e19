#include "lowering/llvm/optimize/narrow_extrema.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

constexpr unsigned kWidths[] = {8, 16};

// The value in this many bits, if it is extended from them or from fewer.
llvm::Value* Narrow(llvm::Value* value, llvm::Type* type) {
  llvm::Value* narrow = nullptr;
  const bool is_extended =
      llvm::PatternMatch::match(value, llvm::PatternMatch::m_ZExt(llvm::PatternMatch::m_Value(narrow)));
  return is_extended && narrow->getType() == type ? narrow : nullptr;
}

bool Fits(llvm::Value* value, unsigned bits, const llvm::DataLayout& layout) {
  return llvm::computeKnownBits(value, layout).countMaxActiveBits() <= bits;
}

// Null: an operand may be longer than any of the widths, or both would have to be cut.
llvm::Value* Narrowed(llvm::MinMaxIntrinsic& inst, const llvm::DataLayout& layout) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(inst.getType());
  if (type == nullptr) return nullptr;
  for (const unsigned bits : kWidths) {
    if (type->getScalarSizeInBits() <= bits) return nullptr;
    auto* narrow =
        llvm::FixedVectorType::get(llvm::Type::getIntNTy(inst.getContext(), bits), type->getNumElements());
    llvm::Value *x = Narrow(inst.getLHS(), narrow), *y = Narrow(inst.getRHS(), narrow);
    if (x == nullptr && y == nullptr) continue;
    if (!Fits(x == nullptr ? inst.getLHS() : inst.getRHS(), bits, layout)) continue;
    llvm::IRBuilder<> b(&inst);
    if (x == nullptr) x = b.CreateTrunc(inst.getLHS(), narrow);
    if (y == nullptr) y = b.CreateTrunc(inst.getRHS(), narrow);
    const llvm::Intrinsic::ID id = inst.getIntrinsicID();
    const bool is_minimum = id == llvm::Intrinsic::smin || id == llvm::Intrinsic::umin;
    return b.CreateZExt(
        b.CreateBinaryIntrinsic(is_minimum ? llvm::Intrinsic::umin : llvm::Intrinsic::umax, x, y),
        inst.getType());
  }
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses NarrowExtrema::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  bool changed = false;
  for (llvm::BasicBlock* block :
       llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {  // operands first
    for (llvm::Instruction& inst : llvm::make_early_inc_range(*block)) {
      auto* extremum = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&inst);
      llvm::Value* narrowed = extremum == nullptr ? nullptr : Narrowed(*extremum, layout);
      if (narrowed == nullptr) continue;
      extremum->replaceAllUsesWith(narrowed);
      extremum->eraseFromParent();
      changed = true;
    }
  }
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
