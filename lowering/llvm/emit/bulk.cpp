// Bulk copies. The thread that requests them does them at once; reductions are in atomic.cpp.
#include <functional>

#include "ir/tensor.h"
#include "lowering/llvm/emit/memory.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/mbarrier.h"
#include "runtime/abi/tensor_map.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

void FaultUnlessBulk(Site& s, std::initializer_list<Value> addresses, std::initializer_list<Value> sizes,
                     uint64_t align) {
  Value bits = s.b.getInt64(0);
  for (Value address : addresses) bits = s.b.CreateOr(bits, address);
  for (Value size : sizes) bits = s.b.CreateOr(bits, s.b.CreateZExt(size, s.e.I(64)));
  Value wrong = s.b.CreateICmpNE(s.b.CreateAnd(bits, s.b.getInt64(align - 1)), s.b.getInt64(0));
  s.e.body.Fault(wrong, PTX2CPU_FAULT_MISALIGNED, s.e.step->thread, s.inst.at);
}

Status EmitCopyBulk(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  Memory memory;
  Value to = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[0], &memory);
  Value from = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[1], &memory);
  Value bytes = s.Raw(2), given = s.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, s.Raw(3), bytes);
  FaultUnlessBulk(s, {s.Raw(0), s.Raw(1)}, {bytes}, s.inst.attrs.align);
  llvm::Align align(s.inst.attrs.align);
  s.b.CreateMemCpy(to, align, from, align, s.b.CreateZExt(given, s.e.I(64)));
  if (s.inst.operands[2] == s.inst.operands[3]) return {};
  Value rest = s.b.CreateGEP(s.e.I(8), to, s.b.CreateZExt(given, s.e.I(64)));
  s.b.CreateMemSet(rest, s.b.getInt8(0), s.b.CreateZExt(s.b.CreateSub(bytes, given), s.e.I(64)),
                   llvm::Align(1));
  return {};
}

Status EmitCopyMasked(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  Memory memory;
  Value to = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[0], &memory);
  Value from = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[1], &memory), bytes = s.Raw(2);
  FaultUnlessBulk(s, {s.Raw(0), s.Raw(1)}, {bytes}, kBulkAlign);
  const llvm::Align align(kBulkAlign);
  llvm::Type* chunk = llvm::FixedVectorType::get(s.e.I(8), kBulkAlign);
  Value mask = s.b.CreateBitCast(s.b.CreateTrunc(s.Raw(3), s.e.I(kBulkAlign)),
                                 llvm::FixedVectorType::get(s.e.I(1), kBulkAlign));
  return s.e.body.Loop(s.b.CreateUDiv(bytes, s.b.getInt32(kBulkAlign)), "chunk", [&](Value index) -> Status {
    Value wide = s.b.CreateZExt(index, s.e.I(64));
    Value data = s.b.CreateAlignedLoad(chunk, s.b.CreateGEP(chunk, from, wide), align);
    s.b.CreateMaskedStore(data, s.b.CreateGEP(chunk, to, wide), align, mask);
    return {};
  });
}

namespace {

// For each block of the cluster with a bit in the mask: `copy` into its shared window, which returns the
// bytes (i64) that are taken off the mbarrier object at `object` there. One worker runs all blocks of a
// cluster, so the objects need no atomic access.
Status ForBlocksOf(Site& s, Value mask, Value object, const std::function<Value(Value window)>& copy) {
  Value blocks = s.e.body.Field(offsetof(ptx2cpu_block, cluster_nctarank), s.e.I(32), "cluster_nctarank");
  Value unknown = s.b.CreateICmpNE(
      s.b.CreateLShr(s.b.CreateZExt(mask, s.e.I(64)), s.b.CreateZExt(blocks, s.e.I(64))), s.b.getInt64(0));
  s.e.body.Fault(unknown, PTX2CPU_FAULT_BAD_ADDRESS, s.e.step->thread, s.inst.at);
  return s.e.body.Loop(blocks, "block", [&](Value rank) -> Status {
    llvm::BasicBlock *named = s.e.body.NewBlock("named"), *next = s.e.body.NewBlock("next");
    s.b.CreateCondBr(s.b.CreateTrunc(s.b.CreateLShr(mask, rank), s.e.I(1)), named, next);
    s.b.SetInsertPoint(named);
    Value number = s.b.CreateShl(s.b.CreateAdd(s.b.CreateZExt(rank, s.e.I(64)), s.b.getInt64(1)),
                                 uint64_t{PTX2CPU_CLUSTER_NUMBER_SHIFT});
    Value window = s.b.CreateCall(s.e.m.Service("ptx2cpu_cluster_address"), {s.e.body.Block(), number});
    Value bytes = copy(window);
    Value change = s.b.CreateShl(s.b.CreateAnd(s.b.CreateNeg(bytes), s.b.getInt64(mbarrier::kBytesMask)),
                                 static_cast<uint64_t>(mbarrier::kBytesShift));
    Value place = s.b.CreateIntToPtr(s.b.CreateAdd(window, object), s.b.getPtrTy());
    Value old = s.b.CreateAlignedLoad(s.e.I(64), place, llvm::Align(8));
    s.b.CreateAlignedStore(UpdateMbarrier(s, old, change), place, llvm::Align(8));
    s.b.CreateBr(next);
    s.b.SetInsertPoint(next);
    return {};
  });
}

}  // namespace

Status EmitCopyMulticast(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  Memory memory;
  Value from = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[1], &memory), bytes = s.Raw(2),
        mask = s.Raw(4);
  FaultUnlessBulk(s, {s.Raw(0), s.Raw(1)}, {bytes}, kBulkAlign);
  FaultUnlessBulk(s, {s.Raw(3)}, {}, 8);
  Value wide = s.b.CreateZExt(bytes, s.e.I(64));
  return ForBlocksOf(s, mask, s.Raw(3), [&](Value window) {
    Value to = s.b.CreateIntToPtr(s.b.CreateAdd(window, s.Raw(0)), s.b.getPtrTy());
    s.b.CreateMemCpy(to, llvm::Align(kBulkAlign), from, llvm::Align(kBulkAlign), wide);
    return wide;
  });
}

// -- tensors --

namespace {

namespace tensor = ir::tensor;
static_assert(sizeof(tensor::Map) == sizeof(ptx2cpu_tensor_map));
static_assert(offsetof(tensor::Map, strides) == offsetof(ptx2cpu_tensor_map, strides));
static_assert(offsetof(tensor::Map, sizes) == offsetof(ptx2cpu_tensor_map, sizes));
static_assert(offsetof(tensor::Map, box) == offsetof(ptx2cpu_tensor_map, box));
static_assert(offsetof(tensor::Map, element_strides) == offsetof(ptx2cpu_tensor_map, element_strides));
static_assert(offsetof(tensor::Map, rank) == offsetof(ptx2cpu_tensor_map, rank));
static_assert(offsetof(tensor::Map, element) == offsetof(ptx2cpu_tensor_map, element));
static_assert(offsetof(tensor::Map, swizzle) == offsetof(ptx2cpu_tensor_map, swizzle));
static_assert(offsetof(tensor::Map, fill) == offsetof(ptx2cpu_tensor_map, fill));
static_assert(offsetof(tensor::Map, lower) == offsetof(ptx2cpu_tensor_map, lower));
static_assert(offsetof(tensor::Map, channels) == offsetof(ptx2cpu_tensor_map, channels));
static_assert(static_cast<int>(tensor::Element::kB6x16) == PTX2CPU_TENSOR_B6X16);
static_assert(tensor::Encode({5, tensor::Mode::kIm2colWide128, true, tensor::Reduction::kXor, 3}) ==
              (5u | PTX2CPU_TENSOR_IM2COL_WIDE_128 << PTX2CPU_TENSOR_MODE_SHIFT | PTX2CPU_TENSOR_STORES |
               PTX2CPU_TENSOR_XOR << PTX2CPU_TENSOR_REDUCTION_SHIFT | 3u << PTX2CPU_TENSOR_OFFSETS_SHIFT));

// The operands from `first` on, in memory.
Value WordsFrom(Site& s, size_t first) {
  llvm::AllocaInst* words = s.e.body.Scratch(s.e.I(32), tensor::kMaxDimensions + 3);
  for (size_t n = first; n < s.inst.operands.size(); ++n)
    s.b.CreateStore(s.Raw(n), s.b.CreateConstInBoundsGEP1_64(s.e.I(32), words, n - first));
  return words;
}

// The bytes of the box (i32).
Value CopyBox(Site& s, Value shared, Value words) {
  Value map = s.b.CreateIntToPtr(s.Raw(0), s.b.getPtrTy());
  Value bytes = s.b.CreateCall(s.e.m.Service("ptx2cpu_copy_tensor"),
                               {s.e.body.Block(), map, shared, words, s.b.getInt32(s.inst.attrs.index)});
  s.e.body.Fault(s.b.CreateICmpEQ(bytes, s.b.getInt32(UINT32_MAX)), PTX2CPU_FAULT_BAD_ADDRESS,
                 s.e.step->thread, s.inst.at);
  return bytes;
}

}  // namespace

Status EmitCopyTensor(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  s.Return(CopyBox(s, s.Raw(1), WordsFrom(s, 2)));
  return {};
}

Status EmitCopyTensorMulticast(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  Value words = WordsFrom(s, 4);
  return ForBlocksOf(s, s.Raw(3), s.Raw(2), [&](Value window) {
    return s.b.CreateZExt(CopyBox(s, s.b.CreateAdd(window, s.Raw(1)), words), s.e.I(64));
  });
}

}  // namespace ptx2cpu::lowering
