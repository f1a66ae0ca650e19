// Stores past the caches beside gathers become plain ones.
#pragma once

#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// Intel's processors up to 2022, whose microcode keeps gathers from reading ahead, begin one when stores past
// the caches have arrived: 180 ns for a vector, where it takes 9 beside plain stores (Ice Lake, an array of
// 64 MiB that is copied through a table: 178 ms, 15 with plain stores, 13 by loads one by one).
bool GathersWaitForStreams(const llvm::TargetMachine& machine);

// Where both are in one loop, or outside all, and about as often. Late: gathers that other passes make loads
// of do not count.
class CacheStoresBesideGathers : public llvm::PassInfoMixin<CacheStoresBesideGathers> {
 public:
  // `changed` becomes true where a store does.
  explicit CacheStoresBesideGathers(bool* changed) : changed_(changed) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool* changed_;
};

}  // namespace ptx2cpu::lowering
