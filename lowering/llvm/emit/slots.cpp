// Slots: values that threads, warps and blocks keep across a barrier.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

namespace {

// Lanes whose predicates one step over a row of the block has stored. Processors hand a store on to a load
// that lies within it; one of several stores' bytes waits until they are in the cache.
unsigned LanesOfStore(const FunctionEmitter& e) {
  const uint32_t row = e.f.required_threads[0];
  const bool divides = row >= 8 && std::has_single_bit(row) && row < e.step->width;
  return e.f.is_flat && divides ? row : e.step->width;
}

// Predicates of several rows of threads, which are bytes in memory.
llvm::Value* LoadRowsOfPredicates(Site& s, unsigned row) {
  FunctionEmitter& e = s.e;
  auto* type = llvm::FixedVectorType::get(s.b.getInt8Ty(), row);
  llvm::Value* first = e.memory.SlotAddress(s.inst.attrs.index);
  std::vector<llvm::Value*> rows;
  for (unsigned lane = 0; lane < e.step->width; lane += row) {
    llvm::Value* at = s.b.CreateConstInBoundsGEP1_64(s.b.getInt8Ty(), first, lane);
    llvm::Value* bytes = e.memory.Load(type, at, llvm::Align(row), Memory::kSlot);
    rows.push_back(s.b.CreateICmpNE(bytes, Literal(bytes, 0)));
  }
  return llvm::concatenateVectors(s.b, rows);
}

}  // namespace

Status EmitSlotLoad(Site& s) {
  FunctionEmitter& e = s.e;
  const ir::Slot& slot = e.f.slots[s.inst.attrs.index];
  llvm::Type* type = e.m.MemoryTypeOf(slot.type);
  bool vector = slot.shape == ir::Level::kLane && e.step->width > 1;
  if (vector && slot.type == ir::Type::kI1 && LanesOfStore(e) < e.step->width) {
    s.Return(LoadRowsOfPredicates(s, LanesOfStore(e)));
    return {};
  }
  uint64_t align = static_cast<uint64_t>(ir::Bytes(slot.type)) * (vector ? e.step->width : 1);
  if (vector) type = llvm::FixedVectorType::get(type, e.step->width);
  llvm::Value* value = e.memory.Load(type, e.memory.SlotAddress(s.inst.attrs.index),
                                     llvm::Align(std::min<uint64_t>(align, 64)), Memory::kSlot);
  if (slot.type == ir::Type::kI1) value = s.b.CreateICmpNE(value, Literal(value, 0));
  s.Return(value);
  return {};
}

namespace {

// A delayed load of the slot would be emitted after this store.
bool OverwritesKeptLoad(const Site& s) {
  const ir::Function& f = s.e.f;
  bool stored = false;
  std::vector<ir::ValueId> loads;
  for (ir::InstId id : f.at_block(s.inst.block).insts) {
    const ir::Inst& inst = f.at_inst(id);
    if (&inst == &s.inst) stored = true;
    if (!stored && inst.op == ir::Opcode::kSlotLoad && inst.attrs.index == s.inst.attrs.index)
      loads.push_back(inst.results[0]);
    if (!stored || &inst == &s.inst) continue;
    for (ir::ValueId operand : inst.operands) {
      if (std::ranges::find(loads, operand) != loads.end()) return true;
    }
  }
  return false;
}

void StoreSlot(Site& s, llvm::Value* value, llvm::Value* live) {
  FunctionEmitter& e = s.e;
  uint32_t index = s.inst.attrs.index;
  const ir::Slot& slot = e.f.slots[index];
  bool lanes = slot.shape == ir::Level::kLane && e.step->width > 1;
  if (lanes) value = Broadcast(s.b, value, e.step->width);
  if (!lanes && value->getType()->isVectorTy()) {
    // A uniform slot: any live lane's value.
    value = s.b.CreateExtractElement(value,
                                     s.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, live, s.b.getTrue()));
  }
  if (slot.type == ir::Type::kI1) value = s.b.CreateZExt(value, ShapedLike(value, e.I(8)));
  llvm::Align align(
      std::min<uint64_t>(static_cast<uint64_t>(ir::Bytes(slot.type)) * (lanes ? e.step->width : 1), 64));
  llvm::Value* address = e.memory.SlotAddress(index);
  // Lanes that wait elsewhere keep theirs.
  if (lanes && (e.f.parked_slot != ~0u || e.lanes_apart)) {
    llvm::Value* runs = s.b.CreateBitCast(live, llvm::FixedVectorType::get(e.I(1), e.step->width));
    value = s.b.CreateSelect(runs, value, e.memory.Load(value->getType(), address, align, Memory::kSlot));
  }
  e.memory.Store(value, address, align, Memory::kSlot);
}

}  // namespace

Status EmitSlotStore(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.step->level == ir::Level::kLane) {
    StoreSlot(s, s.Raw(0), nullptr);
  } else if (e.step->level == ir::Level::kWarp) {
    if (e.matrix_slots.IsInPlace(s.inst)) return {};
    const bool of_lanes = e.f.slots[s.inst.attrs.index].shape == ir::Level::kLane;
    const bool needs_mask =
        e.f.parked_slot != ~0u || e.lanes_apart || (!of_lanes && s.Raw(0)->getType()->isVectorTy());
    StoreSlot(s, s.Raw(0), needs_mask ? LiveMask(e, e.step->warp) : nullptr);
  } else if (e.f.slots[s.inst.attrs.index].shape == ir::Level::kBlock &&
             !e.values.IsVarying(s.inst.operands[0])) {
    StoreSlot(s, s.Raw(0), nullptr);
  } else {
    if (OverwritesKeptLoad(s)) return s.Broken("stores to a slot whose older value is still used after it");
    return ForEachWarp(e, [&](llvm::Value* live) {
      StoreSlot(s, s.Raw(0), live);
      return Status{};
    });
  }
  return {};
}

}  // namespace ptx2cpu::lowering
