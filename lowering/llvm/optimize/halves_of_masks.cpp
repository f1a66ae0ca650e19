#include "lowering/llvm/optimize/halves_of_masks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/MC/MCSubtargetInfo.h>

namespace ptx2cpu::lowering {

namespace {

// Code generation selects a block at a time: values of other blocks and of memory are in registers.
bool MayBeMask(const llvm::BitCastInst& cast) {
  if (!cast.getType()->isHalfTy() || !cast.getSrcTy()->isIntegerTy()) return false;
  const auto* from = llvm::dyn_cast<llvm::Instruction>(cast.getOperand(0));
  return from != nullptr && !llvm::isa<llvm::LoadInst, llvm::PHINode, llvm::ExtractElementInst>(from);
}

}  // namespace

void MoveMasksThatAreHalves(llvm::Module& module, const llvm::TargetMachine& machine) {
  if (!machine.getTargetTriple().isX86() || !machine.getMCSubtargetInfo()->checkFeatures("+avx512fp16"))
    return;
  llvm::Type* const bits = llvm::Type::getInt16Ty(module.getContext());
  // No instruction: its result is in the register of its operand.
  auto* const move = llvm::InlineAsm::get(llvm::FunctionType::get(bits, {bits}, false), "", "=r,0", false);
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(&instruction);
      if (cast == nullptr || !MayBeMask(*cast)) continue;
      llvm::IRBuilder<> builder(cast);
      cast->setOperand(0, builder.CreateCall(move, cast->getOperand(0)));
    }
  }
}

}  // namespace ptx2cpu::lowering
