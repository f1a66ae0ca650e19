// Loads and stores of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstdlib>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

// No machine repeats each bit of a mask three times: LLVM takes hundreds of instructions to do it.
bool LaneAccesses::RepeatsMaskThrice(const ir::Inst& inst) const {
  if (ir::Bits(inst.type) < 32) return false;
  return ElementCount(inst) == 3 || std::abs(ElementsApart(ShapeOf(inst.operands[0]), inst)) == 3;
}

// The access, with masks that the machine has and makes. Elsewhere: without a mask where all lanes are
// active, else lane by lane.
Status LaneAccesses::Together(const ir::Inst& inst, const Mask& mask,
                              const std::function<void(const Mask&)>& access) {
  const bool is_slow = RepeatsMaskThrice(inst);
  if (IsAll(mask) || (HasMasksFor(inst) && !is_slow)) return access(mask), Status{};
  auto all = [&] {
    return access({llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()}), Status{};
  };
  if (e.m.traits.has_avx512 && is_slow) {
    auto apart = [&] {
      return inst.op == Opcode::kLoad ? v.gathers.Gather(inst, mask) : v.gathers.Scatter(inst, mask),
             Status{};
    };
    return v.partings.Choose(AllOf(mask), all, apart, inst.results);
  }
  auto some = [&] { return v.one_by_one.EmitEachLane(inst, mask); };
  return v.partings.Choose(AllOf(mask), all, some, inst.results);
}

// An access at each lane's own address. Where masks are missing, inactive lanes read the address of an active
// one, and lanes store one by one. Elements that no machine scatters are always stored one by one.
Status LaneAccesses::Apart(const ir::Inst& inst, const Mask& mask,
                           const std::function<void(const Mask&)>& access) {
  if (inst.op == Opcode::kStore && ir::Bits(inst.type) < 32) return v.one_by_one.EmitEachLane(inst, mask);
  if (IsAll(mask) || e.m.traits.has_avx512) return access(mask), Status{};
  auto all = [&] {
    return access({llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()}), Status{};
  };
  auto some = [&] {
    return inst.op == Opcode::kLoad ? (access(mask), Status{}) : v.one_by_one.EmitEachLane(inst, mask);
  };
  return v.partings.Choose(AllOf(mask), all, some, inst.results);
}

Status LaneAccesses::EmitLoad(const ir::Inst& inst, const Mask& mask) {
  for (ValueId result : inst.results) e.values.ForgetSequence(result);
  if (inst.attrs.space == ir::Space::kLocal) return v.locals.LoadLocal(inst, mask);
  const LaneForm form = FormOf(e, region_, inst);
  if (form == LaneForm::kUniform) return EmitScalar(inst);
  const bool is_run = form == LaneForm::kVector || form == LaneForm::kStrided;
  if (!is_run && LoadKnown(inst, mask)) return {};
  auto apart = [&] {
    if (!IsGathered(inst)) return v.one_by_one.EmitEachLane(inst, mask);
    return Apart(inst, mask, [&](const Mask& lanes) { v.gathers.Gather(inst, lanes); });
  };
  if (form == LaneForm::kGather) return apart();
  if (form == LaneForm::kInGroups) return v.groups.InGroups(inst, mask, apart);
  auto together = [&] { return Together(inst, mask, [&](const Mask& lanes) { LoadTogether(inst, lanes); }); };
  auto in_window = [&] { return v.gathers.InWindow(inst, mask, apart); };
  if (form == LaneForm::kVectorIfSeen) return v.by_sight.ChooseBySight(inst, mask, together, in_window);
  auto strided = [&] {
    return Together(inst, mask, [&](const Mask& lanes) { v.strides.LoadStrided(inst, lanes); });
  };
  const ShapedValue address = e.values.Shaped(inst.operands[0]);
  auto otherwise = [&] {
    if (!v.runs.LoadsInRuns(inst, address.runs)) return apart();
    return v.partings.Choose(
        address.runs.holds, [&] { return v.runs.LoadRuns(inst, address.runs, mask); }, apart, inst.results);
  };
  if (form == LaneForm::kStrided) return v.partings.Choose(address.holds, strided, otherwise, inst.results);
  auto once = [&] { return LoadOnce(inst, mask); };
  if (form == LaneForm::kUniformIfSeen)
    return v.partings.Choose(address.holds, once, otherwise, inst.results);
  return v.partings.Choose(address.holds, together, otherwise, inst.results);
}

// A load at an address that all lanes share. Some lane is active where code with loads runs.
Status LaneAccesses::LoadOnce(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  TRY_STATUS(EmitScalar(inst));
  for (ValueId result : inst.results) e.values.Set(result, Vector(e.values.Get(result)));
  return {};
}

void LaneAccesses::LoadTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const size_t count = inst.results.size();
  const bool packed = v.records.IsPacked(inst);
  llvm::Type* type =
      packed ? v.records.PackedType(inst)
             : llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), static_cast<unsigned>(width_ * count));
  Value pointer = FirstPointer(inst, &memory, lanes_before);
  llvm::Instruction* load;
  if (lanes_before == 0) v.prefetch.PrefetchLaterTrips(inst, pointer);
  if (lanes_before == 0 && inst.attrs.space == ir::Space::kGlobal) v.prefetch.PrefetchStoreAfter(inst);
  if (IsAll(mask)) {
    if (is_wide_ && count == 1 && v.order.MayOrder()) return v.order.LoadInOrder(inst, pointer, memory);
    load = b.CreateAlignedLoad(type, pointer, AlignOf(inst, 0));
  } else {
    load = b.CreateMaskedLoad(type, pointer, AlignOf(inst, 0), Repeated(mask.lanes, packed ? 1 : count),
                              llvm::Constant::getNullValue(type));
  }
  e.m.Annotate(load, memory);
  if (packed) return v.records.Unpack(inst, load);
  if (v.records.IsRecord(inst))
    return v.records.DivideRecords(inst, load), v.records.NoteElements(inst, load);
  for (size_t k = 0; k < count; ++k) {
    llvm::SmallVector<int, 64> from;
    for (unsigned lane = 0; lane < width_; ++lane) from.push_back(static_cast<int>(lane * count + k));
    e.values.Set(inst.results[k], count == 1 ? static_cast<Value>(load) : b.CreateShuffleVector(load, from));
  }
  if (count > 1) v.records.NoteElements(inst, load);
}

Status LaneAccesses::EmitStore(const ir::Inst& inst, const Mask& mask) {
  if (inst.attrs.space == ir::Space::kLocal) return v.locals.StoreLocal(inst, mask);
  const LaneForm form = FormOf(e, region_, inst);
  if (form == LaneForm::kUniform || OnlyLane(mask)) return StoreLast(inst, mask);
  auto scattered = [&] {
    return Apart(inst, mask, [&](const Mask& lanes) { v.gathers.Scatter(inst, lanes); });
  };
  auto apart = [&] {
    if (!IsWholeRows(inst)) return scattered();
    return v.partings.Choose(AllOf(mask), [&] { return v.gathers.ScatterRows(inst), Status{}; }, scattered,
                             {});
  };
  if (form == LaneForm::kInGroups) return v.groups.InGroups(inst, mask, apart);
  if (form == LaneForm::kGather) return apart();
  auto whole = [&] { return StoreWhole(inst, mask); };
  auto strided = [&] {
    return Together(inst, mask, [&](const Mask& lanes) { v.strides.StoreStrided(inst, lanes); });
  };
  // A lane that is alone (`if (threadIdx.x == 0)`) stores for itself: a vector under its mask would reach far
  // past it, and where that is past the end of memory, processors take a thousand cycles to see that nothing
  // is stored there.
  auto unless_alone = [&](const std::function<Status()>& access) {
    if (IsAll(mask)) return access();
    Value bits = Bits(mask), others = b.CreateAnd(bits, b.CreateSub(bits, Literal(bits, 1)));
    return v.partings.Choose(b.CreateICmpNE(others, Literal(bits, 0)), access,
                             [&] { return StoreLast(inst, mask); }, {});
  };
  auto together = [&] { return form == LaneForm::kStrided ? unless_alone(strided) : unless_alone(whole); };
  if (form == LaneForm::kVectorIfSeen) return v.by_sight.ChooseBySight(inst, mask, together, apart);
  const ShapedValue address = e.values.Shaped(inst.operands[0]);
  auto otherwise = [&] {
    if (!v.runs.StoresInRuns(inst, address.runs)) return apart();
    return v.partings.Choose(address.runs.holds, [&] { return v.runs.StoreRuns(inst, address.runs, mask); },
                             apart, {});
  };
  return v.partings.Choose(address.holds, together, otherwise, {});
}

// How far the lane's element is from the first lane's: a stride, or one after the other where that was seen.
Value LaneAccesses::StepsTo(const ir::Inst& inst, Value lane, Value like) {
  const LaneShape& address = ShapeOf(inst.operands[0]);
  const int64_t beside = ir::Bytes(inst.type) * static_cast<int64_t>(ElementCount(inst));
  const auto step = static_cast<uint64_t>(address.affine() ? address.stride : beside);
  return b.CreateMul(b.CreateZExtOrTrunc(lane, like->getType()), Literal(like, step));
}

// All lanes store to one place, or one lane alone: the last one's value remains.
Status LaneAccesses::StoreLast(const ir::Inst& inst, const Mask& mask) {
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
    // A sequence needs no vector.
    const bool steps = i == 0 && shaped.first != nullptr && (!only || shaped.holds == nullptr);
    Value element = steps ? b.CreateAdd(shaped.first, StepsTo(inst, last, shaped.first))
                          : b.CreateExtractElement(shaped.value, last);
    lasts.Set(inst.operands[i], {element, nullptr, shaped.holds});
  }
  return EmitScalar(inst);
}

llvm::Instruction* LaneAccesses::StoreTogether(const ir::Inst& inst, const Mask& mask,
                                               unsigned lanes_before) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const size_t count = inst.operands.size() - 1;
  Value pointer = FirstPointer(inst, &memory, lanes_before), whole = Vector(e.values.Get(inst.operands[1]));
  const bool packed = v.records.IsPacked(inst);
  if (packed) whole = v.records.Pack(inst);
  if (Value computed = count > 1 && !packed ? v.records.InOrderOfMemory(inst) : nullptr) {
    whole = computed;
  } else if (v.records.IsRecord(inst)) {
    whole = v.records.MakeRecords(inst);
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

Status LaneAccesses::StoreWhole(const ir::Inst& inst, const Mask& mask) {
  if (inst.attrs.space == ir::Space::kGlobal) v.prefetch.PrefetchNextTile();
  auto cached = [&] { return Together(inst, mask, [&](const Mask& lanes) { StoreTogether(inst, lanes); }); };
  if (MayBlend(inst, mask))
    return v.partings.Choose(IsInWindow(inst), [&] { return StoreBlended(inst, mask), Status{}; }, cached,
                             {});
  Value streams = v.order.Streams(inst, mask);
  if (streams == nullptr) return cached();
  auto past_caches = [&]() -> Status {
    const Mask all = {llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()};
    llvm::Instruction* made = StoreTogether(inst, all);
    v.order.StorePastCaches(*llvm::cast<llvm::StoreInst>(made));
    return {};
  };
  return v.partings.Choose(streams, past_caches, cached, {});
}

}  // namespace ptx2cpu::lowering
