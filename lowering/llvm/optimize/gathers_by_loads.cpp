#include "lowering/llvm/optimize/gathers_by_loads.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "lowering/llvm/optimize/streams_beside_gathers.h"

namespace ptx2cpu::lowering {

namespace {

namespace patterns = llvm::PatternMatch;

constexpr int kDepth = 12;                 // instructions that an address is followed through
constexpr unsigned kMaxLoads = 2048;       // of a function
constexpr unsigned kLanesOfRegister = 16;  // of 4 bytes

// Addresses of lanes as one that all have alike, and 32 bits of each lane, which have a sign, times a scale.
class Offsets {
 public:
  Offsets(llvm::IRBuilder<>& b, const llvm::DataLayout& layout) : b_(b), layout_(layout) {}

  // Null: they are not of this form.
  llvm::Value* Narrow(llvm::Value* pointers) {
    if (!AddPointers(pointers, kDepth) || lanes_ == nullptr) return nullptr;
    if (scale_ != 1 && scale_ != 2 && scale_ != 4 && scale_ != 8) return nullptr;
    llvm::Value* base = base_;
    llvm::Value* sum = b_.getInt64(static_cast<uint64_t>(offset_));
    for (const auto& [value, factor] : common_) {
      llvm::Value* wide = b_.CreateSExt(value, b_.getInt64Ty());
      sum = b_.CreateAdd(sum, factor == 1 ? wide : b_.CreateMul(wide, b_.getInt64(factor)));
    }
    base = base == nullptr ? b_.CreateIntToPtr(sum, b_.getPtrTy()) : b_.CreateGEP(b_.getInt8Ty(), base, sum);
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(lanes_->getType())->getNumElements();
    llvm::Value* index = Lanes32();
    index = b_.CreateSExt(index, llvm::FixedVectorType::get(b_.getInt64Ty(), lanes));
    return b_.CreateGEP(b_.getIntNTy(static_cast<unsigned>(scale_) * 8), base, index);
  }

 private:
  bool AddPointers(llvm::Value* pointers, int depth) {
    if (depth == 0) return false;
    llvm::Value* one = pointers->getType()->isVectorTy() ? llvm::getSplatValue(pointers) : pointers;
    if (one != nullptr) {
      base_ = one;
      return true;
    }
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(pointers)) {
      const llvm::TypeSize bytes = layout_.getTypeAllocSize(gep->getSourceElementType());
      return gep->getNumIndices() == 1 && !bytes.isScalable() && AddPointers(gep->getOperand(0), depth - 1) &&
             AddIndex(gep->getOperand(1), bytes.getFixedValue(), depth - 1);
    }
    const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointers);
    return cast != nullptr && cast->getOperand(0)->getType()->getScalarSizeInBits() == 64 &&
           AddIndex(cast->getOperand(0), 1, depth - 1);
  }

  // An index of addresses: narrower ones have a sign.
  bool AddIndex(llvm::Value* index, uint64_t factor, int depth) {
    if (depth == 0) return false;
    const unsigned bits = index->getType()->getScalarSizeInBits();
    if (llvm::Value* one = index->getType()->isVectorTy() ? llvm::getSplatValue(index) : index)
      return AddCommon(one, factor);
    if (bits <= 32) return SetLanes(index, factor, true);
    llvm::Value *x = nullptr, *y = nullptr;
    const llvm::APInt* number = nullptr;
    if (patterns::match(index, patterns::m_Add(patterns::m_Value(x), patterns::m_Value(y))) ||
        patterns::match(index, patterns::m_DisjointOr(patterns::m_Value(x), patterns::m_Value(y))))
      return AddIndex(x, factor, depth - 1) && AddIndex(y, factor, depth - 1);
    if (patterns::match(index, patterns::m_Shl(patterns::m_Value(x), patterns::m_APInt(number))))
      return number->ult(4) && AddIndex(x, factor << number->getZExtValue(), depth - 1);
    if (patterns::match(index, patterns::m_Mul(patterns::m_Value(x), patterns::m_APInt(number))))
      return number->ule(8) && AddIndex(x, factor * number->getZExtValue(), depth - 1);
    if (patterns::match(index, patterns::m_SExt(patterns::m_Value(x)))) return SetLanes(x, factor, true);
    if (patterns::match(index, patterns::m_ZExt(patterns::m_Value(x))))
      return SetLanes(x, factor, llvm::cast<llvm::Instruction>(index)->hasNonNeg());
    return false;
  }
  bool AddCommon(llvm::Value* value, uint64_t factor) {
    if (value->getType()->getScalarSizeInBits() > 64) return false;
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
      offset_ += static_cast<int64_t>(static_cast<uint64_t>(number->getSExtValue()) * factor);
    else
      common_.emplace_back(value, factor);
    return true;
  }
  bool SetLanes(llvm::Value* lanes, uint64_t factor, bool has_sign) {
    const unsigned bits = lanes->getType()->getScalarSizeInBits();
    if (lanes_ != nullptr || bits > 32) return false;
    lanes_ = lanes;
    scale_ = factor;
    has_sign_ = has_sign;
    // Numbers without a sign are 2^31 more than ones with it.
    if (bits == 32 && !has_sign) offset_ += static_cast<int64_t>(factor << 31);
    return true;
  }
  llvm::Value* Lanes32() {
    llvm::Type* type = lanes_->getType()->getWithNewBitWidth(32);
    if (lanes_->getType() != type)
      return has_sign_ ? b_.CreateSExt(lanes_, type) : b_.CreateZExt(lanes_, type);
    return has_sign_ ? lanes_ : b_.CreateXor(lanes_, llvm::ConstantInt::get(type, 1u << 31));
  }

  llvm::IRBuilder<>& b_;
  const llvm::DataLayout& layout_;
  llvm::Value *base_ = nullptr, *lanes_ = nullptr;
  uint64_t scale_ = 0;
  bool has_sign_ = false;
  int64_t offset_ = 0;
  llvm::SmallVector<std::pair<llvm::Value*, uint64_t>, 4> common_;
};

class Gathers {
 public:
  Gathers(llvm::Function& function, const llvm::LoopInfo& loops) : function_(function), loops_(loops) {}

  bool Run() {
    llvm::SmallVector<llvm::CallBase*, 16> gathers;
    for (llvm::BasicBlock& block : function_) {
      for (llvm::Instruction& inst : block) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
        if (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_gather)
          gathers.push_back(call);
      }
    }
    // Of many, those that run most often.
    llvm::stable_sort(gathers, [&](const llvm::CallBase* x, const llvm::CallBase* y) {
      return loops_.getLoopDepth(x->getParent()) > loops_.getLoopDepth(y->getParent());
    });
    bool changed = false;
    for (llvm::CallBase* gather : gathers) changed |= Change(*gather);
    return changed;
  }

 private:
  bool Change(llvm::CallBase& gather) {
    const auto* type = llvm::cast<llvm::FixedVectorType>(gather.getType());
    const unsigned bits = type->getScalarSizeInBits(), lanes = type->getNumElements();
    llvm::Value* otherwise = gather.getArgOperand(3);
    if (type->getElementType()->isPointerTy() || (bits != 32 && bits != 64)) return false;
    if (bits == 32 && lanes % kLanesOfRegister == 0) {
      if (HasOffsets(gather.getArgOperand(0))) return false;
      if (ByOffsets(gather)) return true;
    }
    if (!patterns::match(otherwise, patterns::m_CombineOr(patterns::m_Zero(), patterns::m_Undef())))
      return false;
    if (lanes > loads_left_) return false;
    loads_left_ -= lanes;
    ByLoads(gather);
    return true;
  }

  static bool HasOffsets(llvm::Value* pointers) {
    const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(pointers);
    if (gep == nullptr || gep->getNumIndices() != 1 || gep->getPointerOperandType()->isVectorTy())
      return false;
    const auto* index = llvm::dyn_cast<llvm::SExtInst>(gep->getOperand(1));
    return index != nullptr && index->getSrcTy()->getScalarSizeInBits() == 32;
  }
  static bool ByOffsets(llvm::CallBase& gather) {
    llvm::IRBuilder<> b(&gather);
    llvm::Value* pointers = Offsets(b, gather.getDataLayout()).Narrow(gather.getArgOperand(0));
    if (pointers == nullptr) return false;
    gather.setArgOperand(0, pointers);
    return true;
  }

  void ByLoads(llvm::CallBase& gather) {
    llvm::IRBuilder<> b(&gather);
    auto* type = llvm::cast<llvm::FixedVectorType>(gather.getType());
    const llvm::Align align = llvm::cast<llvm::ConstantInt>(gather.getArgOperand(1))->getAlignValue();
    llvm::Value *pointers = gather.getArgOperand(0), *mask = gather.getArgOperand(2);
    const auto* all = llvm::dyn_cast<llvm::Constant>(mask);
    if (all == nullptr || !all->isAllOnesValue())
      pointers = b.CreateSelect(mask, pointers, b.CreateVectorSplat(type->getNumElements(), Zero()));
    llvm::Value* made = llvm::PoisonValue::get(type);
    for (unsigned n = 0; n < type->getNumElements(); ++n) {
      llvm::LoadInst* load = b.CreateAlignedLoad(type->getElementType(), PointerOf(b, pointers, n), align);
      load->copyMetadata(gather, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
      made = b.CreateInsertElement(made, load, n);
    }
    made->takeName(&gather);
    gather.replaceAllUsesWith(made);
    gather.eraseFromParent();
  }

  // Without a vector of addresses where they lie at constant distances.
  static llvm::Value* PointerOf(llvm::IRBuilder<>& b, llvm::Value* pointers, unsigned lane) {
    const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(pointers);
    if (gep != nullptr && gep->getNumIndices() == 1 && !gep->getPointerOperandType()->isVectorTy()) {
      const auto* distances = llvm::dyn_cast<llvm::Constant>(gep->getOperand(1));
      llvm::Constant* distance = distances != nullptr ? distances->getAggregateElement(lane) : nullptr;
      if (distance != nullptr) return b.CreateGEP(gep->getSourceElementType(), gep->getOperand(0), distance);
    }
    return b.CreateExtractElement(pointers, lane);
  }

  llvm::Value* Zero() {
    if (zero_ == nullptr) {
      llvm::BasicBlock& entry = function_.getEntryBlock();
      llvm::IRBuilder<> b(&entry, entry.getFirstInsertionPt());
      llvm::AllocaInst* zero = b.CreateAlloca(b.getInt64Ty(), nullptr, "zero");
      b.CreateStore(b.getInt64(0), zero);
      zero_ = zero;
    }
    return zero_;
  }

  llvm::Function& function_;
  const llvm::LoopInfo& loops_;
  unsigned loads_left_ = kMaxLoads;
  llvm::Value* zero_ = nullptr;
};

}  // namespace

bool GathersAreSlow(const llvm::TargetMachine& machine) {
  return GathersWaitForStreams(machine) && machine.getMCSubtargetInfo()->checkFeatures("+avx512f");
}

llvm::PreservedAnalyses GathersByLoads::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager& analyses) {
  if (!Gathers(function, analyses.getResult<llvm::LoopAnalysis>(function)).Run())
    return llvm::PreservedAnalyses::all();
  *changed_ = true;
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace ptx2cpu::lowering
