// Addresses without a known form: a test at run time finds out whether they are side by side, or in two runs.
#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

Value LanesBySight::ElsewhereThan(Value all, Value start, int64_t lanes_before, int64_t stride,
                                  const Mask& mask) {
  llvm::SmallVector<llvm::Constant*, 64> distances;
  for (int64_t lane = 0; lane < static_cast<int64_t>(width_); ++lane) {
    const auto distance = static_cast<uint64_t>((lane - lanes_before) * stride);
    distances.push_back(llvm::ConstantInt::get(
        start->getType(), llvm::APInt(64, distance).sextOrTrunc(start->getType()->getIntegerBitWidth())));
  }
  Value expected = b.CreateAdd(Vector(start), llvm::ConstantVector::get(distances));
  return b.CreateAnd(b.CreateICmpNE(all, expected), mask.lanes);
}

// The test of ChooseBySight, where lanes meet: the first lane is active, and all are one sequence from there,
// or up to some lane, and from there on one with the last.
ShapedValue LanesBySight::Met(Value all, int64_t stride, const Mask& mask) {
  const unsigned before = width_ - 1;
  Value first = b.CreateExtractElement(all, uint64_t{0}),
        last = b.CreateExtractElement(all, uint64_t{before});
  auto is_active = [&](unsigned lane) { return b.CreateExtractElement(mask.lanes, uint64_t{lane}); };
  auto is_none = [&](Value lanes) { return b.CreateNot(NonZero(Bits({lanes}))); };
  TwoRuns runs;
  runs.second = ElsewhereThan(all, first, 0, stride, mask);
  Value holds = b.CreateAnd(is_none(runs.second), is_active(0));
  Value in_neither = b.CreateAnd(runs.second, ElsewhereThan(all, last, before, stride, mask));
  runs.first = {first, b.CreateSub(last, Literal(last, static_cast<uint64_t>(stride * before)))};
  runs.stride = {stride, stride};
  runs.holds = b.CreateAnd(is_none(in_neither), b.CreateAnd(is_active(0), is_active(before)));
  return {all, first, holds, runs};
}

// Checks the addresses: one access if the first lane is active and each other has what follows its
// neighbour's elements; of single elements two accesses if that is so up to some lane, and from there up to
// the last one: vectors that go over the end of a row, as those that fill a tile mostly do.
Status LanesBySight::ChooseBySight(const ir::Inst& inst, const Mask& mask,
                                   const std::function<Status()>& together,
                                   const std::function<Status()>& apart) {
  const ValueId address = inst.operands[0];
  Value all = e.values.Get(address), first = b.CreateExtractElement(all, uint64_t{0});
  const size_t count = ElementCount(inst);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type)) * count;  // of a lane
  auto elsewhere_than = [&](Value start, int64_t lanes_before) {
    return ElsewhereThan(all, start, lanes_before, static_cast<int64_t>(bytes), mask);
  };
  auto is_active = [&](unsigned lane) { return b.CreateExtractElement(mask.lanes, uint64_t{lane}); };
  auto is_none = [&](Value lanes) { return b.CreateNot(NonZero(Bits({lanes}))); };
  Value elsewhere = elsewhere_than(first, 0);
  Value holds = b.CreateAnd(is_none(elsewhere), is_active(0));
  const std::vector<ValueId> results = inst.op == Opcode::kLoad ? inst.results : std::vector<ValueId>{};
  auto in_pieces = [&]() -> Status {
    if (count > 1 || !HasMasksFor(inst)) return apart();
    const unsigned before = width_ - 1;
    Value last = b.CreateExtractElement(all, uint64_t{before});
    Value in_neither = b.CreateAnd(elsewhere, elsewhere_than(last, before));
    Value two = b.CreateAnd(is_none(in_neither), b.CreateAnd(is_active(0), is_active(before)));
    return v.partings.Choose(two, [&] { return InTwoRuns(inst, mask, elsewhere); }, apart, results);
  };
  ValueMap::Overrides as_sequence(e.values);
  as_sequence.Set(address, {all, first, e.values.Shaped(address).holds});
  return v.partings.Choose(holds, together, in_pieces, results);
}

Status LanesBySight::InTwoRuns(const ir::Inst& inst, const Mask& mask, Value second) {
  llvm::BasicBlock* runs = e.body.NewBlock("two_runs");
  b.CreateBr(runs);
  b.SetInsertPoint(runs);
  const ValueId address = inst.operands[0];
  const Mask masks[] = {{b.CreateAnd(mask.lanes, b.CreateNot(second))}, {second}};
  Value all = e.values.Get(address), loaded = nullptr;
  for (unsigned run = 0; run < 2; ++run) {
    const unsigned before = run == 0 ? 0 : width_ - 1;
    ValueMap::Overrides as_sequence(e.values);
    as_sequence.Set(address, {all, b.CreateExtractElement(all, uint64_t{before}), nullptr});
    if (inst.op == Opcode::kStore) {
      v.accesses.StoreTogether(inst, masks[run], before);
      continue;
    }
    v.accesses.LoadTogether(inst, masks[run], before);
    Value here = e.values.Get(inst.results[0]);
    loaded = run == 0 ? here : b.CreateSelect(second, here, loaded);
  }
  if (loaded != nullptr) e.values.Set(inst.results[0], loaded);
  return {};
}

}  // namespace ptx2cpu::lowering
