// Lanes that wait in a loop for another thread's store yield to the others (tier T3): a nanosleep of
// zero time on the back edge becomes a suspension that waits for nothing.
//
//   before                                      after
//     bb1: %v = load.acquire %flag                bb1: %v = load.acquire %flag
//          %p = icmp eq %v, 0                          %p = icmp eq %v, 0
//          cond_br %p, bb1, bb2                        cond_br %p, turn, bb2
//                                                 turn: nanosleep 0 ; br bb1
//
// Code for launches in other orders (PTX2CPU_CHECKS_ORDER) also yields before each access of memory that
// other threads see: whatever legal order the scheduler chooses, lanes meet in it between any two accesses.
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/partings.h"
#include "lowering/passes/yield_after_trips.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {

namespace {

// Before the instruction at `index` of a block. Returns how many there are of it.
size_t InsertYield(ir::Function& f, ir::BlockId block, size_t index, ir::Position at) {
  ir::Inst zero;
  zero.op = ir::Opcode::kConst;
  zero.type = ir::Type::kI32;
  const ir::InstId constant = ir::Insert(f, block, index, std::move(zero));
  ir::Inst sleep;
  sleep.op = ir::Opcode::kNanosleep;
  sleep.at = at;
  sleep.operands = {f.at_inst(constant).results[0]};
  ir::Insert(f, block, index + 1, std::move(sleep), 0);
  return 2;
}

bool IsSeenByOthers(const ir::Inst& inst) {
  using ir::Opcode;
  const bool copies =
      inst.op == Opcode::kCopyAsync || inst.op == Opcode::kCopyBulk || inst.op == Opcode::kReduceBulk;
  if (copies || inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas) return true;
  if (inst.op != Opcode::kLoad && inst.op != Opcode::kStore) return false;
  return inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kShared ||
         inst.attrs.space == ir::Space::kGeneric;
}

void YieldBeforeAccesses(ir::Function& f) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (size_t i = 0; i < f.blocks[b].insts.size(); ++i) {
      const ir::Inst& inst = f.at_inst(f.blocks[b].insts[i]);
      if (IsSeenByOthers(inst)) i += InsertYield(f, {b}, i, ir::Position(inst.at));
    }
  }
}

}  // namespace

void YieldWhereLanesWait(ir::Function& f) {
  for (const analysis::SpinLoop& loop : LoopsThatYield(f)) {
    const ir::BlockId turn = SplitEdge(f, loop.back.from, loop.back.edge, ir::Level::kLane, "turn");
    const ir::InstId onward = f.at_block(turn).insts.back();
    InsertYield(f, turn, 0, loop.at);
    f.inst(onward).at = loop.at;
  }
}

Status InsertYields(ir::Module&, ir::Function& f, const PassOptions& options) {
  if (TriesTogether(options)) return {};  // the next pass does, once it has the copy for warps
  YieldWhereLanesWait(f);
  if ((options.checks & PTX2CPU_CHECKS_ORDER) != 0) YieldBeforeAccesses(f);
  return {};
}

}  // namespace ptx2cpu::lowering
