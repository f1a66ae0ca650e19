#include "lowering/llvm/optimize/matrix_rows.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>

#include <numeric>
#include <optional>

#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

namespace {

using Value = llvm::Value*;
namespace patterns = llvm::PatternMatch;

constexpr unsigned kLanes = 32, kRows = 8, kRowBytes = 16;

// Words of lanes: the word of lane l is start + distances[l].
struct Words {
  llvm::SmallVector<Value, 4> starts;  // vectors whose first elements are the terms of start
  llvm::Constant* distances;

  Value Start(llvm::IRBuilder<>& b) const {
    Value start = b.getInt32(0);
    for (Value term : starts) start = b.CreateAdd(b.CreateExtractElement(term, uint64_t{0}), start);
    return start;
  }
  bool AreMultiplesOf(uint64_t size) const {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(distances->getAggregateElement(lane));
      if (distance == nullptr || distance->getZExtValue() % size != 0) return false;
    }
    return true;
  }
};

// The terms of a sum: splats, and constants, whose sum is `distances`.
bool CollectTerms(Value vector, llvm::SmallVectorImpl<Value>& starts, llvm::Constant*& distances,
                  int depth = 0) {
  constexpr int kMaxDepth = 8;
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(vector)) {
    distances = llvm::ConstantExpr::getAdd(distances, constant);
    return true;
  }
  if (const auto* splat = llvm::dyn_cast<llvm::ShuffleVectorInst>(vector);
      splat != nullptr && splat->isZeroEltSplat()) {
    starts.push_back(splat->getOperand(0));
    return true;
  }
  Value left = nullptr, right = nullptr;
  return depth < kMaxDepth &&
         patterns::match(vector, patterns::m_AddLike(patterns::m_Value(left), patterns::m_Value(right))) &&
         CollectTerms(left, starts, distances, depth + 1) &&
         CollectTerms(right, starts, distances, depth + 1);
}

std::optional<Words> WordsOf(Value vector) {
  Words words{{}, llvm::Constant::getNullValue(vector->getType())};
  if (!vector->getType()->getScalarType()->isIntegerTy(32)) return std::nullopt;
  if (!CollectTerms(vector, words.starts, words.distances) || words.starts.empty()) return std::nullopt;
  return words;
}

// The addresses that a load reads.
struct RowsOfLoad {
  llvm::CallInst* load;
  Value base;
  Words words;
};

std::optional<RowsOfLoad> RowsOf(llvm::CallInst& load) {
  const llvm::Function* callee = load.getCalledFunction();
  if (callee == nullptr || callee->getName() != "ptx2cpu_matrix_load") return std::nullopt;
  auto* store = llvm::dyn_cast_or_null<llvm::StoreInst>(load.getPrevNonDebugInstruction());
  if (store == nullptr || store->getPointerOperand() != load.getArgOperand(1)) return std::nullopt;
  auto* pointers = llvm::dyn_cast<llvm::GetElementPtrInst>(store->getValueOperand());
  if (pointers == nullptr || pointers->getNumIndices() != 1 ||
      pointers->getPointerOperandType()->isVectorTy() || !pointers->getSourceElementType()->isIntegerTy(8))
    return std::nullopt;
  Value offsets = nullptr;
  if (!patterns::match(pointers->getOperand(1), patterns::m_ZExt(patterns::m_Value(offsets))))
    return std::nullopt;
  const std::optional<Words> words = WordsOf(offsets);
  if (!words) return std::nullopt;
  return RowsOfLoad{&load, pointers->getPointerOperand(), *words};
}

// The transpose of an 8x8 matrix of 16-bit elements.
Value Transposed(llvm::IRBuilder<>& b, Value words) {
  auto* elements = llvm::FixedVectorType::get(b.getInt16Ty(), kRows * kRows);
  llvm::SmallVector<int, 64> order;
  for (unsigned n = 0; n < kRows * kRows; ++n)
    order.push_back(static_cast<int>(n % kRows * kRows + n / kRows));
  Value transposed = b.CreateShuffleVector(b.CreateBitCast(words, elements), order);
  return b.CreateBitCast(transposed, words->getType());
}

// Vectors of one type, one after the other.
Value Joined(llvm::IRBuilder<>& b, llvm::SmallVector<Value, 8> parts) {
  while (parts.size() > 1) {
    llvm::SmallVector<Value, 8> pairs;
    for (size_t n = 0; n < parts.size(); n += 2) {
      const unsigned width = llvm::cast<llvm::FixedVectorType>(parts[n]->getType())->getNumElements();
      llvm::SmallVector<int, 32> order(size_t{2} * width);
      std::iota(order.begin(), order.end(), 0);
      pairs.push_back(b.CreateShuffleVector(parts[n], parts[n + 1], order));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

void Rewrite(const RowsOfLoad& rows, uint64_t form) {
  llvm::IRBuilder<> b(rows.load);
  auto* row_type = llvm::FixedVectorType::get(b.getInt32Ty(), kRowBytes / 4);
  auto* register_type = llvm::FixedVectorType::get(b.getInt32Ty(), kLanes);
  Value start = rows.words.Start(b);
  for (unsigned n = 0; n < (form & PTX2CPU_MATRIX_COUNT); ++n) {
    llvm::SmallVector<Value, 8> parts;
    for (unsigned row = 0; row < kRows; ++row) {
      Value distance = rows.words.distances->getAggregateElement(n * kRows + row);
      Value offset = b.CreateZExt(b.CreateAdd(start, distance), b.getInt64Ty());
      Value from = b.CreateGEP(b.getInt8Ty(), rows.base, offset);
      parts.push_back(b.CreateAlignedLoad(row_type, from, llvm::Align(1)));
    }
    Value words = Joined(b, std::move(parts));
    if ((form & PTX2CPU_MATRIX_TRANSPOSED) != 0) words = Transposed(b, words);
    Value to = b.CreateConstInBoundsGEP1_64(register_type, rows.load->getArgOperand(0), n);
    b.CreateAlignedStore(words, to, llvm::Align(64));
  }
  rows.load->eraseFromParent();
}

// The lanes whose words are no multiples of a power of two: all or none.
bool AskOnce(llvm::BitCastInst& lanes) {
  Value words = nullptr;
  llvm::Constant* mask = nullptr;
  llvm::ICmpInst::Predicate predicate{};
  if (!lanes.getType()->isIntegerTy(kLanes) ||
      !patterns::match(lanes.getOperand(0),
                       patterns::m_ICmp(predicate,
                                        patterns::m_And(patterns::m_ZExt(patterns::m_Value(words)),
                                                        patterns::m_Constant(mask)),
                                        patterns::m_Zero())) ||
      predicate != llvm::ICmpInst::ICMP_NE)
    return false;
  const auto* bits = llvm::dyn_cast_or_null<llvm::ConstantInt>(mask->getSplatValue());
  if (bits == nullptr || !llvm::isMask_64(bits->getZExtValue()) || bits->getBitWidth() > 64) return false;
  const std::optional<Words> known = WordsOf(words);
  const uint64_t size = bits->getZExtValue() + 1;
  if (!known || size > 0x80000000u || !known->AreMultiplesOf(size)) return false;
  llvm::IRBuilder<> b(&lanes);
  Value some = b.CreateICmpNE(b.CreateAnd(known->Start(b), b.getInt32(static_cast<uint32_t>(size - 1))),
                              b.getInt32(0));
  lanes.replaceAllUsesWith(b.CreateSExt(some, b.getInt32Ty()));
  lanes.eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses LoadRowsByDistance::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& inst : llvm::make_early_inc_range(block)) {
      if (auto* lanes = llvm::dyn_cast<llvm::BitCastInst>(&inst)) {
        changed |= AskOnce(*lanes);
        continue;
      }
      auto* load = llvm::dyn_cast<llvm::CallInst>(&inst);
      if (load == nullptr) continue;
      const std::optional<RowsOfLoad> rows = RowsOf(*load);
      if (!rows) continue;
      const auto* form = llvm::dyn_cast<llvm::ConstantInt>(load->getArgOperand(2));
      if (form == nullptr) continue;
      Rewrite(*rows, form->getZExtValue());
      changed = true;
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  // Addresses that no other load reads need not be stored.
  analyses.invalidate(function, preserved);
  preserved.intersect(llvm::DSEPass().run(function, analyses));
  return preserved;
}

}  // namespace ptx2cpu::lowering
