// Resumable kernels: a step function runs lanes of one warp until each has suspended or exited. Who stands
// where is in block->points, what they hand to the scheduler in block->words (runtime/abi/abi.h).
//
//   resumes lanes   step: switch (entry)                     resumes warps   step: switch (points[first live
//   lane])
//                     0: for each live lane                                    k: warp-level code behind
//                     point k
//                          switch (points[thread])
//                     1 + c: the collective of class c
#include <llvm/IR/Constants.h>

#include "lowering/llvm/kernel/function_emitter.h"
#include "lowering/llvm/lanes/live_lanes.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Level;
using Value = llvm::Value*;

Status FunctionEmitter::EmitStep() {
  Begin();
  FindVarying();
  PrepareSlots();
  Value warp = function->getArg(1);
  warp->setName("warp");
  function->getArg(2)->setName("entry_number");
  llvm::BasicBlock* end = NewBlock("return");
  step = {.level = Level::kWarp,
          .width = kWarpSize,
          .warp = warp,
          .lane = b.getInt32(0),
          .thread = b.CreateShl(warp, 5, "first_thread", true, true),
          .end = end};
  TRY_STATUS(EmitRegion(f.entry, step, {f.entry, {}}));
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return {};
}

Value FunctionEmitter::PointAddress(Value thread) {
  Value points = Field(offsetof(ptx2cpu_block, points), b.getPtrTy(), "points");
  return b.CreateInBoundsGEP(b.getInt32Ty(), points, b.CreateZExt(thread, b.getInt64Ty()));
}

Value FunctionEmitter::WordAddress(uint32_t number) {
  Value words = Field(offsetof(ptx2cpu_block, words), b.getPtrTy(), "words");
  Value row =
      b.CreateConstInBoundsGEP1_64(b.getInt32Ty(), words, uint64_t{number} * PTX2CPU_MAX_THREADS_PER_BLOCK);
  return b.CreateInBoundsGEP(b.getInt32Ty(), row, b.CreateZExt(step.thread, b.getInt64Ty()));
}

// A lane may have been let go on by what an earlier one of this very loop has stored, so accesses of
// different lanes are not independent here; and mostly few lanes run, so that the loop goes from set bit to
// set bit.
Status FunctionEmitter::EmitForEachLane(const ir::Inst& inst) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = NewBlock("lane"), *done = NewBlock("lane_done"),
                   *after = NewBlock("after");
  Value live = LiveMask(step.warp);
  b.CreateCondBr(b.CreateICmpNE(live, b.getInt32(0)), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* rest = b.CreatePHI(b.getInt32Ty(), 2, "rest");
  rest->addIncoming(live, before);
  Value lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, b.getTrue(), nullptr, "lane");
  LaneStep lane_step{.level = Level::kLane,
                     .width = 1,
                     .warp = step.warp,
                     .lane = lane,
                     .thread = b.CreateAdd(step.thread, lane, "thread", true, true),
                     .end = done};
  llvm::BasicBlock* inside = b.GetInsertBlock();
  lane_step.exit = ExitBlock(lane_step, done);
  b.SetInsertPoint(inside);
  TRY_STATUS(EmitRegion(inst.edges[0].to, lane_step, inst.edges[0]));
  b.SetInsertPoint(done);
  Value others = b.CreateAnd(rest, b.CreateSub(rest, b.getInt32(1)));
  rest->addIncoming(others, done);
  b.CreateCondBr(b.CreateICmpNE(others, b.getInt32(0)), head, after);
  b.SetInsertPoint(after);
  ContinueWhileLive(b.CreateICmpNE(LiveMask(step.warp), b.getInt32(0)), step.end);
  Jump(inst.edges[1]);
  return {};
}

namespace {

// The edge of that number; `prepare` may put code on its way.
void ChooseEdge(Site& s, Value number, const std::function<void(size_t edge)>& prepare = {}) {
  std::vector<llvm::BasicBlock*> ways;
  {
    llvm::IRBuilder<>::InsertPointGuard guard(s.b);
    for (size_t i = 0; i < s.inst.edges.size(); ++i) {
      ways.push_back(s.e.NewBlock("edge"));
      s.b.SetInsertPoint(ways.back());
      if (prepare) prepare(i);
      s.e.Jump(s.inst.edges[i]);
    }
  }
  auto last = static_cast<unsigned>(ways.size() - 1);
  llvm::SwitchInst* choice = s.b.CreateSwitch(number, ways[last], last);
  for (unsigned i = 0; i < last; ++i) choice->addCase(s.b.getInt32(i), ways[i]);
}

// Stores to all lanes of the step that run.
void StoreForLive(Site& s, Value value, Value address, Value live) {
  FunctionEmitter& e = s.e;
  if (e.step.width == 1) {
    e.StorePlain(value, address, llvm::Align(4), Memory::kContext);
    return;
  }
  value = Broadcast(s.b, value, e.step.width);
  Value runs = s.b.CreateBitCast(live, llvm::FixedVectorType::get(e.I(1), e.step.width));
  Value old = e.LoadPlain(value->getType(), address, llvm::Align(4), Memory::kContext);
  e.StorePlain(s.b.CreateSelect(runs, value, old), address, llvm::Align(4), Memory::kContext);
}

Level LevelOfResuming(const Site& s) {
  return s.e.f.resumes == ir::Resumes::kLanes ? Level::kLane : Level::kWarp;
}

}  // namespace

Status EmitDispatch(Site& s) {
  if (s.e.f.resumes != ir::Resumes::kLanes || s.e.step.level != Level::kWarp)
    return s.Broken("outside a step of lanes");
  ChooseEdge(s, s.e.function->getArg(2));
  return {};
}

Status EmitResume(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.f.resumes == ir::Resumes::kNever || e.step.level != LevelOfResuming(s))
    return s.Broken("at another level");
  Value thread = e.step.thread;
  if (e.step.level == Level::kWarp) {  // all live lanes are at one point
    Value live = e.LiveMask(e.step.warp);
    thread = s.b.CreateAdd(thread, s.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, live, s.b.getTrue()));
  }
  Value point = e.LoadPlain(e.I(32), e.PointAddress(thread), llvm::Align(4), Memory::kContext);
  const bool parks = e.f.parked_slot != ~0u;
  if (parks && e.step.level == Level::kLane)
    return s.Broken("lanes that are resumed one by one are never parked");
  ChooseEdge(s, point, [&](size_t edge) {
    if (!parks || edge != 0) return;  // a warp starts once
    e.StorePlain(s.b.getInt32(0), e.SlotAddress(e.f.parked_slot), llvm::Align(4), Memory::kSlot);
  });
  return {};
}

Status EmitSuspend(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.f.resumes == ir::Resumes::kNever || e.step.level != LevelOfResuming(s))
    return s.Broken("at another level");
  Value live = e.step.width == 1 ? nullptr : e.LiveMask(e.step.warp);
  for (size_t i = 0; i < s.inst.operands.size(); ++i) {
    StoreForLive(s, s.Raw(i), e.WordAddress(static_cast<uint32_t>(i)), live);
  }
  StoreForLive(s, s.b.getInt32(s.inst.attrs.index), e.PointAddress(e.step.thread), live);
  s.b.CreateBr(e.step.end);
  return {};
}

Status EmitResumeWord(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.f.resumes == ir::Resumes::kNever) return s.Broken("in a function that is not resumable");
  llvm::Type* type = e.step.width == 1 ? e.I(32) : llvm::FixedVectorType::get(e.I(32), e.step.width);
  s.Return(e.LoadPlain(type, e.WordAddress(s.inst.attrs.index), llvm::Align(4), Memory::kContext));
  return {};
}

}  // namespace ptx2cpu::lowering
