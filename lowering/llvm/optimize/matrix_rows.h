// Loads of matrices (ptx2cpu_matrix_load) whose rows are at known distances from one address, the same in all
// lanes, become loads of registers.
//
// clang-format off
//   %i = add <32 x i32> (splat %x), <0 80 160 ..>                 %a0 = zext %x; %r0 = load <4 x i32> %shared + %a0
//   %p = getelementptr i8, %shared, <32 x i64> (zext %i)     ->   %a1 = zext (%x + 80); %r1 = load <4 x i32> ...
//   store <32 x ptr> %p, %rows;  call @ptx2cpu_matrix_load(%d, %rows, 4)      store (%r0 %r1 ..), %d
// clang-format on
//
// So addresses are not vectors in memory. Where the distances are multiples of 16, one test covers the
// alignment of all lanes.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

class LoadRowsByDistance : public llvm::PassInfoMixin<LoadRowsByDistance> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
