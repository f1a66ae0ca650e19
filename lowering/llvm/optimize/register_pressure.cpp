#include "lowering/llvm/optimize/register_pressure.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>

#include <algorithm>

namespace ptx2cpu::lowering {

namespace {

class LoopPressure {
 public:
  LoopPressure(const llvm::Loop& loop, const llvm::TargetTransformInfo& target)
      : loop_(loop), bits_(VectorBits(target)) {
    for (const llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& inst : *block) {
        for (const llvm::Value* operand : inst.operands()) {
          const auto* made = llvm::dyn_cast<llvm::Instruction>(operand);
          if (made != nullptr && !loop.contains(made)) Begin(operand);
        }
      }
    }
    outside_ = now_;
  }

  VectorsKept In(const llvm::BasicBlock& block) { return {outside_, MostIn(block) - outside_}; }

  bool Exceeds(unsigned registers) {
    return llvm::any_of(loop_.blocks(), [&](const llvm::BasicBlock* block) {
      return SharedIn(*block) >= registers && MostIn(*block) > registers;
    });
  }

 private:
  static unsigned VectorBits(const llvm::TargetTransformInfo& target) {
    const llvm::TypeSize bits = target.getRegisterBitWidth(llvm::TargetTransformInfo::RGK_FixedWidthVector);
    return std::max(static_cast<unsigned>(bits.getFixedValue()), 128U);
  }

  unsigned RegistersOf(const llvm::Value* value) const {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (type == nullptr || type->getScalarSizeInBits() < 8) return 0;  // masks have registers of their own
    return static_cast<unsigned>(llvm::divideCeil(type->getPrimitiveSizeInBits().getFixedValue(), bits_));
  }

  // Operands that several registers' parts of an operation read: vectors that a block makes of scalars.
  unsigned SharedIn(const llvm::BasicBlock& block) const {
    return static_cast<unsigned>(llvm::count_if(block, [&](const llvm::Instruction& inst) {
      return llvm::isa<llvm::ShuffleVectorInst>(inst) && RegistersOf(&inst) > 1 &&
             llvm::getSplatValue(&inst) != nullptr;
    }));
  }

  // An operand in memory.
  static bool IsFolded(const llvm::Value* value) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
    return load != nullptr && load->hasOneUse() && !load->isUsedOutsideOfBlock(load->getParent());
  }

  void Begin(const llvm::Value* value) {
    if (!llvm::isa<llvm::Instruction>(value) || IsFolded(value)) return;
    if (live_.try_emplace(value, true).second) now_ += RegistersOf(value);
  }

  unsigned MostIn(const llvm::BasicBlock& block) {
    const llvm::DenseMap<const llvm::Value*, bool> before = live_;
    now_ = outside_;
    for (const llvm::Instruction& inst : block) {
      const bool leaves = llvm::any_of(inst.users(), [&](const llvm::User* user) {
        const auto* reader = llvm::cast<llvm::Instruction>(user);
        return reader->getParent() != &block || llvm::isa<llvm::PHINode>(reader);
      });
      if (leaves) Begin(&inst);
    }
    unsigned most = now_;
    for (const llvm::Instruction& inst : llvm::reverse(block)) {
      if (llvm::isa<llvm::PHINode>(inst)) break;
      if (live_.erase(&inst)) now_ -= RegistersOf(&inst);
      for (const llvm::Value* operand : inst.operands()) Begin(operand);
      most = std::max(most, now_);
    }
    live_ = before;
    return most;
  }

  const llvm::Loop& loop_;
  const unsigned bits_;
  llvm::DenseMap<const llvm::Value*, bool> live_;
  unsigned now_ = 0, outside_ = 0;
};

}  // namespace

VectorsKept VectorsKeptIn(const llvm::Loop& loop, const llvm::BasicBlock& block,
                          const llvm::TargetTransformInfo& target) {
  return LoopPressure(loop, target).In(block);
}

bool SharesManyOperands(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const llvm::TargetTransformInfo target = machine.getTargetTransformInfo(function);
    const unsigned registers = target.getNumberOfRegisters(target.getRegisterClassForType(true));
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (!loop->isInnermost()) continue;
      if (LoopPressure(*loop, target).Exceeds(registers)) return true;
    }
  }
  return false;
}

}  // namespace ptx2cpu::lowering
