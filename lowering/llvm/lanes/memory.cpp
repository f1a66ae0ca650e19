// Loads and stores of a lane region as vectors.
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

size_t LaneVectors::ElementCount(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

llvm::Align LaneVectors::AlignOf(const ir::Inst& access, size_t element) {
  const auto bytes = static_cast<uint64_t>(ir::Bytes(access.type));
  llvm::Align whole(access.attrs.align != 0 ? access.attrs.align : bytes * ElementCount(access));
  return llvm::commonAlignment(whole, element * bytes);
}

// Of the first lane, if the sequence is known by the address of a lane after `lanes_before` others.
Value LaneVectors::FirstPointer(const ir::Inst& inst, Memory* memory, unsigned lanes_before) {
  CurrentStep::Scope scope(e.step, ScalarStep());
  ValueMap::FirstLanes firsts(e.values);
  Value pointer = e.memory.Pointer(inst.attrs.space, inst.operands[0], memory);
  if (lanes_before == 0) return pointer;
  const int64_t bytes = ir::Bytes(inst.type) * static_cast<int64_t>(ElementCount(inst) * lanes_before);
  return b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(static_cast<uint64_t>(-bytes)));
}

// Each lane's bit `count` times, for `count` elements of each lane.
Value LaneVectors::Repeated(Value lanes, size_t count) {
  if (count == 1) return lanes;
  llvm::SmallVector<int, 128> from;
  for (unsigned i = 0; i < width_ * count; ++i) from.push_back(static_cast<int>(i / count));
  return b.CreateShuffleVector(lanes, from);
}

Status LaneVectors::Choose(Value holds, const std::function<Status()>& yes, const std::function<Status()>& no,
                           const std::vector<ValueId>& results) {
  if (holds == nullptr) return yes();
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds)) return known->isOne() ? yes() : no();
  // A trip of a wide step's lanes that would do otherwise is none that they take together.
  if (is_wide_ && mixed_ != nullptr && mixed_level_ != 0 && !has_effects_) {
    llvm::BasicBlock* together = e.body.NewBlock("together");
    b.CreateCondBr(holds, together, mixed_);
    b.SetInsertPoint(together);
    return yes();
  }
  llvm::BasicBlock *together = e.body.NewBlock("together"), *apart = e.body.NewBlock("apart"),
                   *done = e.body.NewBlock("accessed");
  b.CreateCondBr(holds, together, apart, llvm::MDBuilder(e.m.context).createLikelyBranchWeights());
  std::vector<std::vector<Value>> values(2);
  llvm::BasicBlock* ends[2];
  for (int way = 0; way < 2; ++way) {
    b.SetInsertPoint(way == 0 ? together : apart);
    TRY_STATUS(way == 0 ? yes() : no());
    for (ValueId id : results) values[static_cast<size_t>(way)].push_back(e.values.Get(id));
    ends[way] = b.GetInsertBlock();
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  for (size_t i = 0; i < results.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(values[0][i]->getType(), 2);
    for (size_t way = 0; way < 2; ++way) phi->addIncoming(values[way][i], ends[way]);
    e.values.SetShaped(results[i], {phi, nullptr, nullptr});
  }
  return {};
}

// Consecutive lanes are as aligned as the first one, which may be elsewhere.
void LaneVectors::NoteMisaligned(const ir::Inst& inst, const Mask& mask, bool together) {
  if (e.alignment.notes() == nullptr) return;
  for (const AlignedOperand& aligned : AlignedOperandsOf(f, inst)) {
    if (!e.alignment.notes()->Needs(inst, aligned.operand)) continue;
    const ValueId operand = inst.operands[aligned.operand];
    const ShapedValue shaped = e.values.Shaped(operand);
    Value address = together && shaped.first != nullptr ? shaped.first : shaped.value;
    Value low = b.CreateAnd(address, Literal(address, aligned.align - 1)),
          is_misaligned = b.CreateICmpNE(low, Literal(low, 0));
    if (is_misaligned->getType()->isVectorTy())
      is_misaligned = NonZero(Bits({b.CreateLogicalAnd(mask.lanes, is_misaligned)}));
    e.alignment.notes()->Note(inst, aligned.operand, is_misaligned);
  }
}

bool LaneVectors::HasMasksFor(const ir::Inst& inst) const {
  return ir::Bits(inst.type) < 32 ? e.m.traits.has_avx512 : e.m.traits.has_masked_words;
}

// No machine repeats each bit of a mask three times: LLVM takes hundreds of instructions to do it.
bool LaneVectors::RepeatsMaskThrice(const ir::Inst& inst) const {
  if (ir::Bits(inst.type) < 32) return false;
  return ElementCount(inst) == 3 || std::abs(ElementsApart(ShapeOf(inst.operands[0]), inst)) == 3;
}

// The access, with masks that the machine has and makes. Elsewhere: without a mask where all lanes are
// active, else lane by lane.
Status LaneVectors::Together(const ir::Inst& inst, const Mask& mask,
                             const std::function<void(const Mask&)>& access) {
  const bool is_slow = RepeatsMaskThrice(inst);
  if (IsAll(mask) || (HasMasksFor(inst) && !is_slow)) return access(mask), Status{};
  auto all = [&] {
    return access({llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()}), Status{};
  };
  if (e.m.traits.has_avx512 && is_slow) {
    auto apart = [&] {
      return inst.op == Opcode::kLoad ? Gather(inst, mask) : Scatter(inst, mask), Status{};
    };
    return Choose(AllOf(mask), all, apart, inst.results);
  }
  auto some = [&] { return EmitEachLane(inst, mask); };
  return Choose(AllOf(mask), all, some, inst.results);
}

// Of each lane's own address. Where masks are missing, lanes that are not active read what another one reads,
// and those that store do so one by one; so do all where no machine stores elements of their size apart.
Status LaneVectors::Apart(const ir::Inst& inst, const Mask& mask,
                          const std::function<void(const Mask&)>& access) {
  if (inst.op == Opcode::kStore && ir::Bits(inst.type) < 32) return EmitEachLane(inst, mask);
  if (IsAll(mask) || e.m.traits.has_avx512) return access(mask), Status{};
  auto all = [&] {
    return access({llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()}), Status{};
  };
  auto some = [&] { return inst.op == Opcode::kLoad ? (access(mask), Status{}) : EmitEachLane(inst, mask); };
  return Choose(AllOf(mask), all, some, inst.results);
}

Status LaneVectors::EmitLoad(const ir::Inst& inst, const Mask& mask) {
  for (ValueId result : inst.results) e.values.ForgetSequence(result);
  if (inst.attrs.space == ir::Space::kLocal) return LoadLocal(inst, mask);
  const LaneForm form = FormOf(e, region_, inst);
  if (form == LaneForm::kUniform) return EmitScalar(inst);
  const bool is_run = form == LaneForm::kVector || form == LaneForm::kStrided;
  if (!is_run && LoadKnown(inst, mask)) return {};
  auto apart = [&] {
    if (!IsGathered(inst)) return EmitEachLane(inst, mask);
    return Apart(inst, mask, [&](const Mask& lanes) { Gather(inst, lanes); });
  };
  if (form == LaneForm::kGather) return apart();
  if (form == LaneForm::kInGroups) return InGroups(inst, mask, apart);
  auto together = [&] { return Together(inst, mask, [&](const Mask& lanes) { LoadTogether(inst, lanes); }); };
  auto in_window = [&] { return InWindow(inst, mask, apart); };
  if (form == LaneForm::kVectorIfSeen) return ChooseBySight(inst, mask, together, in_window);
  auto strided = [&] { return Together(inst, mask, [&](const Mask& lanes) { LoadStrided(inst, lanes); }); };
  const ShapedValue address = e.values.Shaped(inst.operands[0]);
  auto otherwise = [&] {
    if (!LoadsInRuns(inst, address.runs)) return apart();
    return Choose(
        address.runs.holds, [&] { return LoadRuns(inst, address.runs, mask); }, apart, inst.results);
  };
  if (form == LaneForm::kStrided) return Choose(address.holds, strided, otherwise, inst.results);
  auto once = [&] { return LoadOnce(inst, mask); };
  if (form == LaneForm::kUniformIfSeen) return Choose(address.holds, once, otherwise, inst.results);
  return Choose(address.holds, together, otherwise, inst.results);
}

// Of the address that all lanes have. Some lane is active where code with loads runs.
Status LaneVectors::LoadOnce(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  TRY_STATUS(EmitScalar(inst));
  for (ValueId result : inst.results) e.values.Set(result, Vector(e.values.Get(result)));
  return {};
}

void LaneVectors::LoadTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const size_t count = inst.results.size();
  const bool packed = IsPacked(inst);
  llvm::Type* type =
      packed ? PackedType(inst)
             : llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), static_cast<unsigned>(width_ * count));
  Value pointer = FirstPointer(inst, &memory, lanes_before);
  llvm::Instruction* load;
  if (lanes_before == 0) PrefetchLaterTrips(inst, pointer);
  if (lanes_before == 0 && inst.attrs.space == ir::Space::kGlobal) PrefetchStoreAfter(inst);
  if (IsAll(mask)) {
    if (is_wide_ && count == 1 && MayOrder()) return LoadInOrder(inst, pointer, memory);
    load = b.CreateAlignedLoad(type, pointer, AlignOf(inst, 0));
  } else {
    load = b.CreateMaskedLoad(type, pointer, AlignOf(inst, 0), Repeated(mask.lanes, packed ? 1 : count),
                              llvm::Constant::getNullValue(type));
  }
  e.m.Annotate(load, memory);
  if (packed) return Unpack(inst, load);
  if (IsRecord(inst)) return DivideRecords(inst, load), NoteElements(inst, load);
  for (size_t k = 0; k < count; ++k) {
    llvm::SmallVector<int, 64> from;
    for (unsigned lane = 0; lane < width_; ++lane) from.push_back(static_cast<int>(lane * count + k));
    e.values.Set(inst.results[k], count == 1 ? static_cast<Value>(load) : b.CreateShuffleVector(load, from));
  }
  if (count > 1) NoteElements(inst, load);
}

// Lanes that are not active read what the first active one reads.
Value LaneVectors::PointersForAll(const Mask& mask, Value pointers) {
  Value first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getFalse());
  Value lane = b.CreateAnd(first, Literal(first, width_ - 1));  // also of a mask without lanes
  return b.CreateSelect(mask.lanes, pointers, Vector(b.CreateExtractElement(pointers, lane)));
}

// Where a gather has no mask.
LaneVectors::Mask LaneVectors::ReadableByAll(const Mask& mask, Value& pointers) {
  if (IsAll(mask) || e.m.traits.has_avx512) return mask;
  pointers = PointersForAll(mask, pointers);
  return {llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()};
}

void LaneVectors::GatherElement(const ir::Inst& inst, size_t k, Value pointers, const Mask& mask,
                                Memory memory) {
  llvm::Type* type = VectorOf(e.m.MemoryTypeOf(inst.type));
  auto* load =
      b.CreateMaskedGather(type, pointers, AlignOf(inst, k), mask.lanes, llvm::Constant::getNullValue(type));
  e.m.Annotate(load, memory);
  e.values.Set(inst.results[k], load);
}

void LaneVectors::Gather(const ir::Inst& inst, const Mask& active) {
  NoteMisaligned(inst, active, false);
  Memory memory;
  Value pointers = e.memory.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const Mask mask = ReadableByAll(active, pointers);
  if (ir::Bits(inst.type) < 32) return GatherFromWords(inst, pointers, mask, memory);
  if (inst.results.size() > 1) return GatherRows(inst, pointers, mask, memory);
  GatherElement(inst, 0, pointers, mask, memory);
}

Status LaneVectors::EmitStore(const ir::Inst& inst, const Mask& mask) {
  if (inst.attrs.space == ir::Space::kLocal) return StoreLocal(inst, mask);
  const LaneForm form = FormOf(e, region_, inst);
  if (form == LaneForm::kUniform || OnlyLane(mask)) return StoreLast(inst, mask);
  auto scattered = [&] { return Apart(inst, mask, [&](const Mask& lanes) { Scatter(inst, lanes); }); };
  auto apart = [&] {
    if (!IsWholeRows(inst)) return scattered();
    return Choose(AllOf(mask), [&] { return ScatterRows(inst), Status{}; }, scattered, {});
  };
  if (form == LaneForm::kInGroups) return InGroups(inst, mask, apart);
  if (form == LaneForm::kGather) return apart();
  auto whole = [&] { return StoreWhole(inst, mask); };
  auto strided = [&] { return Together(inst, mask, [&](const Mask& lanes) { StoreStrided(inst, lanes); }); };
  // A lane that is alone (`if (threadIdx.x == 0)`) stores for itself: a vector under its mask would reach far
  // past it, and where that is past the end of memory, processors take a thousand cycles to see that nothing
  // is stored there.
  auto unless_alone = [&](const std::function<Status()>& access) {
    if (IsAll(mask)) return access();
    Value bits = Bits(mask), others = b.CreateAnd(bits, b.CreateSub(bits, Literal(bits, 1)));
    return Choose(b.CreateICmpNE(others, Literal(bits, 0)), access, [&] { return StoreLast(inst, mask); },
                  {});
  };
  auto together = [&] { return form == LaneForm::kStrided ? unless_alone(strided) : unless_alone(whole); };
  if (form == LaneForm::kVectorIfSeen) return ChooseBySight(inst, mask, together, apart);
  const ShapedValue address = e.values.Shaped(inst.operands[0]);
  auto otherwise = [&] {
    if (!StoresInRuns(inst, address.runs)) return apart();
    return Choose(address.runs.holds, [&] { return StoreRuns(inst, address.runs, mask); }, apart, {});
  };
  return Choose(address.holds, together, otherwise, {});
}

// How far the lane's element is from the first lane's: a stride, or one after the other where that was seen.
Value LaneVectors::StepsTo(const ir::Inst& inst, Value lane, Value like) {
  const LaneShape& address = ShapeOf(inst.operands[0]);
  const int64_t beside = ir::Bytes(inst.type) * static_cast<int64_t>(ElementCount(inst));
  const auto step = static_cast<uint64_t>(address.affine() ? address.stride : beside);
  return b.CreateMul(b.CreateZExtOrTrunc(lane, like->getType()), Literal(like, step));
}

// All lanes store to one place, or one lane alone: the last one's value remains.
Status LaneVectors::StoreLast(const ir::Inst& inst, const Mask& mask) {
  ValueMap::Overrides lasts(e.values);
  const std::optional<unsigned> only = OnlyLane(mask);
  Value last = nullptr;
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    const ShapedValue shaped = e.values.Shaped(inst.operands[i]);
    if (!shaped.value->getType()->isVectorTy()) continue;  // also those that have been here before
    if (last == nullptr) {
      Value bits = Bits(mask);
      Value after = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b.getTrue());
      last = b.CreateSub(Literal(bits, width_ - 1), after);
      if (only) last = Literal(bits, *only);
    }
    // Of a sequence no vector is needed.
    const bool steps = i == 0 && shaped.first != nullptr && (!only || shaped.holds == nullptr);
    Value element = steps ? b.CreateAdd(shaped.first, StepsTo(inst, last, shaped.first))
                          : b.CreateExtractElement(shaped.value, last);
    lasts.Set(inst.operands[i], {element, nullptr, shaped.holds});
  }
  return EmitScalar(inst);
}

llvm::Instruction* LaneVectors::StoreTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const size_t count = inst.operands.size() - 1;
  Value pointer = FirstPointer(inst, &memory, lanes_before), whole = Vector(e.values.Get(inst.operands[1]));
  const bool packed = IsPacked(inst);
  if (packed) whole = Pack(inst);
  if (Value computed = count > 1 && !packed ? InOrderOfMemory(inst) : nullptr) {
    whole = computed;
  } else if (IsRecord(inst)) {
    whole = MakeRecords(inst);
  } else if (count > 1 && !packed) {
    std::vector<Value> parts;
    for (size_t k = 1; k <= count; ++k) parts.push_back(Vector(e.values.Get(inst.operands[k])));
    whole = InTurn(b, parts);
  }
  llvm::Instruction* store;
  if (IsAll(mask)) {
    store = b.CreateAlignedStore(whole, pointer, AlignOf(inst, 0));
  } else {
    store = b.CreateMaskedStore(whole, pointer, AlignOf(inst, 0), Repeated(mask.lanes, packed ? 1 : count));
  }
  e.m.Annotate(store, memory);
  return store;
}

void LaneVectors::Scatter(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, false);
  Memory memory;
  Value pointers = e.memory.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  for (size_t k = 0; k + 1 < inst.operands.size(); ++k) {
    Value to = k == 0 ? pointers : b.CreateConstGEP1_64(b.getInt8Ty(), pointers, k * bytes);
    auto* store =
        b.CreateMaskedScatter(Vector(e.values.Get(inst.operands[k + 1])), to, AlignOf(inst, k), mask.lanes);
    e.m.Annotate(store, memory);
  }
}

// -- slots --

Status LaneVectors::EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level) {
  const ir::Slot& slot = f.slots[inst.attrs.index];
  Value value = e.values.Get(inst.operands[0]), address = e.memory.SlotAddress(inst.attrs.index);
  const bool lanes = slot.shape == ir::Level::kLane;
  if (lanes) value = Vector(value);
  if (!lanes && value->getType()->isVectorTy()) {  // a uniform slot: any lane's value
    value = b.CreateExtractElement(value,
                                   b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getTrue()));
  }
  if (slot.type == ir::Type::kI1) value = b.CreateZExt(value, ShapedLike(value, b.getInt8Ty()));
  const auto bytes = static_cast<uint64_t>(ir::Bytes(slot.type));
  if (lanes && OfRow() && e.m.traits.has_avx512 && !IsAll(mask)) {
    auto* store = b.CreateMaskedStore(value, address, llvm::Align(bytes), mask.lanes);
    e.m.Annotate(store, Memory::kSlot);
    return {};
  }
  const llvm::Align align(std::min<uint64_t>(bytes * (lanes && !OfRow() ? width_ : 1), 64));
  // Lanes that are elsewhere keep theirs; those that have exited need none.
  if (lanes && !IsAll(mask) && (OfRow() || !whole_level || f.parked_slot != ~0u)) {
    value = b.CreateSelect(mask.lanes, value, e.memory.Load(value->getType(), address, align, Memory::kSlot));
  }
  e.memory.Store(value, address, align, Memory::kSlot);
  return {};
}

// The lanes of a row begin anywhere among the block's threads, and others follow them.
Status LaneVectors::LoadSlotOfRow(const ir::Inst& inst, const Mask& mask) {
  const ir::Slot& slot = f.slots[inst.attrs.index];
  if (slot.shape != ir::Level::kLane) return e.EmitInst(inst);
  llvm::Type* type = VectorOf(e.m.MemoryTypeOf(slot.type));
  Value address = e.memory.SlotAddress(inst.attrs.index);
  const llvm::Align align(static_cast<uint64_t>(ir::Bytes(slot.type)));
  llvm::Instruction* load;
  if (IsAll(mask) || !e.m.traits.has_avx512) {  // where masks are missing, only whole steps begin
    load = b.CreateAlignedLoad(type, address, align);
  } else {
    load = b.CreateMaskedLoad(type, address, align, mask.lanes, llvm::Constant::getNullValue(type));
  }
  e.m.Annotate(load, Memory::kSlot);
  Value value = load;
  if (slot.type == ir::Type::kI1) value = b.CreateICmpNE(value, Literal(value, 0));
  e.values.SetShaped(inst.results[0], {value, nullptr, nullptr});
  return {};
}

}  // namespace ptx2cpu::lowering
