// Tier T2: a warp runs until it suspends at a block barrier; a scheduler resumes it.
//
// clang-format off
//   before (Collapsed, barriers at warp level)    after (resumes warps; point 1 = barrier_block)
//     entry [block]: for_warps w0, end              entry [warp]: resume w0, after1
//     w0 [warp]: for_lanes l0, b1                   w0 [warp]: for_lanes l0, b1
//     b1 [warp]: barrier_block %zero ; br w1        b1 [warp]: suspend 1, %zero, %zero
//     w1 [warp]: for_lanes l1, w2                   after1 [warp]: br w1
//     w2 [warp]: end_warp                           w1 [warp]: for_lanes l1, w2     w2 [warp]: for_lanes gone, w3
//     end [block]: ret                              gone [lane]: exit_lane          w3 [warp]: end_warp
// clang-format on
//
// Values that cross regions are in slots already; what a barrier's own block uses after it is loaded or
// computed again.
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/barrier_words.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/load_again.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

class WarpsResumable {
 public:
  explicit WarpsResumable(ir::Function& f) : f_(f) {}

  void Run() {
    f_.resume_points.assign(1, {});
    const BlockId body = WarpBody();
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (f_.at_block(block).level != Level::kWarp) continue;
      for (size_t i = 0; i < f_.at_block(block).insts.size(); ++i) {
        const Opcode op = f_.at_inst(f_.at_block(block).insts[i]).op;
        if (!ir::IsBarrier(op) || op == Opcode::kLeave) continue;
        Suspend(block, i);
        break;
      }
      if (f_.terminator(block).op == Opcode::kEndWarp) ExitLanes(f_, block);
    }
    const BlockId entry = ir::AddBlock(f_, "", Level::kWarp);
    std::vector<ir::Edge> edges{{body, {}}};
    for (BlockId after : after_) edges.push_back({after, {}});
    ir::Builder{f_, entry}.Terminate(Opcode::kResume, {}, std::move(edges));
    f_.entry = entry;
    f_.has_early_exit = true;
    ir::RemoveUnreachableBlocks(f_);
  }

 private:
  BlockId WarpBody() const {
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (f_.terminator(block).op == Opcode::kForWarps) return f_.successors(block)[0].to;
    }
    CHECK(false, "a function that resumes warps has no warp level");
    return {};
  }

  void Suspend(BlockId block, size_t where) {
    const BlockId after = SplitBlock(f_, block, where + 1, f_.at_block(block).label);
    f_.block(after).level = Level::kWarp;
    const ir::InstId id = f_.at_block(block).insts[where];
    const ir::Inst inst = f_.at_inst(id);
    ir::Remove(f_, f_.at_block(block).insts.back());
    const bool reduces = !inst.results.empty(), yields = ir::IsYield(inst.op);
    ir::Builder b{f_, block, inst.at};
    std::vector<ValueId> words;
    if (!yields) words = BarrierWords(b, inst);
    b.Terminate(Opcode::kSuspend, std::move(words), {},
                {.index = static_cast<uint32_t>(f_.resume_points.size())});
    if (reduces) ir::ReplaceUses(f_, ValueId{inst.results[0]}, Result(after, inst));
    ir::Remove(f_, id);
    f_.resume_points.push_back({yields ? Opcode::kUndef : inst.op, ir::ResumePoint::kNoClass,
                                inst.attrs.flags & ir::kAligned, inst.at});
    after_.push_back(after);
    LoadAgain(f_, after);
  }

  ValueId Result(BlockId after, const ir::Inst& barrier) {
    ir::Inst word;
    word.op = Opcode::kResumeWord;
    word.at = barrier.at;
    ValueId value = f_.at_inst(ir::Insert(f_, after, 0, std::move(word))).results[0];
    if (f_.type_of(barrier.results[0]) == ir::Type::kI32) return value;
    ir::Inst zero;
    zero.op = Opcode::kConst;
    zero.type = ir::Type::kI32;
    const ValueId none = f_.at_inst(ir::Insert(f_, after, 1, std::move(zero))).results[0];
    ir::Inst test;
    test.op = Opcode::kIcmp;
    test.from = ir::Type::kI32;
    test.attrs.compare = ir::Compare::kNe;
    test.operands = {value, none};
    return f_.at_inst(ir::Insert(f_, after, 2, std::move(test))).results[0];
  }

  ir::Function& f_;
  std::vector<BlockId> after_;
};

}  // namespace

Status MakeWarpsResumable(ir::Module&, ir::Function& f, const PassOptions&) {
  WarpsResumable(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
