// Lanes that wait in a loop for another thread's store yield to the others (tier T3): a nanosleep of
// zero time on the back edge becomes a suspension that waits for nothing.
//
//   before                                      after
//     bb1: %v = load.acquire %flag                bb1: %v = load.acquire %flag
//          %p = icmp eq %v, 0                          %p = icmp eq %v, 0
//          cond_br %p, bb1, bb2                        cond_br %p, turn, bb2
//                                                 turn: nanosleep 0 ; br bb1
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/yield_after_trips.h"

namespace ptx2cpu::lowering {

Status InsertYields(ir::Module&, ir::Function& f, const PassOptions&) {
  for (const analysis::SpinLoop& loop : LoopsThatYield(f)) {
    const ir::BlockId turn = SplitEdge(f, loop.back.from, loop.back.edge, ir::Level::kLane, "turn");
    const ir::InstId onward = f.at_block(turn).insts.back();
    ir::Inst sleep;
    sleep.op = ir::Opcode::kNanosleep;
    sleep.at = loop.at;
    ir::Inst zero;
    zero.op = ir::Opcode::kConst;
    zero.type = ir::Type::kI32;
    const ir::InstId constant = ir::Insert(f, turn, 0, std::move(zero));
    sleep.operands = {f.at_inst(constant).results[0]};
    ir::Insert(f, turn, 1, std::move(sleep), 0);
    f.inst(onward).at = loop.at;
  }
  return {};
}

}  // namespace ptx2cpu::lowering
