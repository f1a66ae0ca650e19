#include "lowering/llvm/lanes/gathers.h"

#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

// Inactive lanes read the address of the first active one.
Value LaneGathers::PointersForAll(const Mask& mask, Value pointers) {
  Value first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getFalse());
  Value lane = b.CreateAnd(first, Literal(first, width_ - 1));  // also of a mask without lanes
  return b.CreateSelect(mask.lanes, pointers, Vector(b.CreateExtractElement(pointers, lane)));
}

// Where a gather has no mask.
LaneMask LaneGathers::ReadableByAll(const Mask& mask, Value& pointers) {
  if (IsAll(mask) || e.m.traits.has_avx512) return mask;
  pointers = PointersForAll(mask, pointers);
  return {llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()};
}

void LaneGathers::GatherElement(const ir::Inst& inst, size_t k, Value pointers, const Mask& mask,
                                Memory memory) {
  llvm::Type* type = VectorOf(e.m.MemoryTypeOf(inst.type));
  auto* load =
      b.CreateMaskedGather(type, pointers, AlignOf(inst, k), mask.lanes, llvm::Constant::getNullValue(type));
  e.m.Annotate(load, memory);
  e.values.Set(inst.results[k], load);
}

void LaneGathers::Gather(const ir::Inst& inst, const Mask& active) {
  NoteMisaligned(inst, active, false);
  Memory memory;
  Value pointers = e.memory.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const Mask mask = ReadableByAll(active, pointers);
  if (ir::Bits(inst.type) < 32) return GatherFromWords(inst, pointers, mask, memory);
  if (inst.results.size() > 1) return GatherRows(inst, pointers, mask, memory);
  GatherElement(inst, 0, pointers, mask, memory);
}

void LaneGathers::Scatter(const ir::Inst& inst, const Mask& mask) {
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

// An aligned word is on one page: what it holds besides the elements may be read.
void LaneGathers::GatherFromWords(const ir::Inst& inst, Value pointers, const Mask& mask, Memory memory) {
  const unsigned bits = BitsOfGatheredWord(inst), bytes = bits / 8,
                 part = static_cast<unsigned>(ir::Bits(inst.type));
  Value address = b.CreatePtrToInt(pointers, VectorOf(b.getInt64Ty()));
  Value from =
      b.CreateIntToPtr(b.CreateAnd(address, Literal(address, ~uint64_t{bytes - 1})), pointers->getType());
  llvm::Type* type = VectorOf(e.I(bits));
  auto* words =
      b.CreateMaskedGather(type, from, llvm::Align(bytes), mask.lanes, llvm::Constant::getNullValue(type));
  e.m.Annotate(words, memory);
  Value before = b.CreateShl(b.CreateAnd(address, Literal(address, bytes - 1)), Literal(address, 3));
  Value whole = b.CreateLShr(words, b.CreateTrunc(before, type));
  for (size_t k = 0; k < inst.results.size(); ++k) {
    Value element = b.CreateTrunc(b.CreateLShr(whole, Literal(whole, k * part)), VectorOf(e.I(part)));
    e.values.Set(inst.results[k], b.CreateBitCast(element, VectorOf(e.m.MemoryTypeOf(inst.type))));
  }
}

}  // namespace ptx2cpu::lowering
