#include "lowering/llvm/optimize/join_trees.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <optional>

#include "lowering/llvm/optimize/preserved.h"

namespace ptx2cpu::lowering {

namespace {

using llvm::Value;
// The corresponding value of each tree.
using Trees = llvm::SmallVector<Value*, 8>;

constexpr size_t kMinTrees = 2, kMaxTrees = 32;
constexpr size_t kMaxStep = 24;     // operations of a level
constexpr unsigned kMinLevels = 2;  // fewer gain nothing

unsigned LanesOf(const Value* value) {
  return llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
}

bool IsLanewise(const llvm::Instruction& inst) {
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst>(inst)) return true;
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&inst))
    return select->getCondition()->getType()->isVectorTy();
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst))
    return cast->getSrcTy()->isVectorTy() && LanesOf(cast->getOperand(0)) == LanesOf(cast);
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
  return call != nullptr && llvm::isTriviallyVectorizable(call->getIntrinsicID()) &&
         llvm::all_of(call->args(), [](const Value* argument) { return argument->getType()->isVectorTy(); });
}

// Lanes of a vector, one after the other.
struct Place {
  Value* vector;
  unsigned first;
};

// Where these lanes come from, through permutations and changes of type.
Place OriginOf(Place place, unsigned count) {
  for (;;) {
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(place.vector)) {
      Value* from = cast->getOperand(0);
      if (!from->getType()->isVectorTy() || LanesOf(from) != LanesOf(cast)) return place;
      place.vector = from;
      continue;
    }
    const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(place.vector);
    if (shuffle == nullptr) return place;
    const llvm::ArrayRef<int> mask = shuffle->getShuffleMask().slice(place.first, count);
    for (unsigned n = 0; n < count; ++n) {
      if (mask[n] < 0 || mask[n] != mask[0] + static_cast<int>(n)) return place;
    }
    const unsigned lanes = LanesOf(shuffle->getOperand(0)), first = static_cast<unsigned>(mask[0]);
    if (first < lanes && first + count > lanes) return place;
    place = {shuffle->getOperand(first < lanes ? 0 : 1), first < lanes ? first : first - lanes};
  }
}

bool SameOperation(const llvm::Instruction& one, const llvm::Instruction& other) {
  const auto *call = llvm::dyn_cast<llvm::CallBase>(&one),
             *other_call = llvm::dyn_cast<llvm::CallBase>(&other);
  if (call != nullptr && other_call != nullptr && call->getCalledOperand() != other_call->getCalledOperand())
    return false;
  return one.isSameOperationAs(&other, llvm::Instruction::CompareIgnoringAlignment) &&
         one.hasSameSubclassOptionalData(&other);
}

// One level of the trees: lanes [0, count) of `roots` out of lanes [0, 2 * count) of `below`.
struct Level {
  Trees roots, below;
  unsigned count = 0;
  llvm::DenseMap<const Value*, Trees> operations;  // those of the first tree, and the same of all
};

class Joiner {
 public:
  Joiner(llvm::Instruction& before, unsigned register_bytes) : b_(&before), register_bytes_(register_bytes) {}

  // A vector of the first lanes of the roots. Null: they are not such trees.
  Value* Join(const Trees& roots) {
    std::vector<Level> levels;
    Trees at = roots;
    for (unsigned count = 1; count < LanesOf(roots[0]); count *= 2) {
      std::optional<Level> level = LevelOf(at, count);
      if (!level) break;
      at = level->below;
      levels.push_back(std::move(*level));
    }
    if (levels.size() < kMinLevels) return nullptr;
    const unsigned lowest = 2 * levels.back().count;
    if (LanesOf(at[0]) < lowest) return nullptr;
    Trees registers = Gather(at, lowest);
    for (Level& level : llvm::reverse(levels)) registers = Emit(level, registers);
    return Concatenate(registers);
  }

 private:
  // How many trees share a register where each has so many lanes.
  size_t TreesOf(const Value* root, unsigned count, size_t trees) const {
    const unsigned bytes = ElementBits(root) / 8;
    return std::min<size_t>(trees, std::max(1u, register_bytes_ / (bytes * count)));
  }

  // The nearest lanes other than the first that the roots are computed from.
  static Value* BelowOf(Value* root, unsigned count) {
    llvm::SmallVector<Value*, 16> order{root};
    llvm::SmallPtrSet<Value*, 16> seen{root};
    for (size_t n = 0; n < order.size() && n < kMaxStep; ++n) {
      const Place place = OriginOf({order[n], 0}, count);
      if (place.first == count) return place.vector;
      auto* inst = llvm::dyn_cast<llvm::Instruction>(place.vector);
      if (place.first != 0 || inst == nullptr || !IsLanewise(*inst)) continue;
      for (llvm::Use& operand : inst->operands()) {
        if (seen.insert(operand.get()).second) order.push_back(operand.get());
      }
    }
    return nullptr;
  }

  static std::optional<Level> LevelOf(const Trees& roots, unsigned count) {
    Level level;
    level.roots = roots;
    level.count = count;
    for (Value* root : roots) {
      level.below.push_back(BelowOf(root, count));
      if (level.below.back() == nullptr || level.below.back()->getType() != level.below[0]->getType())
        return std::nullopt;
    }
    const bool alike =
        LanesOf(level.below[0]) >= 2 * count && ElementBits(level.below[0]) == ElementBits(roots[0]);
    if (!alike || !Collect(level, roots)) return std::nullopt;
    return level;
  }

  static unsigned ElementBits(const Value* value) { return value->getType()->getScalarSizeInBits(); }

  static bool IsShared(const Trees& values) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(values[0]);
    return constant != nullptr && constant->getSplatValue() != nullptr && llvm::all_equal(values);
  }

  // Where an operand is in the level below: its first lane; null: it is another operation of this level.
  static std::optional<unsigned> InBelow(const Level& level, size_t tree, Value* value) {
    const Place place = OriginOf({value, 0}, level.count);
    if (place.vector != level.below[tree] || (place.first != 0 && place.first != level.count))
      return std::nullopt;
    return place.first;
  }

  static bool Collect(Level& level, const Trees& values) {
    if (level.operations.contains(values[0])) return level.operations[values[0]] == values;
    if (IsShared(values)) return true;
    const std::optional<unsigned> first = InBelow(level, 0, values[0]);
    for (size_t tree = 1; tree < values.size(); ++tree) {
      if (values[tree]->getType() != values[0]->getType() || InBelow(level, tree, values[tree]) != first)
        return false;
    }
    if (first) return true;
    const auto* inst = llvm::dyn_cast<llvm::Instruction>(values[0]);
    if (inst == nullptr || !IsLanewise(*inst) || level.operations.size() == kMaxStep) return false;
    for (Value* value : values) {
      const auto* other = llvm::dyn_cast<llvm::Instruction>(value);
      if (other == nullptr || !SameOperation(*inst, *other)) return false;
    }
    level.operations[values[0]] = values;
    for (unsigned n = 0; n < OperandsOf(*inst); ++n) {
      Trees operands;
      for (Value* value : values) operands.push_back(llvm::cast<llvm::Instruction>(value)->getOperand(n));
      if (!Collect(level, operands)) return false;
    }
    return true;
  }

  static unsigned OperandsOf(const llvm::Instruction& inst) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&inst);
    return call != nullptr ? call->arg_size() : inst.getNumOperands();
  }

  // Lanes [0, count) of each value, those of as many as fit in one register.
  Trees Gather(const Trees& values, unsigned count) {
    Trees parts;
    for (Value* value : values) parts.push_back(Lanes(value, 0, count));
    const size_t together = TreesOf(values[0], count, values.size());
    while (parts.size() * together > values.size()) {
      Trees pairs;
      for (size_t n = 0; n < parts.size(); n += 2)
        pairs.push_back(llvm::concatenateVectors(b_, {parts[n], parts[n + 1]}));
      parts = std::move(pairs);
    }
    return parts;
  }

  Value* Lanes(Value* value, unsigned first, unsigned count) {
    if (first == 0 && count == LanesOf(value)) return value;
    return b_.CreateShuffleVector(value, llvm::createSequentialMask(first, count, 0));
  }

  Value* Concatenate(const Trees& parts) {
    return parts.size() == 1 ? parts[0] : llvm::concatenateVectors(b_, parts);
  }

  // The level's values out of those below.
  Trees Emit(const Level& level, const Trees& below) {
    const size_t trees = level.roots.size(), together = TreesOf(level.roots[0], level.count, trees);
    const size_t below_together = trees / below.size();
    Trees result;
    for (size_t tree = 0; tree < trees; tree += together) {
      Value* halves[2];
      for (const unsigned half : {0u, 1u}) {
        llvm::SmallVector<int, 64> mask;
        const size_t first = tree / below_together, last = (tree + together - 1) / below_together;
        for (size_t n = tree; n < tree + together; ++n) {
          const size_t at = (n / below_together - first) * below_together + n % below_together;
          for (unsigned lane = 0; lane < level.count; ++lane)
            mask.push_back(static_cast<int>((2 * at + half) * level.count + lane));
        }
        halves[half] = first == last ? b_.CreateShuffleVector(below[first], mask)
                                     : b_.CreateShuffleVector(below[first], below[last], mask);
      }
      llvm::DenseMap<Value*, Value*> done;
      result.push_back(Emit(level, level.roots[0], halves, done));
    }
    return result;
  }

  Value* Emit(const Level& level, Value* value, Value* const (&halves)[2],
              llvm::DenseMap<Value*, Value*>& done) {
    if (Value* before = done.lookup(value)) return before;
    const unsigned lanes = LanesOf(halves[0]);
    auto* type = llvm::FixedVectorType::get(value->getType()->getScalarType(), lanes);
    Value* result = nullptr;
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
      result = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), constant->getSplatValue());
    } else if (const std::optional<unsigned> first = InBelow(level, 0, value)) {
      result = b_.CreateBitCast(halves[*first == 0 ? 0 : 1], type);
    } else {
      auto* inst = llvm::cast<llvm::Instruction>(value);
      llvm::SmallVector<Value*, 4> operands;
      for (unsigned n = 0; n < OperandsOf(*inst); ++n)
        operands.push_back(Emit(level, inst->getOperand(n), halves, done));
      result = Clone(*inst, type, operands);
    }
    return done[value] = result;
  }

  Value* Clone(llvm::Instruction& inst, llvm::Type* type, llvm::ArrayRef<Value*> operands) {
    Value* result = nullptr;
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&inst)) {
      result = b_.CreateCmp(compare->getPredicate(), operands[0], operands[1]);
    } else if (llvm::isa<llvm::SelectInst>(inst)) {
      result = b_.CreateSelect(operands[0], operands[1], operands[2]);
    } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst)) {
      result = b_.CreateCast(cast->getOpcode(), operands[0], type);
    } else if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst)) {
      result = b_.CreateIntrinsic(type, call->getIntrinsicID(), operands);
    } else {
      result = b_.CreateNAryOp(inst.getOpcode(), operands);
    }
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(result)) made->copyIRFlags(&inst);
    return result;
  }

  llvm::IRBuilder<> b_;
  const unsigned register_bytes_;
};

// The vectors whose first elements a chain of insertions makes a vector of; `last` is its end.
std::optional<Trees> RootsOf(llvm::InsertElementInst& last) {
  const unsigned lanes = LanesOf(&last);
  if (lanes < kMinTrees || lanes > kMaxTrees || !llvm::isPowerOf2_32(lanes)) return std::nullopt;
  Trees roots(lanes);
  Value* at = &last;
  while (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(at)) {
    const auto* index = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
    auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(insert->getOperand(1));
    if (index == nullptr || extract == nullptr || !extract->hasOneUse() || index->uge(lanes))
      return std::nullopt;
    if (insert != &last && !insert->hasOneUse()) return std::nullopt;
    const auto* lane = llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand());
    Value*& root = roots[index->getZExtValue()];
    if (root != nullptr || lane == nullptr || !lane->isZero() || !extract->getVectorOperand()->hasOneUse())
      return std::nullopt;
    root = extract->getVectorOperand();
    at = insert->getOperand(0);
  }
  const bool all = llvm::all_of(
      roots, [&](const Value* root) { return root != nullptr && root->getType() == roots[0]->getType(); });
  return all ? std::optional(roots) : std::nullopt;
}

}  // namespace

llvm::PreservedAnalyses JoinTrees::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  const auto bits =
      target.getRegisterBitWidth(llvm::TargetTransformInfo::RGK_FixedWidthVector).getFixedValue();
  if (bits < 128) return llvm::PreservedAnalyses::all();
  llvm::SmallVector<llvm::InsertElementInst*> chains;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : block) {
      auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&inst);
      const bool ends = insert != nullptr && llvm::none_of(insert->users(), [&](const llvm::User* user) {
                          return llvm::isa<llvm::InsertElementInst>(user) && user->getOperand(0) == insert;
                        });
      if (ends) chains.push_back(insert);
    }
  }
  bool changed = false;
  for (llvm::InsertElementInst* chain : chains) {
    const std::optional<Trees> roots = RootsOf(*chain);
    Value* joined = roots ? Joiner(*chain, static_cast<unsigned>(bits / 8)).Join(*roots) : nullptr;
    if (joined == nullptr) continue;
    chain->replaceAllUsesWith(joined);
    llvm::RecursivelyDeleteTriviallyDeadInstructions(chain);
    changed = true;
  }
  return PreservedWithBlocks(changed);
}

}  // namespace ptx2cpu::lowering
