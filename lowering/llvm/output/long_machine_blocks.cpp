#include "lowering/llvm/output/long_machine_blocks.h"

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>

#include <vector>

namespace ptx2cpu::lowering {

namespace {

constexpr size_t kMaxPiece = 512;  // instructions

class SplitLongMachineBlocks final : public llvm::MachineFunctionPass {
 public:
  static char id;
  SplitLongMachineBlocks() : MachineFunctionPass(id) {}

  llvm::StringRef getPassName() const override { return "Split long machine blocks"; }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    std::vector<llvm::MachineBasicBlock*> blocks;
    for (llvm::MachineBasicBlock& block : function) {
      if (block.size() > 2 * kMaxPiece) blocks.push_back(&block);
    }
    for (llvm::MachineBasicBlock* block : blocks) Split(*block);
    return !blocks.empty();
  }

 private:
  // From the end on: what is live there is known, and each piece is walked over once.
  static void Split(llvm::MachineBasicBlock& block) {
    std::vector<llvm::MachineInstr*> ends;
    size_t number = 0;
    for (llvm::MachineInstr& inst : block) {
      if (inst.isTerminator()) break;
      if (++number % kMaxPiece == 0) ends.push_back(&inst);
    }
    for (size_t n = ends.size(); n-- > 0;) block.splitAt(*ends[n]);
  }
};
char SplitLongMachineBlocks::id = 0;

}  // namespace

llvm::FunctionPass* CreateSplitLongMachineBlocks() { return new SplitLongMachineBlocks; }

}  // namespace ptx2cpu::lowering
