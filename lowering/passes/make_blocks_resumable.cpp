// Blocks that suspend (design of tier T4): all values that are live across regions are in slots already, so a
// block suspends by returning at a yield. No stack is kept, and regions stay the loops of T0 and T1.
//
// clang-format off
//   before (Collapsed)                       after (Collapsed, resumes blocks)
//     b0 [block]: br b1                        entry [block]: resume b0, after1
//     b1 [block]: yield_block                  b1 [block]: suspend 1
//                 br b2                        after1 [block]: br b2
//
//   a warp that yields; `place` is a slot of the warp, `again` and `waits` of the block
//     b1 [block]: for_warps w0, b2             b1 [block]: again = 0 ; waits = 0 ; br loop
//     w0 [warp]: ... br w1                     loop [block]: for_warps head, ask
//     w1 [warp]: yield_warp ; br w2            head [warp]: again != 0 ? resumes : starts
//     w2 [warp]: ... end_warp                  starts [warp]: place = 0 ; br w0
//                                              resumes [warp]: p = place ; place = 0 ; switch p, end, w2
//                                              w1 [warp]: place = 1 ; waits = 1 ; end_warp
//                                              ask [block]: waits != 0 ? wait : b2
//                                              wait [block]: again = 1 ; waits = 0 ; suspend 2
//                                              after2 [block]: br loop
// clang-format on
//
// Warps that have reached the end of their region have place 0 and skip the remaining rounds.
#include <optional>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/load_again.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

class BlocksResumable {
 public:
  explicit BlocksResumable(ir::Function& f) : f_(f) {}

  void Run() {
    f_.resume_points.assign(1, {});
    // Numbers of points are in the order of the program.
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (f_.at_block(block).level != Level::kBlock) continue;
      SuspendAtYield(block);
      if (f_.terminator(block).op == Opcode::kForWarps) ResumeWarps(block);
    }
    const BlockId entry = ir::AddBlock(f_, "", Level::kBlock);
    std::vector<ir::Edge> edges{{f_.entry, {}}};
    for (BlockId after : after_) edges.push_back({after, {}});
    ir::Builder{f_, entry}.Terminate(Opcode::kResume, {}, std::move(edges));
    f_.entry = entry;
    ir::RemoveUnreachableBlocks(f_);
  }

 private:
  std::optional<size_t> YieldIn(BlockId block, Opcode op) const {
    const auto& insts = f_.at_block(block).insts;
    for (size_t i = 0; i < insts.size(); ++i) {
      if (f_.at_inst(insts[i]).op == op) return i;
    }
    return {};
  }

  // Splits the block after its yield, which goes. Returns the second part.
  BlockId SplitAtYield(BlockId block, size_t where) {
    const Level level = f_.at_block(block).level;
    const BlockId after = SplitBlock(f_, block, where + 1, f_.at_block(block).label);
    f_.block(after).level = level;
    ir::Remove(f_, f_.at_block(block).insts.back());
    ir::Remove(f_, f_.at_block(block).insts.back());
    LoadAgain(f_, after);
    return after;
  }

  void Suspend(ir::Builder b, BlockId after) {
    b.Terminate(Opcode::kSuspend, {}, {}, {.index = static_cast<uint32_t>(f_.resume_points.size())});
    f_.resume_points.push_back({Opcode::kUndef, ir::ResumePoint::kNoClass, 0, b.at});
    after_.push_back(after);
  }

  void SuspendAtYield(BlockId block) {
    const std::optional<size_t> where = YieldIn(block, Opcode::kYieldBlock);
    if (!where) return;
    const ir::Position at = f_.at_inst(f_.at_block(block).insts[*where]).at;
    const BlockId after = SplitAtYield(block, *where);
    Suspend({f_, block, at}, after);
  }

  // -- warps that yield --

  std::vector<BlockId> YieldsOfWarps(BlockId body) const {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> work{body}, found;
    seen[body.index] = true;
    for (size_t i = 0; i < work.size(); ++i) {
      if (YieldIn(work[i], Opcode::kYieldWarp)) found.push_back(work[i]);
      const bool loop = f_.terminator(work[i]).op == Opcode::kForLanes;
      for (size_t e = loop ? 1 : 0; e < f_.successors(work[i]).size(); ++e) {
        const BlockId to = f_.successors(work[i])[e].to;
        if (!seen[to.index]) work.push_back(to);
        seen[to.index] = true;
      }
    }
    return found;
  }

  void ResumeWarps(BlockId block) {
    const ir::Edge body = f_.successors(block)[0], next = f_.successors(block)[1];
    const std::vector<BlockId> yields = YieldsOfWarps(body.to);
    if (yields.empty()) return;
    const ir::Position at =
        f_.at_inst(f_.at_block(yields[0]).insts[*YieldIn(yields[0], Opcode::kYieldWarp)]).at;
    MakeSlots();
    const auto add = [&](Level level) { return ir::AddBlock(f_, "", level); };
    const BlockId loop = add(Level::kBlock), ask = add(Level::kBlock), wait = add(Level::kBlock),
                  after = add(Level::kBlock), head = add(Level::kWarp), starts = add(Level::kWarp),
                  resumes = add(Level::kWarp), end = add(Level::kWarp);
    ir::Remove(f_, f_.at_block(block).insts.back());
    ir::Builder before{f_, block, at};
    Set(before, again_, 0);
    Set(before, waits_, 0);
    before.Br(loop);
    ir::Builder{f_, loop, at}.Terminate(Opcode::kForWarps, {}, {{head, {}}, {ask, {}}});
    Choose({f_, head, at}, again_, resumes, starts);
    ir::Builder first{f_, starts, at};
    Set(first, place_, 0);
    first.Br(body.to, body.args);
    std::vector<ir::Edge> places{{end, {}}};
    for (BlockId yield : yields) places.push_back({YieldAt(yield, places.size()), {}});
    ir::Builder further{f_, resumes, at};
    const ValueId place = further.SlotLoad(place_);
    Set(further, place_, 0);
    further.Terminate(Opcode::kSwitch, {place}, std::move(places));
    ir::Builder{f_, end, at}.Terminate(Opcode::kEndWarp);
    const BlockId done = add(Level::kBlock);
    Choose({f_, ask, at}, waits_, wait, done);
    ir::Builder{f_, done, at}.Br(next.to, next.args);
    ir::Builder rest{f_, wait, at};
    Set(rest, again_, 1);
    Set(rest, waits_, 0);
    Suspend(rest, after);
    ir::Builder{f_, after, at}.Br(loop);
  }

  // Returns where the warp continues.
  BlockId YieldAt(BlockId block, size_t number) {
    const size_t where = *YieldIn(block, Opcode::kYieldWarp);
    const ir::Position at = f_.at_inst(f_.at_block(block).insts[where]).at;
    const BlockId after = SplitAtYield(block, where);
    ir::Builder b{f_, block, at};
    Set(b, place_, number);
    Set(b, waits_, 1);
    b.Terminate(Opcode::kEndWarp);
    return after;
  }

  void MakeSlots() {
    if (again_ != kNoSlot) return;
    const auto add = [&](Level shape) {
      f_.slots.push_back({Type::kI32, shape});
      return static_cast<uint32_t>(f_.slots.size() - 1);
    };
    place_ = add(Level::kWarp);
    again_ = add(Level::kBlock);
    waits_ = add(Level::kBlock);
  }

  static void Set(ir::Builder& b, uint32_t slot, uint64_t value) {
    b.SlotStore(slot, b.Const(Type::kI32, value));
  }
  static void Choose(ir::Builder b, uint32_t slot, BlockId other_than_0, BlockId zero) {
    const ValueId value = b.SlotLoad(slot);
    b.CondBr(b.Icmp(ir::Compare::kNe, value, b.Const(Type::kI32, 0)), {other_than_0, {}}, {zero, {}});
  }

  static constexpr uint32_t kNoSlot = ~0u;
  ir::Function& f_;
  std::vector<BlockId> after_;  // of point i + 1
  uint32_t place_ = kNoSlot, again_ = kNoSlot, waits_ = kNoSlot;
};

}  // namespace

Status MakeBlocksResumable(ir::Module&, ir::Function& f, const PassOptions&) {
  BlocksResumable(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
