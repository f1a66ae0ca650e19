#include "lowering/llvm/optimize/mask_words.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <numeric>

namespace ptx2cpu::lowering {

namespace {

using Value = llvm::Value*;

// The bits of a lane's word, and the numbers of lanes that become words, a few registers: wider masks cost
// more as words than packed.
constexpr unsigned kBits = 32, kMinLanes = 4, kMaxLanes = 32;

bool IsMask(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr || !vector->getElementType()->isIntegerTy(1)) return false;
  const unsigned lanes = vector->getNumElements();
  return llvm::isPowerOf2_32(lanes) && lanes >= kMinLanes && lanes <= kMaxLanes;
}

unsigned LanesOf(Value vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

llvm::Type* WordsOf(llvm::Type* mask) {
  return llvm::FixedVectorType::get(llvm::IntegerType::get(mask->getContext(), kBits),
                                    llvm::cast<llvm::FixedVectorType>(mask)->getNumElements());
}

// Has a form on words; others are compared, loaded or computed as bits.
bool HasForm(const llvm::Instruction& inst) {
  if (!IsMask(inst.getType())) return false;
  return llvm::isa<llvm::PHINode>(inst) || llvm::isa<llvm::SelectInst>(inst) || inst.isBitwiseLogicOp();
}

class Words {
 public:
  Words(llvm::Function& function, unsigned register_lanes)
      : function_(function), register_lanes_(register_lanes) {}

  bool Run() {
    const bool widens = Widen();
    Find();
    if (forms_.empty()) return widens;
    for (llvm::Instruction* inst : forms_) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst)) {
        llvm::IRBuilder<> b(phi);
        words_[phi] = b.CreatePHI(WordsOf(phi->getType()), phi->getNumIncomingValues());
      }
    }
    for (llvm::Instruction* inst : forms_) {
      if (!llvm::isa<llvm::PHINode>(inst)) words_[inst] = FormOf(*inst);
    }
    for (llvm::Instruction* inst : forms_) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(inst);
      if (phi == nullptr) continue;
      for (unsigned n = 0; n < phi->getNumIncomingValues(); ++n)
        llvm::cast<llvm::PHINode>(words_[phi])
            ->addIncoming(WordOf(phi->getIncomingValue(n)), phi->getIncomingBlock(n));
    }
    for (llvm::Instruction* inst : forms_) ReplaceUses(*inst);
    for (const auto& [value, word] : llvm::make_early_inc_range(words_)) {
      if (auto* bits = llvm::dyn_cast<llvm::Instruction>(value); bits != nullptr && !HasForm(*bits))
        ReplaceUsesElsewhere(*bits);
    }
    for (llvm::Instruction* inst : forms_) inst->replaceAllUsesWith(llvm::PoisonValue::get(inst->getType()));
    for (llvm::Instruction* inst : forms_) inst->eraseFromParent();
    return true;
  }

 private:
  // Whether it is the mask of elements of 64 bits that are chosen or accessed.
  static bool MasksLong(const llvm::Use& use) {
    const auto is_long = [](const llvm::Value* value) {
      return value->getType()->getScalarSizeInBits() == 64;
    };
    const auto* inst = llvm::cast<llvm::Instruction>(use.getUser());
    const unsigned number = use.getOperandNo();
    if (llvm::isa<llvm::SelectInst>(inst)) return number == 0 && is_long(inst);
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(inst);
    if (call == nullptr) return false;
    const bool loads = call->getIntrinsicID() == llvm::Intrinsic::masked_load && number == 2 && is_long(call);
    const bool stores = call->getIntrinsicID() == llvm::Intrinsic::masked_store && number == 3 &&
                        is_long(call->getArgOperand(0));
    return loads || stores;
  }

  // Masks that elements of 64 bits ask for more than once are words of 64 bits too, made where the mask is:
  // code generation would compare and widen again in each block.
  bool Widen() {
    llvm::MapVector<llvm::Instruction*, llvm::SmallVector<llvm::Use*, 4>> masks;
    for (llvm::Instruction& inst : llvm::instructions(function_)) {
      for (llvm::Use& use : inst.operands()) {
        auto* mask = llvm::dyn_cast<llvm::Instruction>(use.get());
        if (mask != nullptr && IsMask(mask->getType()) && MasksLong(use)) masks[mask].push_back(&use);
      }
    }
    bool changed = false;
    for (const auto& [mask, uses] : masks) {
      const bool elsewhere = llvm::any_of(uses, [&, from = mask](const llvm::Use* use) {
        return llvm::cast<llvm::Instruction>(use->getUser())->getParent() != from->getParent();
      });
      if (uses.size() < 2 || !elsewhere) continue;
      llvm::IRBuilder<> b(mask->getParent(), *mask->getInsertionPointAfterDef());
      b.SetCurrentDebugLocation(mask->getDebugLoc());
      Value wide = b.CreateSExt(mask, llvm::FixedVectorType::get(b.getInt64Ty(), LanesOf(mask)));
      for (llvm::Use* use : uses) {
        b.SetInsertPoint(llvm::cast<llvm::Instruction>(use->getUser()));
        use->set(b.CreateICmpSLT(wide, llvm::Constant::getNullValue(wide->getType())));
      }
      changed = true;
    }
    return changed;
  }

  // Definitions come before their uses, except those that a phi takes from the trip before.
  void Find() {
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    for (llvm::BasicBlock* block : order) {
      for (llvm::Instruction& inst : *block) {
        if (HasForm(inst)) forms_.push_back(&inst);
      }
    }
  }

  Value WordOf(Value bits) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(bits))
      return llvm::ConstantFoldCastInstruction(llvm::Instruction::SExt, constant, WordsOf(bits->getType()));
    if (const auto known = words_.find(bits); known != words_.end()) return known->second;
    llvm::IRBuilder<> b(function_.getContext());
    if (auto* inst = llvm::dyn_cast<llvm::Instruction>(bits)) {
      b.SetInsertPoint(inst->getParent(), *inst->getInsertionPointAfterDef());
      b.SetCurrentDebugLocation(inst->getDebugLoc());
    } else {
      b.SetInsertPoint(&*function_.getEntryBlock().getFirstInsertionPt());
    }
    llvm::Type* type = WordsOf(bits->getType());
    if (Value one = llvm::getSplatValue(bits))
      return words_[bits] = b.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(type)->getElementCount(),
                                                b.CreateSExt(one, type->getScalarType()));
    return words_[bits] = b.CreateSExt(bits, type);
  }

  Value FormOf(llvm::Instruction& inst) {
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&inst)) {
      Value yes = WordOf(select->getTrueValue()), no = WordOf(select->getFalseValue());
      llvm::IRBuilder<> b(select);
      Value condition = select->getCondition();
      if (!condition->getType()->isVectorTy()) return b.CreateSelect(condition, yes, no);
      Value mask = WordOf(condition);
      // What a select does not choose may be poison.
      auto definite = [&](Value word, Value bits) {
        return llvm::isGuaranteedNotToBePoison(bits) ? word : b.CreateFreeze(word);
      };
      if (IsZero(no)) return b.CreateAnd(mask, definite(yes, select->getTrueValue()));
      if (IsOnes(yes)) return b.CreateOr(mask, definite(no, select->getFalseValue()));
      if (IsZero(yes)) return b.CreateAnd(b.CreateNot(mask), definite(no, select->getFalseValue()));
      return b.CreateSelect(b.CreateICmpSLT(mask, llvm::Constant::getNullValue(mask->getType())), yes, no);
    }
    Value x = WordOf(inst.getOperand(0)), y = WordOf(inst.getOperand(1));
    llvm::IRBuilder<> b(&inst);
    return b.CreateBinOp(static_cast<llvm::Instruction::BinaryOps>(inst.getOpcode()), x, y);
  }

  static bool IsZero(Value value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    return constant != nullptr && constant->isNullValue();
  }
  static bool IsOnes(Value value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    return constant != nullptr && constant->isAllOnesValue();
  }

  // Bits for those that have no form on words, where they ask for them. (A phi of masks has a form.)
  Value BitsAt(Value bits, const llvm::Use& use) {
    llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(use.getUser()));
    Value word = WordOf(bits);
    return b.CreateICmpSLT(word, llvm::Constant::getNullValue(word->getType()));
  }

  // Replaces comparisons of a mask, as an integer, with that of no lane or of all lanes: one register decides
  // them.
  void ReplaceTests(llvm::Instruction& inst) {
    for (llvm::User* user : inst.users()) {
      auto* bits = llvm::dyn_cast<llvm::BitCastInst>(user);
      if (bits == nullptr || !bits->getType()->isIntegerTy()) continue;
      for (llvm::User* reader : llvm::make_early_inc_range(bits->users())) {
        auto* compare = llvm::dyn_cast<llvm::ICmpInst>(reader);
        const auto* with =
            compare == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1));
        if (with == nullptr || !compare->isEquality() || !(with->isZero() || with->isMinusOne())) continue;
        llvm::IRBuilder<> b(compare);
        Value part = WordOf(&inst);
        for (unsigned lanes = LanesOf(part); lanes > register_lanes_; lanes /= 2) {
          llvm::SmallVector<int, 32> low(lanes / 2), high(lanes / 2);
          std::iota(low.begin(), low.end(), 0);
          std::iota(high.begin(), high.end(), static_cast<int>(lanes / 2));
          Value x = b.CreateShuffleVector(part, low), y = b.CreateShuffleVector(part, high);
          part = with->isZero() ? b.CreateOr(x, y) : b.CreateAnd(x, y);
        }
        Value signs = b.CreateICmpSLT(part, llvm::Constant::getNullValue(part->getType()));
        Value number = b.CreateBitCast(signs, b.getIntNTy(LanesOf(part)));
        const uint64_t limit = with->isZero() ? 0 : ~uint64_t{0};
        Value result = b.CreateICmp(compare->getPredicate(), number,
                                    llvm::ConstantInt::get(number->getType(), limit, with->isMinusOne()));
        compare->replaceAllUsesWith(result);
        compare->eraseFromParent();
      }
    }
  }

  void ReplaceUses(llvm::Instruction& inst) {
    ReplaceTests(inst);
    for (llvm::Use& use : llvm::make_early_inc_range(inst.uses())) {
      if (!HasForm(*llvm::cast<llvm::Instruction>(use.getUser()))) use.set(BitsAt(&inst, use));
    }
  }
  // Comparisons whose words stay live anyway are not also kept as bits.
  void ReplaceUsesElsewhere(llvm::Instruction& inst) {
    for (llvm::Use& use : llvm::make_early_inc_range(inst.uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (user == words_[&inst] || user->getParent() == inst.getParent()) continue;
      if (!HasForm(*user)) use.set(BitsAt(&inst, use));
    }
  }

  llvm::Function& function_;
  const unsigned register_lanes_;
  llvm::SmallVector<llvm::Instruction*> forms_;
  llvm::MapVector<Value, Value> words_;  // of masks
};

}  // namespace

unsigned LanesOfMaskWords(const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& processor = *machine.getMCSubtargetInfo();
  if (machine.getTargetTriple().isAArch64()) return 4;
  if (!machine.getTargetTriple().isX86() || processor.checkFeatures("+avx512f")) return 0;
  return processor.checkFeatures("+avx2") ? 8 : 4;
}

llvm::PreservedAnalyses KeepMasksAsWords::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  return Words(function, register_lanes_).Run() ? llvm::PreservedAnalyses::none()
                                                : llvm::PreservedAnalyses::all();
}

}  // namespace ptx2cpu::lowering
