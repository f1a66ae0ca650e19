#include "lowering/llvm/optimize/known_masks.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

#include <numeric>
#include <optional>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

using Value = llvm::Value*;

struct Run {
  unsigned first, count;
};

// Lanes side by side, as many as a vector of the machine may have; no others.
std::optional<Run> RunOf(const llvm::Value* mask) {
  const auto* lanes = llvm::dyn_cast<llvm::Constant>(mask);
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (lanes == nullptr || type == nullptr) return std::nullopt;
  Run run{0, 0};
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    const auto* bit = llvm::dyn_cast_or_null<llvm::ConstantInt>(lanes->getAggregateElement(lane));
    if (bit == nullptr) return std::nullopt;
    if (bit->isZero()) continue;
    if (run.count == 0) run.first = lane;
    if (run.first + run.count++ != lane) return std::nullopt;
  }
  const bool is_part = run.count < type->getNumElements() && llvm::isPowerOf2_32(run.count);
  return is_part ? std::optional(run) : std::nullopt;
}

// An access to memory under a mask, in its own operands' order.
class Access {
 public:
  Access(llvm::IntrinsicInst& inst, Run run) : inst_(inst), run_(run), b_(&inst) {}

  void Narrow() {
    const bool loads = inst_.getIntrinsicID() == llvm::Intrinsic::masked_load;
    if (loads) {
      inst_.replaceAllUsesWith(Load());
    } else {
      Store();
    }
    inst_.eraseFromParent();
  }

 private:
  Value Load() {
    auto* whole = llvm::cast<llvm::FixedVectorType>(inst_.getType());
    auto* part = llvm::FixedVectorType::get(whole->getElementType(), run_.count);
    llvm::LoadInst* load = b_.CreateAlignedLoad(part, Place(whole, 0), Align(whole, 1));
    load->copyMetadata(inst_);
    // Before and after the run: what the lanes without an access have.
    const unsigned count = whole->getNumElements();
    llvm::SmallVector<int, 64> widened(count, llvm::PoisonMaskElem), joined(count);
    std::iota(widened.begin() + run_.first, widened.begin() + run_.first + run_.count, 0);
    for (unsigned lane = 0; lane < count; ++lane)
      joined[lane] = static_cast<int>(widened[lane] < 0 ? count + lane : lane);
    return b_.CreateShuffleVector(b_.CreateShuffleVector(load, widened), inst_.getArgOperand(3), joined);
  }

  void Store() {
    Value whole = inst_.getArgOperand(0);
    auto* type = llvm::cast<llvm::FixedVectorType>(whole->getType());
    llvm::SmallVector<int, 64> lanes(run_.count);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(run_.first));
    llvm::StoreInst* store =
        b_.CreateAlignedStore(b_.CreateShuffleVector(whole, lanes), Place(type, 1), Align(type, 2));
    store->copyMetadata(inst_);
  }

  uint64_t Distance(const llvm::FixedVectorType* type) const {
    return uint64_t{type->getScalarSizeInBits()} / 8 * run_.first;
  }
  Value Place(const llvm::FixedVectorType* type, unsigned pointer) {
    Value start = inst_.getArgOperand(pointer);
    return run_.first == 0 ? start : b_.CreateConstGEP1_64(b_.getInt8Ty(), start, Distance(type));
  }
  llvm::Align Align(const llvm::FixedVectorType* type, unsigned align) const {
    const llvm::Align whole = llvm::cast<llvm::ConstantInt>(inst_.getArgOperand(align))->getAlignValue();
    return llvm::commonAlignment(whole, Distance(type));
  }

  llvm::IntrinsicInst& inst_;
  const Run run_;
  llvm::IRBuilder<> b_;
};

// Elements that memory has as bytes.
bool HasBytes(const llvm::Type* vector) {
  const unsigned bits = vector->getScalarSizeInBits();
  return bits != 0 && bits % 8 == 0 && !vector->getScalarType()->isPointerTy();
}

}  // namespace

llvm::PreservedAnalyses NarrowKnownMasks::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : llvm::make_early_inc_range(block)) {
      auto* access = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
      if (access == nullptr) continue;
      const bool loads = access->getIntrinsicID() == llvm::Intrinsic::masked_load;
      if (!loads && access->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
      const std::optional<Run> run = RunOf(access->getArgOperand(loads ? 2 : 3));
      if (!run || !HasBytes(loads ? access->getType() : access->getArgOperand(0)->getType())) continue;
      Access(*access, *run).Narrow();
      changed = true;
    }
  }
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
