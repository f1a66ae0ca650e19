// Loads and stores of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

size_t Count(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

llvm::Align AlignOf(const ir::Inst& access, size_t element) {
  const auto bytes = static_cast<uint64_t>(ir::Bytes(access.type));
  llvm::Align whole(access.attrs.align != 0 ? access.attrs.align : bytes * Count(access));
  return llvm::commonAlignment(whole, element * bytes);
}

}  // namespace

Value LaneVectors::FirstPointer(const ir::Inst& inst, Memory* memory) {
  e.step.width = 1;
  e.first_lanes = &first_;
  Value pointer = e.Pointer(inst.attrs.space, inst.operands[0], memory);
  e.first_lanes = nullptr;
  e.step.width = kWarpSize;
  return pointer;
}

// Each lane's bit `count` times, for `count` elements of each lane.
Value LaneVectors::Repeated(Value lanes, size_t count) {
  if (count == 1) return lanes;
  llvm::SmallVector<int, 128> from;
  for (unsigned i = 0; i < kWarpSize * count; ++i) from.push_back(static_cast<int>(i / count));
  return b.CreateShuffleVector(lanes, from);
}

Status LaneVectors::Choose(Value holds, const std::function<Status()>& yes, const std::function<Status()>& no,
                           const std::vector<ValueId>& results) {
  if (holds == nullptr) return yes();
  llvm::BasicBlock *together = e.NewBlock("together"), *apart = e.NewBlock("apart"),
                   *done = e.NewBlock("accessed");
  b.CreateCondBr(holds, together, apart);
  std::vector<std::vector<Value>> values(2);
  llvm::BasicBlock* ends[2];
  for (int way = 0; way < 2; ++way) {
    b.SetInsertPoint(way == 0 ? together : apart);
    TRY_STATUS(way == 0 ? yes() : no());
    for (ValueId id : results) values[static_cast<size_t>(way)].push_back(e.ValueOf(id));
    ends[way] = b.GetInsertBlock();
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  for (size_t i = 0; i < results.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(values[0][i]->getType(), 2);
    for (size_t way = 0; way < 2; ++way) phi->addIncoming(values[way][i], ends[way]);
    SetForms(results[i], {phi, nullptr, nullptr});
  }
  return {};
}

// Looks at the addresses: one access where the first lane is there and each other has the element behind its
// neighbour's.
Status LaneVectors::ChooseBySight(const ir::Inst& inst, const Mask& mask,
                                  const std::function<Status()>& together,
                                  const std::function<Status()>& apart) {
  const ValueId address = inst.operands[0];
  Value all = e.ValueOf(address), first = b.CreateExtractElement(all, uint64_t{0});
  llvm::Type* element = first->getType();
  llvm::SmallVector<llvm::Constant*, kWarpSize> distances;
  for (uint64_t lane = 0; lane < kWarpSize; ++lane)
    distances.push_back(llvm::ConstantInt::get(element, lane * static_cast<uint64_t>(ir::Bytes(inst.type))));
  Value expected = b.CreateAdd(Vector(first), llvm::ConstantVector::get(distances));
  Value elsewhere = b.CreateAnd(b.CreateICmpNE(all, expected), mask.lanes);
  Value side_by_side = b.CreateICmpEQ(b.CreateBitCast(elsewhere, b.getInt32Ty()), b.getInt32(0));
  Value holds = b.CreateAnd(side_by_side, b.CreateExtractElement(mask.lanes, uint64_t{0}));
  Value saved = std::exchange(first_[address.index], first);
  Status status =
      Choose(holds, together, apart, inst.op == Opcode::kLoad ? inst.results : std::vector<ValueId>{});
  first_[address.index] = saved;
  return status;
}

// Consecutive lanes are as aligned as the first one, which may be elsewhere.
void LaneVectors::NoteMisaligned(const ir::Inst& inst, const Mask& mask, bool together) {
  if (e.notes() == nullptr) return;
  for (const AlignedOperand& aligned : AlignedOperandsOf(f, inst)) {
    if (!e.notes()->Needs(inst, aligned.operand)) continue;
    const ValueId operand = inst.operands[aligned.operand];
    Value address = together && first_[operand.index] != nullptr ? first_[operand.index] : e.ValueOf(operand);
    Value low = b.CreateAnd(address, Literal(address, aligned.align - 1)),
          odd = b.CreateICmpNE(low, Literal(low, 0));
    if (odd->getType()->isVectorTy())
      odd = b.CreateICmpNE(Bits({b.CreateLogicalAnd(mask.lanes, odd), nullptr}), b.getInt32(0));
    e.notes()->Note(inst, aligned.operand, odd);
  }
}

Status LaneVectors::EmitLoad(const ir::Inst& inst, const Mask& mask) {
  for (ValueId result : inst.results) first_[result.index] = holds_[result.index] = nullptr;
  const Way way = WayOf(e, region_, inst);
  if (way == Way::kScalar) return EmitScalar(inst);
  auto apart = [&] {
    if (ir::Bits(inst.type) < 32) return EmitEachLane(inst, mask);
    Gather(inst, mask);
    return Status{};
  };
  if (way == Way::kApart) return apart();
  auto together = [&] {
    LoadTogether(inst, mask);
    return Status{};
  };
  if (way == Way::kMaybeTogether) return ChooseBySight(inst, mask, together, apart);
  return Choose(holds_[inst.operands[0].index], together, apart, inst.results);
}

void LaneVectors::LoadTogether(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const size_t count = inst.results.size();
  auto* type =
      llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), static_cast<unsigned>(kWarpSize * count));
  Value pointer = FirstPointer(inst, &memory);
  auto* load = b.CreateMaskedLoad(type, pointer, AlignOf(inst, 0), Repeated(mask.lanes, count),
                                  llvm::Constant::getNullValue(type));
  e.m.Annotate(load, memory);
  for (size_t k = 0; k < count; ++k) {
    llvm::SmallVector<int, kWarpSize> from;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) from.push_back(static_cast<int>(lane * count + k));
    e.SetValue(inst.results[k], count == 1 ? static_cast<Value>(load) : b.CreateShuffleVector(load, from));
  }
}

void LaneVectors::Gather(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  Memory memory;
  Value pointers = e.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  llvm::Type* type = VectorOf(e.m.MemoryTypeOf(inst.type));
  for (size_t k = 0; k < inst.results.size(); ++k) {
    Value from = k == 0 ? pointers : b.CreateConstGEP1_64(b.getInt8Ty(), pointers, k * bytes);
    auto* load =
        b.CreateMaskedGather(type, from, AlignOf(inst, k), mask.lanes, llvm::Constant::getNullValue(type));
    e.m.Annotate(load, memory);
    e.SetValue(inst.results[k], load);
  }
}

Status LaneVectors::EmitStore(const ir::Inst& inst, const Mask& mask) {
  const Way way = WayOf(e, region_, inst);
  if (way == Way::kScalar) return StoreLast(inst, mask);
  auto apart = [&] {
    if (ir::Bits(inst.type) < 32) return EmitEachLane(inst, mask);
    Scatter(inst, mask);
    return Status{};
  };
  if (way == Way::kApart) return apart();
  auto together = [&] {
    StoreTogether(inst, mask);
    return Status{};
  };
  if (way == Way::kMaybeTogether) return ChooseBySight(inst, mask, together, apart);
  return Choose(holds_[inst.operands[0].index], together, apart, {});
}

// All lanes store to one place: the last one's value stays.
Status LaneVectors::StoreLast(const ir::Inst& inst, const Mask& mask) {
  std::vector<std::pair<ValueId, Value>> saved;
  Value last = nullptr;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    Forms forms = FormsOf(inst.operands[i]);
    bool known = std::ranges::any_of(saved, [&](const auto& pair) { return pair.first == inst.operands[i]; });
    if (!forms.value->getType()->isVectorTy() || known) continue;
    if (last == nullptr)
      last = b.CreateSub(b.getInt32(31),
                         b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, Bits(mask), b.getTrue()));
    saved.push_back({inst.operands[i], forms.value});
    e.SetValue(inst.operands[i], b.CreateExtractElement(forms.value, last));
  }
  std::vector<Value> firsts;  // not of the values
  for (auto& [id, value] : saved) firsts.push_back(std::exchange(first_[id.index], nullptr));
  TRY_STATUS(EmitScalar(inst));
  for (size_t i = 0; i < saved.size(); ++i) {
    e.SetValue(saved[i].first, saved[i].second);
    first_[saved[i].first.index] = firsts[i];
  }
  return {};
}

void LaneVectors::StoreTogether(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const size_t count = inst.operands.size() - 1;
  Value pointer = FirstPointer(inst, &memory);
  Value whole = Vector(e.ValueOf(inst.operands[1]));
  // All lanes' first elements, then all second ones ..., brought into the order of memory.
  if (count > 1) {
    llvm::SmallVector<int, 64> pair(2 * kWarpSize);
    std::iota(pair.begin(), pair.end(), 0);
    auto two = [&](size_t k) {
      Value first = Vector(e.ValueOf(inst.operands[k]));
      Value second =
          k < count ? Vector(e.ValueOf(inst.operands[k + 1])) : llvm::PoisonValue::get(first->getType());
      return b.CreateShuffleVector(first, second, pair);
    };
    whole = two(1);
    if (count > 2) {
      llvm::SmallVector<int, 128> four(4 * kWarpSize);
      std::iota(four.begin(), four.end(), 0);
      whole = b.CreateShuffleVector(whole, two(3), four);
    }
    llvm::SmallVector<int, 128> order;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      for (unsigned k = 0; k < count; ++k) order.push_back(static_cast<int>(k * kWarpSize + lane));
    }
    whole = b.CreateShuffleVector(whole, order);
  }
  auto* store = b.CreateMaskedStore(whole, pointer, AlignOf(inst, 0), Repeated(mask.lanes, count));
  e.m.Annotate(store, memory);
}

void LaneVectors::Scatter(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  Memory memory;
  Value pointers = e.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  for (size_t k = 0; k + 1 < inst.operands.size(); ++k) {
    Value to = k == 0 ? pointers : b.CreateConstGEP1_64(b.getInt8Ty(), pointers, k * bytes);
    auto* store =
        b.CreateMaskedScatter(Vector(e.ValueOf(inst.operands[k + 1])), to, AlignOf(inst, k), mask.lanes);
    e.m.Annotate(store, memory);
  }
}

// -- slots --

Status LaneVectors::EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level) {
  const ir::Slot& slot = f.slots[inst.attrs.index];
  Value value = e.ValueOf(inst.operands[0]), address = e.SlotAddress(inst.attrs.index);
  const bool lanes = slot.shape == ir::Level::kLane;
  if (lanes) value = Vector(value);
  if (!lanes && value->getType()->isVectorTy()) {  // a uniform slot: any lane's value
    value = b.CreateExtractElement(value,
                                   b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getTrue()));
  }
  if (slot.type == ir::Type::kI1) value = b.CreateZExt(value, ShapedLike(value, b.getInt8Ty()));
  const auto bytes = static_cast<uint64_t>(ir::Bytes(slot.type));
  if (lanes && OfRow()) {
    auto* store = b.CreateMaskedStore(value, address, llvm::Align(bytes), mask.lanes);
    e.m.Annotate(store, Memory::kSlot);
    return {};
  }
  const llvm::Align align(std::min<uint64_t>(bytes * (lanes ? kWarpSize : 1), 64));
  // Lanes that are elsewhere keep theirs; those that have exited need none.
  if (lanes && (!whole_level || f.parked_slot != ~0u)) {
    value = b.CreateSelect(mask.lanes, value, e.LoadPlain(value->getType(), address, align, Memory::kSlot));
  }
  e.StorePlain(value, address, align, Memory::kSlot);
  return {};
}

// The lanes of a row begin anywhere among the block's threads, and others stand behind them.
Status LaneVectors::LoadSlotOfRow(const ir::Inst& inst, const Mask& mask) {
  const ir::Slot& slot = f.slots[inst.attrs.index];
  if (slot.shape != ir::Level::kLane) return e.EmitInst(inst);
  llvm::Type* type = VectorOf(e.m.MemoryTypeOf(slot.type));
  auto* load = b.CreateMaskedLoad(type, e.SlotAddress(inst.attrs.index),
                                  llvm::Align(static_cast<uint64_t>(ir::Bytes(slot.type))), mask.lanes,
                                  llvm::Constant::getNullValue(type));
  e.m.Annotate(load, Memory::kSlot);
  Value value = load;
  if (slot.type == ir::Type::kI1) value = b.CreateICmpNE(value, Literal(value, 0));
  SetForms(inst.results[0], {value, nullptr, nullptr});
  return {};
}

}  // namespace ptx2cpu::lowering
