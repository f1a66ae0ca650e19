// Tensor memory and the tensor cores of the fifth generation: the runtime copies and multiplies.
#include "runtime/abi/tensor_core.h"

#include "lowering/llvm/emit/memory.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

Status EmitTensorMemory(Site& s) {
  Value bytes = s.e.body.Field(offsetof(ptx2cpu_block, shared_bytes), s.e.I(32), "shared_bytes");
  Value aligned = s.b.CreateAnd(s.b.CreateAdd(bytes, s.b.getInt32(127)), s.b.getInt32(~127u));
  s.Return(s.b.CreateZExt(aligned, s.e.I(64)));
  return {};
}

namespace {

static_assert(tensor_core::OffsetInWindow(1) == 128 && tensor_core::OffsetInWindow(128) == 128);

// The runtime returns the kind of a fault. Kinds differ in what they report alone.
void FaultUnlessDone(Site& s, Value kind) {
  for (const uint32_t fault : {PTX2CPU_FAULT_BAD_DESCRIPTOR, PTX2CPU_FAULT_BAD_ADDRESS})
    s.e.body.Fault(s.b.CreateICmpEQ(kind, s.b.getInt32(fault)), fault, s.e.step->thread, s.inst.at);
}

}  // namespace

Status EmitTensorCoreCopy(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a copy above lane level");
  FaultUnlessDone(
      s, s.b.CreateCall(s.e.m.Service("ptx2cpu_tensor_core_copy"),
                        {s.e.body.Block(), s.Raw(0), s.Raw(1), s.Raw(2), s.b.getInt32(s.inst.attrs.index)}));
  return {};
}

Status EmitTensorCoreMultiply(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("a product above lane level");
  constexpr unsigned kMaxOperands = tensor_core::kMaskWords + 8;
  llvm::AllocaInst* operands = s.e.body.Scratch(s.e.I(64), kMaxOperands);
  for (size_t n = 0; n < s.inst.operands.size(); ++n)
    s.b.CreateStore(s.b.CreateZExt(s.Raw(n), s.e.I(64)),
                    s.b.CreateConstInBoundsGEP1_64(s.e.I(64), operands, n));
  FaultUnlessDone(s, s.b.CreateCall(s.e.m.Service("ptx2cpu_tensor_core_multiply"),
                                    {s.e.body.Block(), operands, s.b.getInt32(s.inst.attrs.index)}));
  return {};
}

}  // namespace ptx2cpu::lowering
