// 9.7.13.1 to 9.7.13.4: barriers and fences.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/mbarrier.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::ptx::rows {

using ir::MemoryOrder;
using ir::Opcode;
using ir::Scope;
using ir::Type;
using ir::ValueId;

namespace {

// bar.x is barrier.x.aligned.
uint32_t AlignedFlag(const Emitter& e) {
  return e.match.form->base == "bar" || e.Has("aligned") ? ir::kAligned : 0;
}

}  // namespace

void bar_sync(Emitter& e) {
  std::vector<ValueId> operands{e.Read(0, Type::kI32)};
  if (e.Present(1)) operands.push_back(e.Read(1, Type::kI32));
  e.b.Make(Opcode::kBarrierBlock, Type::kVoid, std::move(operands), {.flags = AlignedFlag(e)});
}

void bar_arrive(Emitter& e) {
  e.b.Make(Opcode::kBarrierArrive, Type::kVoid, {e.Read(0, Type::kI32), e.Read(1, Type::kI32)},
           {.flags = AlignedFlag(e)});
}

void bar_red(Emitter& e) {
  Opcode op = e.Has("popc")  ? Opcode::kBarrierReducePopc
              : e.Has("and") ? Opcode::kBarrierReduceAnd
                             : Opcode::kBarrierReduceOr;
  std::vector<ValueId> operands{e.Read(3, Type::kI1), e.Read(1, Type::kI32)};
  if (e.Present(2)) operands.push_back(e.Read(2, Type::kI32));
  e.Write(0, e.b.Inst1(op, Type::kVoid, std::move(operands), {.flags = AlignedFlag(e)}));
}

void bar_warp_sync(Emitter& e) { e.b.Make(Opcode::kBarrierWarp, Type::kVoid, {e.Read(0, Type::kI32)}); }

// membar.cta/gl/sys are fence.sc of cta, gpu, sys scope; a fence without order is acq_rel.
void fence(Emitter& e) {
  ir::Attrs attrs;
  if (e.match.form->base == "membar") {
    attrs.order = MemoryOrder::kSeqCst;
    attrs.scope = e.Has("cta") ? Scope::kCta : e.Has("gl") ? Scope::kGpu : Scope::kSys;
  } else {
    attrs.order = e.Has("sc")        ? MemoryOrder::kSeqCst
                  : e.Has("acquire") ? MemoryOrder::kAcquire
                  : e.Has("release") ? MemoryOrder::kRelease
                                     : MemoryOrder::kAcqRel;
    attrs.scope = ScopeOf(e);
  }
  e.b.Make(Opcode::kFence, Type::kVoid, {}, attrs);
}

// All proxies see the same memory here; what remains is the order of a two-sided proxy fence within the
// thread.
void fence_proxy(Emitter& e) {
  e.b.Make(Opcode::kFence, Type::kVoid, {}, {.order = MemoryOrder::kAcqRel, .scope = Scope::kCta});
  if (e.Has("async")) NoteSync(e, PTX2CPU_SYNC_PROXY_FENCE);
}

}  // namespace ptx2cpu::ptx::rows
