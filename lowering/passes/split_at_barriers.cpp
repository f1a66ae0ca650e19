// Split at barriers (COX section 3.4): code before and after a barrier belongs to different loops.
//
//   before                              after
//     store.shared %p, %v                 bb0: store.shared %p, %v
//     barrier_block %zero                      br bb1
//     %w = load.shared %q                 bb1: barrier_block %zero
//                                              br bb2
//                                         bb2: %w = load.shared %q
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {

Status SplitAtBarriers(ir::Module&, ir::Function& f, const PassOptions&) {
  Isolate(f, [](const ir::Inst& inst) { return ir::IsBarrier(inst.op); });
  return {};
}

}  // namespace ptx2cpu::lowering
