// Makes stores of several registers go upwards in memory. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// A store of more than a register holds is a store of each, from the lowest address on:
//
//   store <64 x i32> v, p   ->   store v[0..15], p; ...; store v[48..63], p + 192
//
// Code generation orders the parts by what keeps few registers alive, often from the last one on, and
// processors that fetch ahead of stores do so upwards only: on Zen 4 a scan of 16 MB took 2.5 ms with parts
// from the last on, and 1.6 so. Empty assembly, which is no instruction, keeps the order; the pass is the
// last one, so that it is in the way of no other.
class OrderStores : public llvm::PassInfoMixin<OrderStores> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
