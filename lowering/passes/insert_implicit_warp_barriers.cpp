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
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {

Status InsertImplicitWarpBarriers(ir::Module&, ir::Function& f, const PassOptions&) {
  Isolate(f, [](const ir::Inst& inst) { return ir::IsCollective(inst.op); });
  return {};
}

}  // namespace ptx2cpu::lowering
