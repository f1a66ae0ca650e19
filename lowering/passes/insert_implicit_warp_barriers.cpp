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
// Targets before sm_70 run the converged lanes of a warp in lock step, and programs for them exchange values through
// volatile shared memory without any barrier: there each volatile access of shared memory is followed by a barrier of
// the converged lanes.
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {

namespace {

constexpr uint32_t kFirstIndependentLanes = 70;  // sm_70

bool ReliesOnLockStep(const ir::Inst& inst) {
  const bool access = inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore;
  const bool shared = inst.attrs.space == ir::Space::kShared || inst.attrs.space == ir::Space::kGeneric;
  return access && shared && inst.attrs.order == ir::MemoryOrder::kVolatile;
}

void KeepLockStep(ir::Function& f) {
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (size_t i = 0; i < f.at_block(block).insts.size(); ++i) {
      const ir::Inst access = f.at_inst(f.at_block(block).insts[i]);
      if (!ReliesOnLockStep(access)) continue;
      ir::Inst all;
      all.op = ir::Opcode::kConst;
      all.type = ir::Type::kI32;
      all.attrs.bits = 0xffffffff;
      const ir::InstId mask = ir::Insert(f, block, ++i, std::move(all));
      ir::Inst barrier;
      barrier.op = ir::Opcode::kBarrierWarp;
      barrier.attrs.flags = ir::kLegacy;
      barrier.operands = {f.at_inst(mask).results[0]};
      barrier.at = access.at;
      ir::Insert(f, block, ++i, std::move(barrier), 0);
    }
  }
}

}  // namespace

Status InsertImplicitWarpBarriers(ir::Module& module, ir::Function& f, const PassOptions&) {
  if (module.sm < kFirstIndependentLanes) KeepLockStep(f);
  Isolate(f, [](const ir::Inst& inst) { return ir::IsCollective(inst.op); });
  return {};
}

}  // namespace ptx2cpu::lowering
