#include "lowering/llvm/kernel/loops.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/emit/time.h"
#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/module/steps.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Level;
using Value = llvm::Value*;

Status EmitRegion(FunctionEmitter& e, const ir::Edge& edge, const LaneStep& step) {
  // Arguments are read where the region is entered from.
  std::vector<Value> arguments;
  for (ir::ValueId arg : edge.args) arguments.push_back(e.values.Get(arg));
  CurrentStep::Scope scope(e.step, step);
  const std::vector<ir::BlockId> order = BlocksOfLevel(e.f, edge.to);
  const bool lanes_missing = e.lanes_missing;
  TRY_STATUS(e.blocks.Open(order, arguments));
  for (ir::BlockId id : order) {
    e.b.SetInsertPoint(e.blocks.Of(id));
    if (step.level != Level::kLane) {
      e.lanes_missing = e.exits.before[id.index];
      e.lanes_apart = e.exits.apart[id.index];
    }
    if (step.level == Level::kWarp) {
      e.matrices.Begin(id);
      e.matrix_slots.Begin(id);
      e.matrix_tiles.Begin(id);
    }
    if (AlignmentNotes* notes = e.alignment.notes()) notes->AtBlock(id);
    for (ir::InstId inst_id : e.f.at_block(id).insts) {
      const ir::Inst& inst = e.f.at_inst(inst_id);
      // Kept back until a consumer runs over the warps.
      bool kept = e.step->level == Level::kBlock && !inst.results.empty() &&
                  std::ranges::any_of(inst.results, [&](ir::ValueId r) { return e.values.IsVarying(r); });
      if (!kept) TRY_STATUS(e.EmitInst(inst));
    }
  }
  e.lanes_missing = lanes_missing;
  return {};
}

// -- parts of loops --

// parallel_accesses: lanes have no order within a region, so accesses of different iterations are
// independent.
llvm::MDNode* LoopEmitter::Metadata(llvm::MDNode* access_group, bool remainder) {
  llvm::LLVMContext& context = e.m.context;
  llvm::Metadata* parallel[] = {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), access_group};
  llvm::Metadata* rows[] = {llvm::MDString::get(context, kRowsMetadata)};
  llvm::SmallVector<llvm::Metadata*, 4> operands{nullptr, llvm::MDNode::get(context, parallel),
                                                 llvm::MDNode::get(context, rows)};
  if (e.alignment.notes() != nullptr && e.alignment.notes()->HoldBack()) {
    llvm::Metadata* once[] = {llvm::MDString::get(context, "llvm.loop.interleave.count"),
                              llvm::ConstantAsMetadata::get(b.getInt32(1))};
    operands.push_back(llvm::MDNode::get(context, once));
  }
  if (remainder) {
    llvm::Metadata* never[] = {llvm::MDString::get(context, "llvm.loop.vectorize.enable"),
                               llvm::ConstantAsMetadata::get(b.getFalse())};
    llvm::Metadata* whole[] = {llvm::MDString::get(context, "llvm.loop.unroll.disable")};
    operands.push_back(llvm::MDNode::get(context, never));
    operands.push_back(llvm::MDNode::get(context, whole));
  }
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, operands);
  loop->replaceOperandWith(0, loop);
  return loop;
}

LoopEmitter::LaneLoop LoopEmitter::Open(Value count, const char* name, Value first) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  LaneLoop loop{nullptr, e.body.NewBlock(name), e.body.NewBlock("next"), e.body.NewBlock("after"), count};
  b.CreateBr(loop.head);
  b.SetInsertPoint(loop.head);
  loop.index = b.CreatePHI(b.getInt32Ty(), 2, name);
  loop.index->addIncoming(first != nullptr ? first : b.getInt32(0), before);
  return loop;
}

void LoopEmitter::Close(const LaneLoop& loop, llvm::MDNode* access_group, bool remainder) {
  b.CreateBr(loop.next);
  b.SetInsertPoint(loop.next);
  Value following = b.CreateAdd(loop.index, b.getInt32(1), "", true, true);
  loop.index->addIncoming(following, loop.next);
  llvm::BranchInst* back = b.CreateCondBr(b.CreateICmpULT(following, loop.count), loop.head, loop.after);
  back->setMetadata(llvm::LLVMContext::MD_loop, Metadata(access_group, remainder));
  b.SetInsertPoint(loop.after);
}

llvm::BasicBlock* LoopEmitter::ExitBlock(const LaneStep& lane_step, llvm::BasicBlock* done) {
  llvm::BasicBlock* exit = e.body.NewBlock("exit_lane");
  b.SetInsertPoint(exit);
  Value live = e.body.Field(offsetof(ptx2cpu_block, live), b.getPtrTy(), "live");
  Value word = b.CreateInBoundsGEP(b.getInt32Ty(), live, b.CreateZExt(lane_step.warp, b.getInt64Ty()));
  Value rest = b.CreateAnd(b.CreateLoad(b.getInt32Ty(), word),
                           b.CreateNot(b.CreateShl(b.getInt32(1), lane_step.lane)));
  b.CreateStore(rest, word);
  b.CreateBr(done);
  return exit;
}

Status LoopEmitter::Lane(const ir::Inst& inst, LaneStep lane_step, const LaneLoop& loop) {
  TRY_STATUS(PrefetchLater(inst, lane_step, loop));
  llvm::BasicBlock* done = e.body.NewBlock("lane_done");
  lane_step.end = lane_step.exit = done;
  if (MasksLanes(inst)) {
    llvm::BasicBlock* inside = e.body.NewBlock("live_lane");
    Value bit = b.CreateAnd(b.CreateLShr(LiveMask(e, lane_step.warp), lane_step.lane), b.getInt32(1));
    b.CreateCondBr(b.CreateICmpNE(bit, b.getInt32(0)), inside, done);
    b.SetInsertPoint(inside);
  }
  if (MayExit(inst)) {
    llvm::BasicBlock* inside = b.GetInsertBlock();
    lane_step.exit = ExitBlock(lane_step, done);
    b.SetInsertPoint(inside);
  }
  if (lane_step.times) BeginThread(e, *lane_step.times);
  TRY_STATUS(EmitRegion(e, inst.edges[0], lane_step));
  b.SetInsertPoint(done);
  return {};
}

// -- warps and their lanes --

const ir::Inst* LoopEmitter::OnlyLanes(const ir::Inst& warps) const {
  if (e.f.resumes > ir::Resumes::kBlocks || e.f.parked_slot != ~0u || e.lanes_missing ||
      e.exits.within[warps.block.index] || !e.slots_of_turn.turns[warps.block.index].empty())
    return nullptr;
  const ir::Block& turn = e.f.at_block(warps.edges[0].to);
  const ir::Inst& lanes = e.f.terminator(warps.edges[0].to);
  if (turn.insts.size() != 1 || !turn.params.empty() || lanes.op != ir::Opcode::kForLanes ||
      lanes.edges.size() != 2)
    return nullptr;
  const ir::Block& after = e.f.at_block(lanes.edges[1].to);
  const bool ends = after.insts.size() == 1 && e.f.terminator(lanes.edges[1].to).op == ir::Opcode::kEndWarp;
  return ends ? &lanes : nullptr;
}

Status LoopEmitter::ForWarps(const ir::Inst& inst) {
  const ir::Inst* lanes = OnlyLanes(inst);
  const std::optional<LanePlan> wide = lanes == nullptr ? std::nullopt : PlanWideRows(e, lanes->edges[0].to);
  auto others = [&] { return EachWarp(inst); };
  if (!wide) {
    TRY_STATUS(others());
  } else if (e.f.required_threads[0] != 0) {
    TRY_STATUS(WideRows(*lanes, *wide));
  } else {
    TRY_STATUS(IfRowsHold(wide->width, [&] { return WideRows(*lanes, *wide); }, others));
  }
  e.blocks.Jump(inst.edges[1]);
  return {};
}

Status LoopEmitter::EachWarp(const ir::Inst& inst) {
  TRY_STATUS(ForCountOfWarps(e, "warps", [&](Value warp) -> Status {
    llvm::BasicBlock *inside = e.body.NewBlock("warp"), *next = e.body.NewBlock("next_warp");
    if (e.lanes_missing) {
      b.CreateCondBr(b.CreateICmpNE(LiveMask(e, warp), b.getInt32(0)), inside, next);
    } else {
      b.CreateBr(inside);
    }
    b.SetInsertPoint(inside);
    // What inactive lanes hold is never undefined.
    for (uint32_t slot : e.slots_of_turn.turns[inst.block.index]) e.memory.ClearSlotOfTurn(slot);
    LaneStep warp_step{.level = Level::kWarp,
                       .width = kWarpSize,
                       .warp = warp,
                       .lane = b.getInt32(0),
                       .thread = b.CreateShl(warp, 5, "", true, true),
                       .end = next};
    TRY_STATUS(EmitRegion(e, inst.edges[0], warp_step));
    b.SetInsertPoint(next);
    return Status{};
  }));
  if (e.exits.within[inst.block.index]) {
    e.lanes_missing = true;
    ContinueWhileLive(e, AnyLive(e), e.step->end);
  }
  return {};
}

Status LoopEmitter::StepOfLanes(const ir::Inst& inst, const LanePlan& plan, Value live,
                                const std::optional<ThreadTimes>& times) {
  llvm::Type* lanes = llvm::FixedVectorType::get(b.getInt1Ty(), plan.width);
  auto under_masks = [&] { return LaneVectors(e, plan).Run(b.CreateBitCast(live, lanes)); };
  if (plan.masks_steps && !LaneVectors(e, plan).partings.PaysToPart()) return under_masks();
  llvm::BasicBlock *whole = e.body.NewBlock("whole_step"), *part = e.body.NewBlock("part_of_step"),
                   *after = e.body.NewBlock("after_step");
  b.CreateCondBr(b.CreateICmpEQ(live, llvm::Constant::getAllOnesValue(live->getType())), whole, part);
  b.SetInsertPoint(whole);
  TRY_STATUS(LaneVectors(e, plan).Run(nullptr, part));
  b.CreateBr(after);
  b.SetInsertPoint(part);
  if (plan.masks_steps) {
    TRY_STATUS(under_masks());
  } else {
    LaneStep of_warp = *e.step;
    of_warp.thread = b.CreateShl(of_warp.warp, 5, "", true, true);
    Value first = of_warp.lane;
    of_warp.lane = b.getInt32(0);
    CurrentStep::Scope scope(e.step, of_warp);
    TRY_STATUS(LanesOneByOne(inst, first, plan.width, times));
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

Status LoopEmitter::LanesAsVectors(const ir::Inst& inst, const LanePlan& plan) {
  const std::optional<ThreadTimes> times = BeginTimes(e, inst.edges[0].to);
  Alignment::Region notes(e.alignment, inst.edges[0].to, false);
  Value warp = e.step->warp, live = MasksLanes(inst) ? LiveMask(e, warp) : LanesOf(e, warp);
  if (plan.width == kWarpSize) {
    TRY_STATUS(StepOfLanes(inst, plan, live, times));
    notes.Finish();
    return {};
  }
  const unsigned log_width = llvm::Log2_32(plan.width);
  TRY_STATUS(e.body.Loop(b.getInt32(kWarpSize / plan.width), "step", [&](Value index) -> Status {
    llvm::BasicBlock *inside = e.body.NewBlock("step"), *next = e.body.NewBlock("next_step");
    LaneStep part = *e.step;
    part.width = plan.width;
    part.lane = b.CreateShl(index, log_width, "lane", true, true);
    part.thread = b.CreateAdd(part.thread, part.lane, "thread", true, true);
    Value running = b.CreateTrunc(b.CreateLShr(live, part.lane), b.getIntNTy(plan.width));
    b.CreateCondBr(b.CreateICmpNE(running, Literal(running, 0)), inside, next);
    b.SetInsertPoint(inside);
    CurrentStep::Scope scope(e.step, part);
    TRY_STATUS(StepOfLanes(inst, plan, running, times));
    b.CreateBr(next);
    b.SetInsertPoint(next);
    return {};
  }));
  MarkSteps(b);
  notes.Finish();
  return {};
}

Status LoopEmitter::LanesOneByOne(const ir::Inst& inst, Value first, unsigned count,
                                  const std::optional<ThreadTimes>& times) {
  if (MasksLanes(inst) && !PrefetchesLater(inst)) return LanesOfMask(inst, first, count, times);
  Value threads = e.body.Field(offsetof(ptx2cpu_block, thread_count), b.getInt32Ty(), "thread_count");
  Value rest = b.CreateSub(threads, e.step->thread);
  const bool remainder = count != kWarpSize || first != nullptr;
  Value end = first == nullptr ? b.getInt32(count) : b.CreateAdd(first, b.getInt32(count), "", true, true);
  end = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, end);
  LaneStep first_step = *e.step;
  first_step.level = Level::kLane;
  first_step.width = 1;
  if (first != nullptr) {
    first_step.lane = first;
    first_step.thread = b.CreateAdd(first_step.thread, first, "thread", true, true);
  }
  TRY_STATUS(PrefetchFirst(inst, first_step, first, end));
  LaneLoop loop = Open(end, "lane", first);
  LaneStep lane_step{.level = Level::kLane,
                     .width = 1,
                     .warp = e.step->warp,
                     .lane = loop.index,
                     .thread = b.CreateAdd(e.step->thread, loop.index, "thread", true, true),
                     .access_group = llvm::MDNode::getDistinct(e.m.context, {}),
                     .times = times};
  TRY_STATUS(Lane(inst, lane_step, loop));
  Close(loop, lane_step.access_group, remainder);
  return {};
}

Status LoopEmitter::ForLanes(const ir::Inst& inst) {
  std::optional<LanePlan> plan = PlanLanes(e, inst.edges[0].to);
  if (plan) {
    TRY_STATUS(LanesAsVectors(inst, *plan));
  } else {
    const std::optional<ThreadTimes> times = BeginTimes(e, inst.edges[0].to);
    Alignment::Region notes(e.alignment, inst.edges[0].to, !MasksLanes(inst));
    TRY_STATUS(LanesOneByOne(inst, nullptr, kWarpSize, times));
    notes.Finish();
  }
  if (MayExit(inst)) {
    e.lanes_missing = true;
    ContinueWhileLive(e, b.CreateICmpNE(LiveMask(e, e.step->warp), b.getInt32(0)), e.step->end);
  }
  e.blocks.Jump(inst.edges[1]);
  return {};
}

// From set bit to set bit: mostly few lanes run.
Status LoopEmitter::ForSetBits(Value bits, const std::function<Status(LaneStep)>& body) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.body.NewBlock("lane"),
                   *done = e.body.NewBlock("lane_done"), *after = e.body.NewBlock("after");
  b.CreateCondBr(b.CreateICmpNE(bits, b.getInt32(0)), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* rest = b.CreatePHI(b.getInt32Ty(), 2, "rest");
  rest->addIncoming(bits, before);
  Value lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, b.getTrue(), nullptr, "lane");
  TRY_STATUS(body({.level = Level::kLane,
                   .width = 1,
                   .warp = e.step->warp,
                   .lane = lane,
                   .thread = b.CreateAdd(e.step->thread, lane, "thread", true, true),
                   .end = done,
                   .exit = done}));
  b.SetInsertPoint(done);
  Value others = b.CreateAnd(rest, b.CreateSub(rest, b.getInt32(1)));
  rest->addIncoming(others, done);
  b.CreateCondBr(b.CreateICmpNE(others, b.getInt32(0)), head, after);
  b.SetInsertPoint(after);
  return {};
}

Status LoopEmitter::LanesOfMask(const ir::Inst& inst, Value first, unsigned count,
                                const std::optional<ThreadTimes>& times) {
  Value live = LiveMask(e, e.step->warp);
  if (count != kWarpSize) {
    Value lanes = b.getInt32((1u << count) - 1);
    live = b.CreateAnd(live, first == nullptr ? lanes : b.CreateShl(lanes, first));
  }
  return ForSetBits(live, [&](LaneStep lane_step) {
    if (MayExit(inst)) {
      llvm::BasicBlock* inside = b.GetInsertBlock();
      lane_step.exit = ExitBlock(lane_step, lane_step.end);
      b.SetInsertPoint(inside);
    }
    lane_step.times = times;
    if (times) BeginThread(e, *times);
    return EmitRegion(e, inst.edges[0], lane_step);
  });
}

// A lane may have been released by what an earlier one of this very loop has stored, so accesses of
// different lanes are not independent here.
Status LoopEmitter::ForEachLane(const ir::Inst& inst) {
  TRY_STATUS(ForSetBits(LiveMask(e, e.step->warp), [&](LaneStep lane_step) {
    llvm::BasicBlock* inside = b.GetInsertBlock();
    lane_step.exit = ExitBlock(lane_step, lane_step.end);
    b.SetInsertPoint(inside);
    return EmitRegion(e, inst.edges[0], lane_step);
  }));
  ContinueWhileLive(e, b.CreateICmpNE(LiveMask(e, e.step->warp), b.getInt32(0)), e.step->end);
  e.blocks.Jump(inst.edges[1]);
  return {};
}

// -- terminators --

Status EmitForWarps(Site& s) {
  if (s.e.step->level != Level::kBlock) return s.Broken("below block level");
  return LoopEmitter(s.e).ForWarps(s.inst);
}

namespace {

// When all running lanes have exited, those that are parked continue at the third edge.
Status EmitForLanesOfArm(Site& s) {
  FunctionEmitter& e = s.e;
  llvm::BasicBlock *exited = e.body.NewBlock("all_exited"), *go_on = e.body.NewBlock("parked");
  {
    LaneStep running = *e.step;
    running.end = exited;
    CurrentStep::Scope scope(e.step, running);
    TRY_STATUS(LoopEmitter(e).ForLanes(s.inst));
  }
  llvm::IRBuilder<>::InsertPointGuard guard(s.b);
  s.b.SetInsertPoint(exited);
  Value parked = ParkedMask(e);
  StoreLiveMask(e, e.step->warp, parked);
  s.b.CreateCondBr(s.b.CreateICmpNE(parked, s.b.getInt32(0)), go_on, e.step->end);
  s.b.SetInsertPoint(go_on);
  e.blocks.Jump(s.inst.edges[2]);
  return {};
}

}  // namespace

Status EmitForLanes(Site& s) {
  if (s.e.step->level == Level::kLane) return s.Broken("at lane level");
  if (s.e.step->level == Level::kBlock && !s.e.f.is_flat)
    return s.Broken("at block level of a function that is not flat");
  if (s.inst.edges.size() == 3) return EmitForLanesOfArm(s);
  LoopEmitter loops(s.e);
  if (s.e.lanes_apart) return loops.ForEachLane(s.inst);
  return s.e.f.is_flat ? loops.ForThreads(s.inst) : loops.ForLanes(s.inst);
}

}  // namespace ptx2cpu::lowering
