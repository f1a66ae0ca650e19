// Elements that the turns of a loop gather side by side are read at once, before the loop.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Rows of a block that read a tile in columns, threads that each go through a few elements of their own:
//
//   for y in 0..8: .. gather tile[0..W)[y]   ->   for lanes: row = tile[lane][0..4), tile[lane][4..8)
//                                                 column[0..8) = the rows, transposed
//                                                 for y in 0..8: .. column[y]
//
// A lane's elements of four turns are one load of 16 bytes, and shuffles make columns of rows: two for a
// vector, in place of an access for each lane of every turn. A gather takes 8 to 20 ns on processors of 2019
// to 2023, and 180 while stores past the caches are on their way (Ice Lake).
class GatherTurns : public llvm::PassInfoMixin<GatherTurns> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
