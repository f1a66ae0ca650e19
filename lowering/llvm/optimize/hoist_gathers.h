// Gathers with the same addresses in every turn of a loop are made once, before it.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// All rows of a block read the same elements, a column of a tile in shared memory:
//
//   for rows y: for k: sum[y] += a[y][k] * gather b[0..W)[k]   ->   for k: column[k] = gather b[0..W)[k]
//                                                                   for rows y: for k: sum[y] += a[y][k] *
//                                                                   column[k]
//
// LLVM moves a plain load out of a loop whose stores are known not to meet it, but no gather where the loop
// stores anything at all. A vector for which there is no register comes from the stack, by one load in place
// of one for each lane.
class HoistGathers : public llvm::PassInfoMixin<HoistGathers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
