// Bulk copies. The thread that requests them does them at once; reductions are in atomic.cpp.
#include "ir/mbarrier.h"
#include "lowering/llvm/emit/memory.h"
#include "runtime/abi/abi.h"

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

// One worker runs all blocks of a cluster, so the objects need no atomic access.
Status EmitCopyMulticast(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  Memory memory;
  Value from = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[1], &memory), bytes = s.Raw(2),
        mask = s.Raw(4);
  FaultUnlessBulk(s, {s.Raw(0), s.Raw(1)}, {bytes}, kBulkAlign);
  FaultUnlessBulk(s, {s.Raw(3)}, {}, 8);
  Value blocks = s.e.body.Field(offsetof(ptx2cpu_block, cluster_nctarank), s.e.I(32), "cluster_nctarank");
  Value unknown = s.b.CreateICmpNE(
      s.b.CreateLShr(s.b.CreateZExt(mask, s.e.I(64)), s.b.CreateZExt(blocks, s.e.I(64))), s.b.getInt64(0));
  s.e.body.Fault(unknown, PTX2CPU_FAULT_BAD_ADDRESS, s.e.step->thread, s.inst.at);
  Value wide = s.b.CreateZExt(bytes, s.e.I(64));
  Value change = s.b.CreateShl(s.b.CreateAnd(s.b.CreateNeg(wide), s.b.getInt64(ir::mbarrier::kBytesMask)),
                               static_cast<uint64_t>(ir::mbarrier::kBytesShift));
  return s.e.body.Loop(blocks, "block", [&](Value rank) -> Status {
    llvm::BasicBlock *named = s.e.body.NewBlock("named"), *next = s.e.body.NewBlock("next");
    s.b.CreateCondBr(s.b.CreateTrunc(s.b.CreateLShr(mask, rank), s.e.I(1)), named, next);
    s.b.SetInsertPoint(named);
    Value number = s.b.CreateShl(s.b.CreateAdd(s.b.CreateZExt(rank, s.e.I(64)), s.b.getInt64(1)),
                                 uint64_t{PTX2CPU_CLUSTER_NUMBER_SHIFT});
    Value window = s.b.CreateCall(s.e.m.Service("ptx2cpu_cluster_address"), {s.e.body.Block(), number});
    auto at = [&](size_t operand) {
      return s.b.CreateIntToPtr(s.b.CreateAdd(window, s.Raw(operand)), s.b.getPtrTy());
    };
    s.b.CreateMemCpy(at(0), llvm::Align(kBulkAlign), from, llvm::Align(kBulkAlign), wide);
    Value object = at(3), old = s.b.CreateAlignedLoad(s.e.I(64), object, llvm::Align(8));
    s.b.CreateAlignedStore(UpdateMbarrier(s, old, change), object, llvm::Align(8));
    s.b.CreateBr(next);
    s.b.SetInsertPoint(next);
    return {};
  });
}

}  // namespace ptx2cpu::lowering
