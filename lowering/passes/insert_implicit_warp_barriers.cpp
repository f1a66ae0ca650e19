// Implicit warp barriers (COX section 3.2): a collective publishes, exchanges and reads, so no lane may pass
// it before all have arrived (read after write) nor start the next one before all have read (write after
// read).
//
//   before                              after
//     %a = add %x, %y                     bb0: %a = add %x, %y
//     %s, %p = shuffle down %a, ...            br bb1
//     %b = add %a, %s                     bb1: %s, %p = shuffle down %a, ...
//                                              br bb2
//                                         bb2: %b = add %a, %s
//
// The block's two ends are those barriers. They cost no instruction: where the lanes of a warp are one
// vector, the collective is one operation on vectors and its ends vanish.
//
// Targets before sm_70 run the converged lanes of a warp in lock step, and programs for them exchange values
// through volatile shared memory without any barrier: there each volatile access of shared memory is followed
// by a barrier of the converged lanes. From sm_70 on such programs are wrong by the manual, but on every GPU
// so far lanes that have not diverged stay together, and old code is often built for new targets. So the same
// is done there for functions that rely on it (volatile_exchange.h), but only for accesses that name shared
// memory: a generic address is more likely a flag in global memory.
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/volatile_exchange.h"

namespace ptx2cpu::lowering {

namespace {

constexpr uint32_t kFirstIndependentLanes = 70;  // sm_70

bool ReliesOnLockStep(const ir::Inst& inst, bool independent_lanes) {
  for (const ir::Opcode op : {ir::Opcode::kLoad, ir::Opcode::kStore}) {
    if (IsVolatile(inst, op, ir::Space::kShared) ||
        (!independent_lanes && IsVolatile(inst, op, ir::Space::kGeneric)))
      return true;
  }
  return false;
}

void KeepLockStep(ir::Function& f, bool independent_lanes) {
  if (independent_lanes && !ExchangesByLockStep(f)) return;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (size_t i = 0; i < f.at_block(block).insts.size(); ++i) {
      const ir::Inst access = f.at_inst(f.at_block(block).insts[i]);
      if (!ReliesOnLockStep(access, independent_lanes)) continue;
      i += InsertConvergence(f, block, i + 1, access.at);
    }
  }
}

}  // namespace

Status InsertImplicitWarpBarriers(ir::Module& module, ir::Function& f, const PassOptions&) {
  KeepLockStep(f, module.sm >= kFirstIndependentLanes);
  Isolate(f, [](const ir::Inst& inst) { return ir::IsCollective(inst.op); });
  return {};
}

}  // namespace ptx2cpu::lowering
