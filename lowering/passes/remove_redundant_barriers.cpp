// Removes block barriers that no other thread can observe (Polygeist, section IV-A).
//
//   before                              after
//     store shared %mine, %a              store shared %mine, %a
//     barrier_block 0                     %b = load shared %mine
//     %b = load shared %mine              store global %out, %b
//     store global %out, %b
//
// where %mine is the thread's own (shared @s + 4 * tid): the barrier orders the store before the load, but
// one thread does that anyway. A barrier stays if one of two different threads may write what the other
// accesses, before and after it up to the next barriers on every path; if something there is unknown (an
// atomic, a volatile or ordered access, a fence, a call, an asynchronous copy); if its result is used; and
// if not all threads of the block are known to arrive there together. One at a time: what was ordered by
// two barriers still needs one of them.
#include "analysis/memory/barrier_intervals.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {

Status RemoveRedundantBarriers(ir::Module& module, ir::Function& f, const PassOptions& options) {
  bool any = false;
  for (const ir::Block& block : f.blocks) {
    for (ir::InstId id : block.insts) any |= f.at_inst(id).op == ir::Opcode::kBarrierBlock;
  }
  if (!any) return {};
  analysis::MemoryEffects effects(module, f, options.launch);
  analysis::BarrierIntervals intervals(module, f, effects);
  for (uint32_t b = 0; b < intervals.barriers().size(); ++b) {
    if (!intervals.Redundant(b)) continue;
    ir::InstId barrier = intervals.barriers()[b].inst;
    intervals.Remove(b);
    ir::Remove(f, barrier);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
