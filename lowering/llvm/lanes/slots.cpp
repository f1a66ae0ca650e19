#include "lowering/llvm/lanes/slots.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

Status LaneSlots::EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level) {
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
  // Lanes that wait elsewhere keep their values; lanes that have exited need none.
  if (lanes && !IsAll(mask) && (OfRow() || !whole_level || f.parked_slot != ~0u)) {
    value = b.CreateSelect(mask.lanes, value, e.memory.Load(value->getType(), address, align, Memory::kSlot));
  }
  e.memory.Store(value, address, align, Memory::kSlot);
  return {};
}

// The lanes of a row begin anywhere among the block's threads, and others follow them.
Status LaneSlots::LoadSlotOfRow(const ir::Inst& inst, const Mask& mask) {
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
