#include "lowering/llvm/optimize/gather_turns.h"

#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "lowering/llvm/optimize/loop_reads.h"
#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

namespace patterns = llvm::PatternMatch;

constexpr unsigned kMaxTurns = 32, kPartBytes = 16;
constexpr uint64_t kMaxBytes = 16384;  // of the columns of one function: half of a first cache
constexpr int kDepth = 12;             // instructions that an address is followed through

using Values = llvm::SmallVector<llvm::Value*, 8>;

class Columns {
 public:
  Columns(llvm::Loop& loop, llvm::ScalarEvolution& evolution, LoopReads& reads, uint64_t& bytes_left)
      : loop_(loop), evolution_(evolution), reads_(reads), bytes_left_(bytes_left) {}

  bool Run() {
    llvm::BasicBlock* before = loop_.getLoopPreheader();
    turns_ = evolution_.getSmallConstantTripCount(&loop_);
    // Each turn must run the whole body: in a loop with an exit in its middle, the last turn reads nothing
    // after the exit.
    if (before == nullptr || loop_.getExitingBlock() == nullptr ||
        loop_.getExitingBlock() != loop_.getLoopLatch())
      return false;
    if (turns_ < 2 || turns_ > kMaxTurns || !CountsTurns()) return false;
    llvm::SmallVector<llvm::CallBase*, 8> gathers;
    for (llvm::BasicBlock* block : loop_.blocks()) {
      for (llvm::Instruction& inst : *block) {
        if (IsGather(inst)) gathers.push_back(llvm::cast<llvm::CallBase>(&inst));
      }
    }
    bool changed = false;
    for (llvm::CallBase* gather : gathers) changed |= Take(*gather);
    return changed;
  }

 private:
  // Finds the counter of the turns, which begins at 0.
  bool CountsTurns() {
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) {
      if (!phi.getType()->isIntegerTy()) continue;
      const auto* form = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(&phi));
      if (form != nullptr && form->getLoop() == &loop_ && form->isAffine() && form->getStart()->isZero() &&
          form->getStepRecurrence(evolution_)->isOne())
        turn_ = &phi;
    }
    return turn_ != nullptr;
  }

  // A gather by all lanes whose elements are parts of 16 bytes.
  bool IsGather(const llvm::Instruction& inst) const {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_gather ||
        !patterns::match(call->getArgOperand(2), patterns::m_AllOnes()))
      return false;
    const auto* type = llvm::cast<llvm::FixedVectorType>(call->getType());
    const unsigned bits = type->getScalarSizeInBits();
    return (bits == 32 || bits == 64) && !type->getElementType()->isPointerTy() &&
           turns_ % TurnsOfPart(*type) == 0 && type->getNumElements() % TurnsOfPart(*type) == 0;
  }
  static unsigned TurnsOfPart(const llvm::FixedVectorType& type) {
    return kPartBytes * 8 / type.getScalarSizeInBits();
  }

  bool Take(llvm::CallBase& gather) {
    auto* type = llvm::cast<llvm::FixedVectorType>(gather.getType());
    const uint64_t element = type->getScalarSizeInBits() / 8,
                   bytes = element * type->getNumElements() * turns_;
    llvm::Value* pointers = gather.getArgOperand(0);
    if (bytes > bytes_left_ || StepOf(pointers, kDepth) != static_cast<int64_t>(element) ||
        !CanBeMade(pointers, kDepth) || !reads_.MayLeave(gather))
      return false;
    bytes_left_ -= bytes;
    llvm::BasicBlock& entry = gather.getFunction()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    llvm::AllocaInst* columns = at_entry.CreateAlloca(llvm::ArrayType::get(type, turns_), nullptr, "columns");
    columns->setAlignment(llvm::Align(64));
    llvm::IRBuilder<> b(loop_.getLoopPreheader()->getTerminator());
    b.SetCurrentDebugLocation(gather.getDebugLoc());
    llvm::Value* first = InFirstTurn(pointers);
    for (unsigned turn = 0; turn < turns_; turn += TurnsOfPart(*type)) {
      const Values made = ColumnsOf(b, gather, first, turn);
      for (unsigned n = 0; n < made.size(); ++n)
        b.CreateAlignedStore(made[n],
                             b.CreateConstInBoundsGEP2_32(columns->getAllocatedType(), columns, 0, turn + n),
                             llvm::Align(64));
    }
    b.SetInsertPoint(&gather);
    llvm::Value* number = b.CreateZExtOrTrunc(turn_, b.getInt64Ty());
    llvm::Value* column =
        b.CreateAlignedLoad(type, b.CreateInBoundsGEP(type, columns, number), llvm::Align(64));
    gather.replaceAllUsesWith(column);
    gather.eraseFromParent();
    return true;
  }

  // By how much a value of integers or addresses grows from turn to turn, in all lanes; nothing where it is
  // not known.
  std::optional<int64_t> StepOf(llvm::Value* value, int depth) {
    if (loop_.isLoopInvariant(value)) return 0;
    if (!value->getType()->isVectorTy()) return StepOfScalar(value);
    if (llvm::Value* element = llvm::getSplatValue(value)) return StepOf(element, depth);
    const auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    if (inst == nullptr || depth == 0 || !loop_.contains(inst)) return std::nullopt;
    const auto operand = [&](unsigned n) { return StepOf(inst->getOperand(n), depth - 1); };
    const unsigned code = inst->getOpcode();
    if (code == llvm::Instruction::Add || code == llvm::Instruction::Sub) {
      const std::optional<int64_t> a = operand(0), b = operand(1);
      if (!a || !b) return std::nullopt;
      return code == llvm::Instruction::Add ? *a + *b : *a - *b;
    }
    if (code == llvm::Instruction::Shl) {
      const llvm::APInt* by = nullptr;
      const std::optional<int64_t> a = operand(0);
      if (!a || !patterns::match(inst->getOperand(1), patterns::m_APInt(by)) || by->uge(32))
        return std::nullopt;
      return *a * (int64_t{1} << by->getZExtValue());
    }
    if (code == llvm::Instruction::IntToPtr) return operand(0);
    if (code == llvm::Instruction::ZExt || code == llvm::Instruction::SExt)
      return IsSmallSum(inst->getOperand(0)) ? operand(0) : std::nullopt;
    const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(inst);
    return address != nullptr ? StepOfPointer(*address, depth) : std::nullopt;
  }

  std::optional<int64_t> StepOfScalar(llvm::Value* value) {
    if (!evolution_.isSCEVable(value->getType())) return std::nullopt;
    const auto* form = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(value));
    if (form == nullptr || form->getLoop() != &loop_ || !form->isAffine()) return std::nullopt;
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(form->getStepRecurrence(evolution_));
    if (step == nullptr || step->getAPInt().getSignificantBits() > 32) return std::nullopt;
    return step->getAPInt().getSExtValue();
  }

  std::optional<int64_t> StepOfPointer(const llvm::GetElementPtrInst& address, int depth) {
    if (address.getNumIndices() != 1) return std::nullopt;
    const llvm::DataLayout& layout = address.getFunction()->getDataLayout();
    const auto size =
        static_cast<int64_t>(layout.getTypeAllocSize(address.getSourceElementType()).getFixedValue());
    const std::optional<int64_t> base = StepOf(address.getOperand(0), depth - 1);
    llvm::Value* index = address.getOperand(1);
    if (!base || index->getType()->getScalarSizeInBits() < 64) return std::nullopt;
    const std::optional<int64_t> step = StepOf(index, depth - 1);
    return step ? std::optional(*base + *step * size) : std::nullopt;
  }

  // A sum of a number that is the same in all lanes and constants, which does not leave the positive numbers.
  bool IsSmallSum(llvm::Value* sum) {
    llvm::Value* same = llvm::getSplatValue(sum);
    llvm::APInt most(64, 0);
    llvm::Value *left = nullptr, *right = nullptr;
    if (same == nullptr &&
        patterns::match(sum, patterns::m_c_Add(patterns::m_Value(left), patterns::m_Value(right)))) {
      if (llvm::isa<llvm::Constant>(left)) std::swap(left, right);
      same = llvm::getSplatValue(left);
      const auto* numbers = llvm::dyn_cast<llvm::ConstantDataVector>(right);
      if (same == nullptr || numbers == nullptr) return false;
      for (unsigned lane = 0; lane < numbers->getNumElements(); ++lane)
        most = llvm::APIntOps::umax(most, numbers->getElementAsAPInt(lane).zext(64));
    }
    if (same == nullptr || !evolution_.isSCEVable(same->getType())) return false;
    const llvm::APInt largest = evolution_.getUnsignedRangeMax(evolution_.getSCEV(same)).zext(64);
    return (largest + most).ult(uint64_t{1} << (sum->getType()->getScalarSizeInBits() - 1));
  }

  // Whether the value of the first turn can be computed in front of the loop.
  bool CanBeMade(llvm::Value* value, int depth) {
    const auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    if (inst == nullptr || !loop_.contains(inst)) return true;
    if (llvm::isa<llvm::PHINode>(inst)) return inst->getParent() == loop_.getHeader();
    return depth != 0 && !inst->mayReadOrWriteMemory() && llvm::isSafeToSpeculativelyExecute(inst) &&
           llvm::all_of(inst->operands(),
                        [&](const llvm::Use& operand) { return CanBeMade(operand.get(), depth - 1); });
  }

  // The value of the first turn, in front of the loop.
  llvm::Value* InFirstTurn(llvm::Value* value) {
    auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    if (inst == nullptr || !loop_.contains(inst)) return value;
    if (llvm::Value* known = first_.lookup(inst)) return known;
    llvm::BasicBlock* before = loop_.getLoopPreheader();
    llvm::Value* made = nullptr;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(inst)) {
      made = phi->getIncomingValueForBlock(before);
    } else {
      llvm::Instruction* copy = inst->clone();
      for (llvm::Use& operand : copy->operands()) operand.set(InFirstTurn(operand.get()));
      copy->insertBefore(before->getTerminator());
      made = copy;
    }
    return first_[inst] = made;
  }

  // What the turns from this one on gather, as many as 16 bytes hold elements.
  Values ColumnsOf(llvm::IRBuilder<>& b, const llvm::CallBase& gather, llvm::Value* pointers, unsigned turn) {
    auto* type = llvm::cast<llvm::FixedVectorType>(gather.getType());
    const unsigned lanes = type->getNumElements(), rows = TurnsOfPart(*type),
                   bytes = type->getScalarSizeInBits() / 8;
    auto* part = llvm::FixedVectorType::get(type->getElementType(), rows);
    llvm::SmallVector<Values, 4> parts(rows);  // of lanes by their rests
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value* pointer = b.CreateConstGEP1_64(
          b.getInt8Ty(), b.CreateExtractElement(pointers, uint64_t{lane}), uint64_t{turn} * bytes);
      llvm::LoadInst* load = b.CreateAlignedLoad(part, pointer, llvm::Align(bytes));
      load->setAAMetadata(gather.getAAMetadata());
      parts[lane % rows].push_back(load);
    }
    Values columns;
    for (Values& of_rest : parts) columns.push_back(llvm::concatenateVectors(b, of_rest));
    for (unsigned size = 1; size < rows; size *= 2) columns = Interleaved(b, columns, size, rows);
    return columns;
  }

  // One step of the transposition of the squares of 16 bytes: groups of `size` elements in turn.
  static Values Interleaved(llvm::IRBuilder<>& b, const Values& vectors, unsigned size, unsigned rows) {
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements();
    const auto both = [&](llvm::Value* x, llvm::Value* y, bool upper) {
      llvm::SmallVector<int, 64> from;
      for (unsigned i = 0; i < lanes; ++i) {
        const unsigned group = i % rows / size, place = (upper ? rows / 2 : 0) + group / 2 * size + i % size;
        from.push_back(static_cast<int>(i / rows * rows + place + (group % 2 == 0 ? 0 : lanes)));
      }
      return b.CreateShuffleVector(x, y, from);
    };
    if (rows == 2) return {both(vectors[0], vectors[1], false), both(vectors[0], vectors[1], true)};
    if (size == 1)
      return {both(vectors[0], vectors[1], false), both(vectors[0], vectors[1], true),
              both(vectors[2], vectors[3], false), both(vectors[2], vectors[3], true)};
    return {both(vectors[0], vectors[2], false), both(vectors[0], vectors[2], true),
            both(vectors[1], vectors[3], false), both(vectors[1], vectors[3], true)};
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  LoopReads& reads_;
  uint64_t& bytes_left_;
  unsigned turns_ = 0;
  llvm::PHINode* turn_ = nullptr;
  llvm::DenseMap<llvm::Value*, llvm::Value*> first_;
};

}  // namespace

llvm::PreservedAnalyses GatherTurns::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& aliases = analyses.getResult<llvm::AAManager>(function);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  uint64_t bytes_left = kMaxBytes;
  bool changed = false;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    LoopReads reads(*loop, aliases, dominators);
    changed |= Columns(*loop, evolution, reads, bytes_left).Run();
  }
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
