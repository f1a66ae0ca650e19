#include "lowering/llvm/optimize/long_blocks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx2cpu::lowering {

namespace {

// The length of a piece in instructions. At about 500, the parts that grow with the square cost less than the
// rest.
constexpr size_t kMaxBlock = 512;
// From this length on a block is also divided before it is optimised.
constexpr size_t kHugeBlock = 8000;
// Within so many more, after a store: a statement ends there, few values are alive.
constexpr size_t kSearch = 64;
// As which LLVM writes one filling or copying of memory; of more it makes a call.
constexpr uint64_t kMaxStoresOfFill = 32;
// The maximum number of registers of a value: more than the emitter's widest value has.
constexpr unsigned kMaxRegisters = 8;
// Uses of a value in a block, from which on each piece has its own copy.
constexpr unsigned kManyUses = 128;
// The maximum length of a piece of machine code.
constexpr size_t kMaxPiece = 512;
// Instructions of a loop's body, beyond which LLVM does not make it a loop of vectors.
constexpr size_t kMaxVectorised = 2000;
// Uses that CodeGenPrepare visits, for each instruction of the module.
constexpr uint64_t kMaxVisits = 32;
// The maximum number of blocks of a function: CodeGenPrepare starts again at the first block when it has
// changed the graph, which it often does in steps of resumable kernels (block, warp, entry).
constexpr size_t kMaxBlocks = 6000, kMaxBlocksOfStep = 500, kArgumentsOfStep = 3;
// Pairs of edges of one block that placing blocks compares, for each instruction of the module.
constexpr uint64_t kMaxPairs = 256;
// The number of edges of a block beyond which better code takes too long to make: each value has a register
// for each edge.
constexpr size_t kMaxEdges = 4096;
// The depth of a nest beyond which work on each loop with all loops that it contains takes longer than the
// rest.
constexpr size_t kMaxDepth = 48;
// The number of loops of a function beyond which the search for the conditions ahead of each loop takes
// longer than the rest; and the number of blocks beyond which register allocation does, with values that are
// live from the function's beginning.
constexpr size_t kMaxLoops = 512, kMaxBlocksOfFunction = 4000;

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
    llvm::SmallVector<llvm::BasicBlock*> pieces{&block};
    while (llvm::Instruction* at = EndOfPiece(*pieces.back()))
      pieces.push_back(pieces.back()->splitBasicBlock(at, block.getName() + ".piece"));
    for (llvm::BasicBlock* piece : llvm::drop_begin(pieces)) UseCopies(*piece, copies);
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
      // Allocas stay in the entry block, and phis at the start of their block.
      if (llvm::isa<llvm::AllocaInst, llvm::PHINode>(inst)) {
        number = 0, end = nullptr;
        continue;
      }
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

// Which natural loop is within which; LLVM's own analysis also lists the blocks of each, which takes memory
// with the square of the depth. From the inside out, the blocks of a loop become one with its header.
class LoopNest {
 public:
  explicit LoopNest(llvm::Function& function) : dominators_(function) {
    for (const llvm::DomTreeNode* node : llvm::post_order(dominators_.getRootNode())) Add(node->getBlock());
  }

  LoopNumbers Numbers() const {
    LoopNumbers numbers{.loops = parents_.size()};
    std::vector<size_t> depths(parents_.size(), 1);
    for (size_t n = depths.size(); n-- > 0;) {  // loops follow those within them
      if (parents_[n] != kNone) depths[n] += depths[parents_[n]];
      numbers.depth = std::max(numbers.depth, depths[n]);
    }
    return numbers;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  void Add(llvm::BasicBlock* header) {
    llvm::SmallVector<llvm::BasicBlock*> work;
    for (llvm::BasicBlock* from : llvm::predecessors(header)) {
      if (dominators_.isReachableFromEntry(from) && dominators_.dominates(header, from)) work.push_back(from);
    }
    if (work.empty()) return;
    const size_t loop = parents_.size();
    parents_.push_back(kNone);
    while (!work.empty()) {
      llvm::BasicBlock* block = Outermost(work.pop_back_val());
      if (block == header) continue;
      if (const auto inner = loops_.find(block); inner != loops_.end()) parents_[inner->second] = loop;
      within_[block] = header;
      for (llvm::BasicBlock* from : llvm::predecessors(block)) {
        if (dominators_.isReachableFromEntry(from)) work.push_back(from);
      }
    }
    loops_[header] = loop;
  }

  // The header of the outermost loop found so far around a block.
  llvm::BasicBlock* Outermost(llvm::BasicBlock* block) {
    llvm::BasicBlock* top = block;
    for (auto at = within_.find(top); at != within_.end(); at = within_.find(top)) top = at->second;
    while (block != top) block = std::exchange(within_[block], top);
    return top;
  }

  llvm::DominatorTree dominators_;
  llvm::DenseMap<llvm::BasicBlock*, llvm::BasicBlock*> within_;
  llvm::DenseMap<llvm::BasicBlock*, size_t> loops_;  // by header
  std::vector<size_t> parents_;
};

}  // namespace

llvm::FunctionPass* CreateSplitLongBlocks(const llvm::TargetMachine& machine) {
  return new SplitLongBlocks(machine);
}

llvm::FunctionPass* CreateSplitLongMachineBlocks() { return new SplitLongMachineBlocks; }

bool LoopNumbers::AreDeep() const { return depth > kMaxDepth; }
bool LoopNumbers::AreMany() const { return loops > kMaxLoops || blocks > kMaxBlocksOfFunction; }

LoopNumbers NumbersOfLoops(llvm::Function& function) {
  LoopNumbers numbers = LoopNest(function).Numbers();
  numbers.blocks = function.size();
  return numbers;
}

LoopNumbers NumbersOfLoops(llvm::Module& module) {
  LoopNumbers most;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const LoopNumbers numbers = NumbersOfLoops(function);
    most.loops = std::max(most.loops, numbers.loops);
    most.depth = std::max(most.depth, numbers.depth);
    most.blocks = std::max(most.blocks, numbers.blocks);
  }
  return most;
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

llvm::PreservedAnalyses DivideHugeBlocks::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::BasicBlock*> huge;
  for (llvm::BasicBlock& block : function) {
    if (block.size() > kHugeBlock) huge.push_back(&block);
  }
  for (llvm::BasicBlock* block : huge) {
    size_t number = 0;
    for (auto at = block->getFirstInsertionPt(); at != block->end(); ++at) {
      if (llvm::isa<llvm::AllocaInst>(*at) || ++number % kMaxBlock != 0) continue;
      block = block->splitBasicBlock(at, "part");
      at = block->begin();
    }
  }
  return huge.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

bool PreparesSlowly(const llvm::Module& module) {
  const auto is_long = [](const llvm::Function& f) {
    return f.size() > (f.arg_size() == kArgumentsOfStep ? kMaxBlocksOfStep : kMaxBlocks);
  };
  if (std::ranges::any_of(module, is_long)) return true;
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

bool HasHugeTable(const llvm::Module& module) {
  return std::ranges::any_of(module, [](const llvm::Function& function) {
    return std::ranges::any_of(function, [](const llvm::BasicBlock& block) {
      return llvm::succ_size(&block) > kMaxEdges || llvm::pred_size(&block) > kMaxEdges;
    });
  });
}

bool PlacesSlowly(const llvm::Module& module) {
  uint64_t pairs = 0, instructions = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      const uint64_t before = llvm::pred_size(&block), after = llvm::succ_size(&block);
      pairs += before * before + after * after;
      instructions += block.size();
    }
  }
  return pairs > kMaxPairs * instructions;
}

}  // namespace ptx2cpu::lowering
