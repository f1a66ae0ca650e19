// f16x2 and bf16x2: a register of words is one of twice as many halves, and what is computed alike of both
// halves is one operation on all of them, without a shift or a permutation:
//
//   lane i: w = (x[2i], x[2i + 1])    ->    halves x[0], x[1], x[2], ... : to f32, computed, to f16, stored
//
// Halves that something else reads are taken out of the result.
#include <llvm/IR/Constants.h>

#include <numeric>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using analysis::HalfPair;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr unsigned kHalfBits = 16;
}

void LaneHalves::Begin(ir::BlockId block) {
  pairs_.clear();
  done_.clear();
  joined_.clear();
  block_ = block;
  const analysis::HalfPairOptions options{
      .converts = e.m.traits.has_half_conversion,
      .is_one_for_all = [this](const ir::Inst& inst) { return IsOneForAll(inst); }};
  for (const HalfPair& pair : analysis::FindHalfPairs(f, block, region_.used_elsewhere, options))
    pairs_[&f.at_inst(pair.low)] = pairs_[&f.at_inst(pair.high)] = pair;
}

bool LaneHalves::IsOneForAll(const ir::Inst& inst) const { return ShapeOf(inst.results[0]).uniform(); }

Result<bool> LaneHalves::EmitJoined(const ir::Inst& inst) {
  if (pairs_.empty()) return false;
  if (done_.contains(&inst)) return true;
  if (inst.op == Opcode::kPack) return EmitWord(inst);
  const auto found = pairs_.find(&inst);
  if (found == pairs_.end()) return false;
  const HalfPair& pair = found->second;
  TRY_STATUS(EmitPair(pair));
  done_.insert({&f.at_inst(pair.low), &f.at_inst(pair.high)});
  return true;
}

// The operation of the low halves, whose operands are those of both while it is emitted.
Status LaneHalves::EmitPair(const HalfPair& pair) {
  const ir::Inst &low = f.at_inst(pair.low), &high = f.at_inst(pair.high);
  std::vector<Value> operands;
  for (size_t k = 0; k < low.operands.size(); ++k)
    operands.push_back(JoinedOf(low.operands[k], high.operands[k]));
  {
    ValueMap::Overrides both(e.values);
    for (size_t k = 0; k < operands.size(); ++k) both.Set(low.operands[k], {operands[k], nullptr, nullptr});
    TRY_STATUS(e.EmitInst(low));
  }
  Value joined = e.values.Get(low.results[0]);
  joined_[low.results[0].index] = {high.results[0], joined};
  SetParts(pair, joined);
  return {};
}

void LaneHalves::SetParts(const HalfPair& pair, Value joined) {
  const ValueId low = f.at_inst(pair.low).results[0], high = f.at_inst(pair.high).results[0];
  if (joined->getType()->getScalarSizeInBits() == kHalfBits) {
    Value words = b.CreateBitCast(joined, VectorOf(b.getInt32Ty()));
    llvm::Type* halves = VectorOf(b.getInt16Ty());
    e.values.Set(low, b.CreateTrunc(words, halves));
    e.values.Set(high, b.CreateTrunc(b.CreateLShr(words, kHalfBits), halves));
    return;
  }
  llvm::SmallVector<int, 64> even, odd;
  for (unsigned lane = 0; lane < width_; ++lane) {
    even.push_back(static_cast<int>(2 * lane));
    odd.push_back(static_cast<int>(2 * lane + 1));
  }
  e.values.Set(low, b.CreateShuffleVector(joined, even));
  e.values.Set(high, b.CreateShuffleVector(joined, odd));
}

Value LaneHalves::WordsAsHalves(Value words) {
  return b.CreateBitCast(Vector(words), llvm::FixedVectorType::get(b.getInt16Ty(), 2 * width_));
}

Value LaneHalves::JoinedOf(ValueId low, ValueId high) {
  const auto found = joined_.find(analysis::WithoutBitcasts(f, low).index);
  if (found != joined_.end() && found->second.first == analysis::WithoutBitcasts(f, high))
    return found->second.second;
  const ValueId word = analysis::WholeWord(f, block_, region_.used_elsewhere, low, high);
  if (word.valid()) return WordsAsHalves(e.values.Get(word));
  Value first = e.values.Get(low), second = e.values.Get(high);
  if (first == second && !first->getType()->isVectorTy()) return b.CreateVectorSplat(2 * width_, first);
  if (first->getType()->getScalarSizeInBits() != kHalfBits) return InTurn(b, {Vector(first), Vector(second)});
  const auto wide = [&](Value half) { return b.CreateZExt(half, ShapedLike(half, b.getInt32Ty())); };
  if (first->getType()->isVectorTy() || second->getType()->isVectorTy())
    first = Vector(first), second = Vector(second);
  return WordsAsHalves(b.CreateOr(wide(first), b.CreateShl(wide(second), kHalfBits)));
}

bool LaneHalves::EmitWord(const ir::Inst& pack) {
  if (pack.operands.size() != 2 || ir::Bits(pack.from) != static_cast<int>(kHalfBits)) return false;
  const auto found = joined_.find(analysis::WithoutBitcasts(f, pack.operands[0]).index);
  if (found == joined_.end() || found->second.first != analysis::WithoutBitcasts(f, pack.operands[1]))
    return false;
  Value joined = found->second.second;
  if (joined->getType()->getScalarSizeInBits() != kHalfBits) return false;
  e.values.Set(pack.results[0], b.CreateBitCast(joined, VectorOf(e.m.TypeOf(pack.type))));
  return true;
}

}  // namespace ptx2cpu::lowering
