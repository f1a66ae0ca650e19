// Loads of which a few lanes at a time have their elements close together, by numbers that are known: an
// access for each such group, where a test at run time finds the lanes where they are supposed.
//
//   lane i: x[17 * (i / 4) + 4 * (i % 4)]   ->   loads of x[0 .. 16), x[17 .. 33), ...; a shuffle
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

// The first lane's value, computed from that of its parts: the vector is needed only where the test fails.
Result<Value> LaneVectors::FirstOf(ValueId id, std::span<const ValueId> parts) {
  const ShapedValue shaped = e.values.Shaped(id);
  if (!shaped.value->getType()->isVectorTy()) return shaped.value;
  if (shaped.first != nullptr) return shaped.first;
  const bool is_part = std::ranges::find(parts, id) != parts.end();
  if (is_part || ShapeOf(id).uniform()) return b.CreateExtractElement(shaped.value, uint64_t{0});
  const ir::Inst& inst = f.at_inst(f.at_value(id).def);
  ValueMap::Overrides of_first(e.values);
  for (ValueId operand : inst.operands) {
    Value first = TRY(FirstOf(operand, parts));
    of_first.Set(operand, {first, nullptr, nullptr});
  }
  TRY_STATUS(EmitScalar(inst));
  Value first = e.values.Get(id);
  e.values.SetShaped(id, shaped);
  return first;
}

// Null: always.
Value LaneVectors::IsPattern(ValueId part) {
  const ShapedValue shaped = e.values.Shaped(part);
  if (shaped.first != nullptr) return shaped.holds;
  if (!shaped.value->getType()->isVectorTy()) return nullptr;
  Value first = b.CreateExtractElement(shaped.value, uint64_t{0});
  llvm::SmallVector<llvm::Constant*, 64> distances;
  for (int64_t distance : region_.patterns.at(part.index)) {
    const llvm::APInt number(64, static_cast<uint64_t>(distance));
    distances.push_back(
        llvm::ConstantInt::get(first->getType(), number.sextOrTrunc(first->getType()->getIntegerBitWidth())));
  }
  Value expected = b.CreateAdd(Vector(first), llvm::ConstantVector::get(distances));
  return AllOf({b.CreateICmpEQ(shaped.value, expected)});
}

Status LaneVectors::LoadInGroups(const ir::Inst& inst, const Mask& mask,
                                 const std::function<Status()>& apart) {
  const ValueId address = inst.operands[0];
  const std::vector<ValueId> parts =
      analysis::PartsOfPattern(f, region_, inst, [&](ir::BlockId block) { return is_open_[block.index]; });
  // Lanes that are not active may hold anything, poison too.
  Value holds = IsAll(mask) ? b.getTrue() : AllOf(mask);
  for (ValueId part : parts) {
    if (Value also = IsPattern(part)) holds = b.CreateLogicalAnd(holds, also);
  }
  Value first = TRY(FirstOf(address, parts));
  ValueMap::Overrides with_first(e.values);
  with_first.Set(address, {e.values.Get(address), first, nullptr});
  auto in_groups = [&] {
    LoadGroups(inst, *GroupsOfLoad(region_, inst), mask);
    return Status{};
  };
  return Choose(holds, in_groups, apart, inst.results);
}

void LaneVectors::LoadGroups(const ir::Inst& inst, const analysis::LaneGroups& groups, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  Value start = FirstPointer(inst, &memory, 0);
  const int64_t bytes = ir::Bytes(inst.type), elements = groups.bytes / bytes;
  llvm::Type* type = e.m.MemoryTypeOf(inst.type);
  const llvm::Align align = llvm::commonAlignment(AlignOf(inst, 0), static_cast<uint64_t>(bytes));
  auto* run = llvm::FixedVectorType::get(type, static_cast<unsigned>(elements));
  auto* singles = llvm::FixedVectorType::get(type, static_cast<unsigned>(groups.begin.size()));
  llvm::SmallVector<Value, 32> runs;
  Value whole = llvm::PoisonValue::get(singles);
  for (size_t n = 0; n < groups.begin.size(); ++n) {
    Value pointer = b.CreateConstGEP1_64(b.getInt8Ty(), start, static_cast<uint64_t>(groups.begin[n]));
    auto* load = b.CreateAlignedLoad(elements == 1 ? type : run, pointer, align);
    e.m.Annotate(load, memory);
    if (elements == 1)
      whole = b.CreateInsertElement(whole, load, n);
    else
      runs.push_back(load);
  }
  if (elements > 1) whole = llvm::concatenateVectors(b, runs);
  const std::vector<int64_t>& pattern = region_.patterns.at(inst.operands[0].index);
  for (size_t k = 0; k < inst.results.size(); ++k) {
    llvm::SmallVector<int, 64> from;
    for (unsigned lane = 0; lane < width_; ++lane) {
      const size_t group = lane / groups.lanes;
      const int64_t within = (pattern[lane] - groups.begin[group]) / bytes + static_cast<int64_t>(k);
      from.push_back(static_cast<int>(static_cast<int64_t>(group) * elements + within));
    }
    e.values.Set(inst.results[k], b.CreateShuffleVector(whole, from));
  }
}

}  // namespace ptx2cpu::lowering
