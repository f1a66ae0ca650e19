// Vectors of bits become vectors of words, for machines whose masks are vectors of words (without mask
// registers).
//
//   %m = icmp ult <8 x i32> %i, %n            ->   %w = sext (icmp ult ..) to <8 x i32>
//   loop:                                          loop:
//     %a = phi <8 x i1> [%m, ..], [%b, ..]           %v = phi <8 x i32> [%w, ..], [%x, ..]
//     %c = icmp slt <8 x i32> ..                     %x = and %v, (sext (icmp slt ..))
//     %b = and %a, %c                                .. icmp slt %x, 0 where bits are asked for
//
// A comparison makes words, and selects, masked accesses and `any lane?` read their sign bits. Between blocks
// LLVM would pack a vector of bits into bytes, and unpack it where it is used. Masks for elements of 64 bits
// also exist as words of 64 bits.
#pragma once

#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// How many lanes of words a register holds; 0: the machine has mask registers, or no vectors.
unsigned LanesOfMaskWords(const llvm::TargetMachine& machine);

class KeepMasksAsWords : public llvm::PassInfoMixin<KeepMasksAsWords> {
 public:
  explicit KeepMasksAsWords(unsigned register_lanes) : register_lanes_(register_lanes) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  unsigned register_lanes_;
};

}  // namespace ptx2cpu::lowering
