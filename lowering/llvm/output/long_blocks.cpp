#include "lowering/llvm/output/long_blocks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <cstdint>

namespace ptx2cpu::lowering {

namespace {

// Instructions. At half a thousand what grows with the square costs less than what does not.
constexpr size_t kMaxBlock = 512;
// Within so many more, behind a store: a statement ends there, few values are alive.
constexpr size_t kSearch = 64;
// As which LLVM writes one filling or copying of memory; of more it makes a call.
constexpr uint64_t kMaxStoresOfFill = 32;
// Of a value: more than the emitter's widest has.
constexpr unsigned kMaxRegisters = 8;
// Uses of a value in a block, from which on each piece has its own copy.
constexpr unsigned kManyUses = 128;
// Instructions of a loop's body, beyond which LLVM does not make it a loop of vectors.
constexpr size_t kMaxVectorised = 2000;
// Uses that CodeGenPrepare visits, for each instruction of the module.
constexpr uint64_t kMaxVisits = 32;

class SplitLongBlocks final : public llvm::FunctionPass {
 public:
  static char id;
  explicit SplitLongBlocks(const llvm::TargetMachine& machine)
      : FunctionPass(id),
        is_x86_(machine.getTargetTriple().isX86()),
        vector_bits_(is_x86_ ? VectorBits(*machine.getMCSubtargetInfo()) : 0) {}

  llvm::StringRef getPassName() const override { return "Split long blocks"; }

  bool runOnFunction(llvm::Function& function) override {
    llvm::SmallVector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : function) {
      if (IsLong(block)) blocks.push_back(&block);
    }
    for (llvm::BasicBlock* block : blocks) Split(*block);
    return !blocks.empty();
  }

 private:
  static unsigned VectorBits(const llvm::MCSubtargetInfo& processor) {  // of x86
    return processor.checkFeatures("+avx512f") ? 512 : processor.checkFeatures("+avx2") ? 256 : 128;
  }

  using Copies = llvm::DenseMap<llvm::Value*, llvm::Value*>;  // of a value with many uses, the last

  void Split(llvm::BasicBlock& block) const {
    Copies copies = ManyUsed(block);
    llvm::BasicBlock* piece = &block;
    while (llvm::Instruction* at = EndOfPiece(*piece)) {
      piece = piece->splitBasicBlock(at, block.getName() + ".piece");
      UseCopies(*piece, copies);
    }
  }

  // LLVM writes memory of constant length by stores of registers where these are few.
  size_t Instructions(const llvm::Instruction& inst) const {
    const auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&inst);
    const auto* bytes = fill == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(fill->getLength());
    if (bytes == nullptr || vector_bits_ == 0) return 1;
    return std::clamp<uint64_t>(bytes->getZExtValue() * 8 / vector_bits_, 1, kMaxStoresOfFill);
  }

  bool IsLong(const llvm::BasicBlock& block) const {
    size_t number = 0;
    for (const llvm::Instruction& inst : block) number += Instructions(inst);
    return number > kMaxBlock + kSearch;
  }

  // Null: the rest is short.
  llvm::Instruction* EndOfPiece(llvm::BasicBlock& block) const {
    size_t number = 0;
    llvm::Instruction* end = nullptr;
    for (llvm::Instruction& inst : block) {
      if (llvm::isa<llvm::AllocaInst>(inst)) number = 0, end = nullptr;  // those of the entry stay there
      number += Instructions(inst);
      if (number >= kMaxBlock && end == nullptr) end = &inst;
      if (number >= kMaxBlock && llvm::isa<llvm::StoreInst, llvm::MemIntrinsic>(inst))
        return inst.getNextNode();
      if (number >= kMaxBlock + kSearch) return end;
    }
    return nullptr;
  }

  Copies ManyUsed(llvm::BasicBlock& block) const {
    llvm::DenseMap<llvm::Value*, unsigned> uses;
    Copies many;
    for (llvm::Instruction& inst : block) {
      if (llvm::isa<llvm::PHINode>(inst)) continue;
      for (llvm::Value* operand : inst.operand_values()) {
        if (!llvm::isa<llvm::Instruction, llvm::Argument>(operand) || llvm::isa<llvm::AllocaInst>(operand))
          continue;
        if (++uses[operand] == kManyUses && FitsRegisters(*operand->getType())) many[operand] = operand;
      }
    }
    return many;
  }

  bool FitsRegisters(const llvm::Type& type) const {
    if (type.isPointerTy()) return true;
    if (type.isIntegerTy()) return type.getIntegerBitWidth() >= 8 && type.getIntegerBitWidth() <= 64;
    if (!is_x86_) return false;
    if (type.isFloatTy() || type.isDoubleTy()) return true;
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
    if (vector == nullptr) return false;
    const llvm::Type& element = *vector->getElementType();
    const bool is_known = element.isFloatTy() || element.isDoubleTy() ||
                          (element.isIntegerTy() && element.getIntegerBitWidth() >= 8);
    const uint64_t bits = vector->getPrimitiveSizeInBits().getFixedValue();
    return is_known && llvm::isPowerOf2_64(bits) && bits >= 128 && bits <= kMaxRegisters * vector_bits_;
  }

  // From this piece on: the copy before is read no more, so that both have one register.
  void UseCopies(llvm::BasicBlock& piece, Copies& copies) const {
    llvm::DenseMap<llvm::Value*, llvm::Value*> here;
    llvm::IRBuilder<> b(&piece, piece.begin());
    for (llvm::Instruction& inst : piece) {
      for (llvm::Use& use : inst.operands()) {
        const auto known = copies.find(use.get());
        if (known == copies.end() || IsIn(known->first, piece)) continue;
        llvm::Value*& copy = here[known->first];
        if (copy == nullptr) copy = known->second = CopyOf(*known->second, b);
        use.set(copy);
      }
    }
  }

  static bool IsIn(const llvm::Value* value, const llvm::BasicBlock& block) {
    const auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    return inst != nullptr && inst->getParent() == &block;
  }

  // Vectors of several registers are copied register by register.
  llvm::Value* CopyOf(llvm::Value& value, llvm::IRBuilder<>& b) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
    const unsigned bits = value.getType()->getPrimitiveSizeInBits().getFixedValue();
    if (vector == nullptr || bits <= vector_bits_) return CopyOfRegister(value, b);
    const unsigned pieces = bits / vector_bits_, lanes = vector->getNumElements() / pieces;
    llvm::SmallVector<llvm::Value*> copies;
    for (unsigned i = 0; i < pieces; ++i)
      copies.push_back(
          CopyOfRegister(*b.CreateShuffleVector(&value, llvm::createSequentialMask(i * lanes, lanes, 0)), b));
    return llvm::concatenateVectors(b, copies);
  }

  // An assembler text of no instructions: LLVM knows nothing of what it returns.
  static llvm::Value* CopyOfRegister(llvm::Value& value, llvm::IRBuilder<>& b) {
    llvm::Type* type = value.getType();
    const bool is_general = type->isPointerTy() || type->isIntegerTy();
    llvm::CallInst* copy = b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "",
                                                             is_general ? "=r,0" : "=v,0", false),
                                        {&value});
    copy->setDoesNotAccessMemory();
    copy->setDoesNotThrow();
    return copy;
  }

  const bool is_x86_;
  const unsigned vector_bits_;
};
char SplitLongBlocks::id = 0;

}  // namespace

llvm::FunctionPass* CreateSplitLongBlocks(const llvm::TargetMachine& machine) {
  return new SplitLongBlocks(machine);
}

size_t DepthOfLoops(llvm::Module& module) {
  size_t depth = 0;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder())
      depth = std::max<size_t>(depth, loop->getLoopDepth());
  }
  return depth;
}

llvm::PreservedAnalyses KeepLargeLoops::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager& analyses) {
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    size_t size = 0;
    for (const llvm::BasicBlock* block : loop->blocks()) size += block->size();
    if (loop->isInnermost() && size > kMaxVectorised)
      llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
  }
  return llvm::PreservedAnalyses::all();
}

bool PreparesSlowly(const llvm::Module& module) {
  uint64_t visits = 0, instructions = 0;
  llvm::DenseMap<const llvm::Value*, unsigned> uses;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      instructions += block.size();
      for (const llvm::Instruction& inst : block) {
        const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&inst);
        if (compare == nullptr || compare->isSigned()) continue;
        const llvm::Value* value = compare->getOperand(llvm::isa<llvm::Constant>(compare->getOperand(0)));
        const auto [known, is_new] = uses.try_emplace(value, 0);
        if (is_new) known->second = value->getNumUses();
        visits += known->second;
      }
    }
  }
  return visits > kMaxVisits * instructions;
}

}  // namespace ptx2cpu::lowering
