// Gathers where each instruction of that kind takes long, however few lanes it reads.
#pragma once

#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// With masks: LLVM takes others apart.
bool GathersAreSlow(const llvm::TargetMachine& machine);

// Intel's processors whose microcode keeps gathers from reading ahead (GathersWaitForStreams) take 23 cycles
// for each gather of 4 to 16 lanes (Ice Lake); a load and the insertion of its value into a vector take 1.6,
// with the lane's address taken out of another.
//
//   8 lanes, or elements of 8 bytes:  gather p[0..8)        ->  {*p[0], *p[1] ..}
//   16 lanes of 4 bytes, which are two gathers where addresses have 64 bits and one where offsets have 32:
//     gather %base + (zext %i | 4)                          ->  gather (%base + 4 + 2^31) + sext (%i ^ 2^31)
//
// Lanes that are not active read a zero. Late: other passes look for gathers.
class GathersByLoads : public llvm::PassInfoMixin<GathersByLoads> {
 public:
  // `changed` becomes true where one is another.
  explicit GathersByLoads(bool* changed) : changed_(changed) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool* changed_;
};

}  // namespace ptx2cpu::lowering
