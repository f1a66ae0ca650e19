// A forced tier (T0, T1) refuses what needs a scheduler of warps or lanes, naming the construct and its PTX
// line.
//
//   barrier_block %id, %count     error: named barrier with a thread count
//   barrier_arrive ...            error: bar.arrive
//   barrier_block %variable       error: barrier whose number is computed
//   barrier_block 3               fine: a full barrier, whatever its number
//
// A branch that threads take differently around a barrier is not found here but when the kernel runs:
// insert-extra-barriers makes all members agree on it, and a disagreement is a fault with the branch's PTX
// line.
#include "lowering/passes.h"
#include "lowering/passes/diagnose.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;

bool IsConstant(const ir::Function& f, ir::ValueId value) {
  ir::InstId def = f.at_value(value).def;
  return def.valid() && f.at_inst(def).op == Opcode::kConst;
}

Status CheckBarrier(const ir::Module& module, const ir::Function& f, const ir::Inst& inst) {
  if (ir::IsClusterBarrier(inst.op)) {
    return Unsupported(module, inst.at, "a barrier of the cluster needs blocks that can be put aside",
                       "only the resumable tiers run this kernel (--exec=auto, resumable or lanes)");
  }
  if (inst.op == Opcode::kBarrierArrive) {
    return Unsupported(module, inst.at, "bar.arrive lets a warp pass a barrier that others wait at",
                       "resumable warps (tier T2) run this kernel: --exec=auto, resumable or lanes");
  }
  size_t id = inst.op == Opcode::kBarrierBlock ? 0 : 1;
  if (inst.operands.size() > id + 1) {
    return Unsupported(module, inst.at, "a barrier for part of the block (with a thread count)",
                       "resumable warps (tier T2) run this kernel: --exec=auto, resumable or lanes");
  }
  if (inst.operands.size() > id && !IsConstant(f, inst.operands[id])) {
    return Unsupported(module, inst.at, "a barrier whose number is computed at run time",
                       "resumable warps (tier T2) run this kernel: --exec=auto, resumable or lanes");
  }
  return {};
}

}  // namespace

Status CheckSupported(ir::Module& module, ir::Function& f, const PassOptions&) {
  if (f.resumes > ir::Resumes::kBlocks) return {};
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Opcode op = f.at_inst(id).op;
      if (ir::IsBarrier(op) && !ir::IsYield(op)) TRY_STATUS(CheckBarrier(module, f, f.at_inst(id)));
    }
  }
  return {};
}

}  // namespace ptx2cpu::lowering
