// Resumable kernels: a step function runs lanes of one warp until each has suspended or exited. Their places
// are in block->points, what they pass to the scheduler in block->words (runtime/abi/abi.h).
//
// clang-format off
//   resumes lanes   step: switch (entry)                     resumes warps   step: switch (points[first live lane])
//                     0: for each live lane                                    k: warp-level code after point k
//                          switch (points[thread])
//                     1 + c: the collective of class c
// clang-format on
//
// In a kernel that resumes blocks, the step is the block's code, from points[0] on: block->points[0] is
// where it continues, or PTX2CPU_BLOCK_ENDED.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/kernel/function.h"
#include "lowering/llvm/kernel/loops.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Level;
using Value = llvm::Value*;

Status EmitStep(FunctionEmitter& e) {
  e.memory.PrepareSlots();
  Value warp = e.body.function->getArg(1);
  warp->setName("warp");
  e.body.function->getArg(2)->setName("entry_number");
  llvm::BasicBlock* end = e.body.NewBlock("return");
  const LaneStep step{.level = Level::kWarp,
                      .width = kWarpSize,
                      .warp = warp,
                      .lane = e.b.getInt32(0),
                      .thread = e.b.CreateShl(warp, 5, "first_thread", true, true),
                      .end = end};
  TRY_STATUS(EmitRegion(e, {e.f.entry, {}}, step));
  e.b.SetInsertPoint(end);
  e.b.CreateRetVoid();
  return {};
}

Status EmitBlockStep(FunctionEmitter& e) {
  e.memory.PrepareSlots();
  llvm::BasicBlock* end = e.body.NewBlock("return");
  TRY_STATUS(EmitRegion(e, {e.f.entry, {}}, {.level = Level::kBlock, .width = 1, .end = end}));
  e.b.SetInsertPoint(end);
  Value points = e.body.Field(offsetof(ptx2cpu_block, points), e.b.getPtrTy(), "points");
  e.memory.Store(e.b.getInt32(PTX2CPU_BLOCK_ENDED), points, llvm::Align(4), Memory::kContext);
  e.b.CreateRetVoid();
  return {};
}

namespace {

// Where the thread continues.
Value PointAddress(FunctionEmitter& e, Value thread) {
  Value points = e.body.Field(offsetof(ptx2cpu_block, points), e.b.getPtrTy(), "points");
  return e.b.CreateInBoundsGEP(e.b.getInt32Ty(), points, e.memory.WideIndex(thread));
}

// A word of the step's first thread.
Value WordAddress(FunctionEmitter& e, uint32_t number) {
  Value words = e.body.Field(offsetof(ptx2cpu_block, words), e.b.getPtrTy(), "words");
  Value row = e.b.CreateConstInBoundsGEP1_64(e.b.getInt32Ty(), words,
                                             uint64_t{number} * PTX2CPU_MAX_THREADS_PER_BLOCK);
  return e.b.CreateInBoundsGEP(e.b.getInt32Ty(), row, e.memory.WideIndex(e.step->thread));
}

// The edge of that number; `prepare` may put code on its way.
void ChooseEdge(Site& s, Value number, const std::function<void(size_t edge)>& prepare = {}) {
  std::vector<llvm::BasicBlock*> ways;
  {
    llvm::IRBuilder<>::InsertPointGuard guard(s.b);
    for (size_t i = 0; i < s.inst.edges.size(); ++i) {
      ways.push_back(s.e.body.NewBlock("edge"));
      s.b.SetInsertPoint(ways.back());
      if (prepare) prepare(i);
      s.e.blocks.Jump(s.inst.edges[i]);
    }
  }
  auto last = static_cast<unsigned>(ways.size() - 1);
  llvm::SwitchInst* choice = s.b.CreateSwitch(number, ways[last], last);
  for (unsigned i = 0; i < last; ++i) choice->addCase(s.b.getInt32(i), ways[i]);
}

// Stores to all lanes of the step that run.
void StoreForLive(Site& s, Value value, Value address, Value live) {
  FunctionEmitter& e = s.e;
  if (e.step->width == 1) {
    e.memory.Store(value, address, llvm::Align(4), Memory::kContext);
    return;
  }
  value = Broadcast(s.b, value, e.step->width);
  Value runs = s.b.CreateBitCast(live, llvm::FixedVectorType::get(e.I(1), e.step->width));
  Value old = e.memory.Load(value->getType(), address, llvm::Align(4), Memory::kContext);
  e.memory.Store(s.b.CreateSelect(runs, value, old), address, llvm::Align(4), Memory::kContext);
}

Level LevelOfResuming(const Site& s) {
  if (s.e.f.resumes == ir::Resumes::kBlocks) return Level::kBlock;
  if (s.e.step->level == Level::kWarp && ir::RunsTogether(s.e.f)) return Level::kWarp;
  return s.e.f.resumes == ir::Resumes::kLanes ? Level::kLane : Level::kWarp;
}

Status ResumeBlock(Site& s) {
  FunctionEmitter& e = s.e;
  Value point = e.memory.Load(e.I(32), PointAddress(e, s.b.getInt32(0)), llvm::Align(4), Memory::kContext);
  Status status;
  ChooseEdge(s, point, [&](size_t edge) {
    if (edge == 0 && e.f.has_early_exit) status = BeginLiveMasks(e);
  });
  return status;
}

// A warp begins with all its lanes, or with one after the other.
void BeginTogether(Site& s, Value point) {
  FunctionEmitter& e = s.e;
  const std::vector<ir::BlockId> heads = ir::TogetherByPoint(e.f);
  const auto apart = std::ranges::find(heads, ir::BlockId{});
  ChooseEdge(s, point, [&](size_t edge) {
    if (edge != 0) return;
    // What inactive lanes hold is never undefined.
    for (uint32_t slot : e.slots_of_turn.turns[s.inst.block.index]) e.memory.ClearSlotOfTurn(slot);
    if (apart == heads.end()) return;
    // In a random order (runtime/scheduler/random_order.h) the scheduler may begin with some of the lanes.
    llvm::BasicBlock *all = e.body.NewBlock("all_lanes"), *some = e.body.NewBlock("some_lanes");
    Value live = LiveMask(e, e.step->warp);
    s.b.CreateCondBr(s.b.CreateICmpEQ(live, LanesOf(e, e.step->warp)), all, some);
    s.b.SetInsertPoint(some);
    e.blocks.Jump(s.inst.edges[static_cast<size_t>(apart - heads.begin())]);
    s.b.SetInsertPoint(all);
  });
}

}  // namespace

Status EmitDispatch(Site& s) {
  if (s.e.f.resumes != ir::Resumes::kLanes || s.e.step->level != Level::kWarp)
    return s.Broken("outside a step of lanes");
  ChooseEdge(s, s.e.body.function->getArg(2));
  return {};
}

Status EmitResume(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.f.resumes == ir::Resumes::kNever || e.step->level != LevelOfResuming(s))
    return s.Broken("at another level");
  if (e.step->level == Level::kBlock) return ResumeBlock(s);
  Value thread = e.step->thread;
  if (e.step->level == Level::kWarp) {  // all live lanes are at one point
    Value live = LiveMask(e, e.step->warp);
    thread = s.b.CreateAdd(thread, s.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, live, s.b.getTrue()));
  }
  Value point = e.memory.Load(e.I(32), PointAddress(e, thread), llvm::Align(4), Memory::kContext);
  if (e.step->level == Level::kWarp && ir::RunsTogether(e.f)) {
    BeginTogether(s, point);
    return {};
  }
  const bool parks = e.f.parked_slot != ~0u;
  if (parks && e.step->level == Level::kLane)
    return s.Broken("lanes that are resumed one by one are never parked");
  ChooseEdge(s, point, [&](size_t edge) {
    if (!parks || edge != 0) return;  // a warp starts once
    StoreParkedMask(e, s.b.getInt32(0));
  });
  return {};
}

Status EmitSuspend(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.f.resumes == ir::Resumes::kNever || e.step->level != LevelOfResuming(s))
    return s.Broken("at another level");
  if (e.step->level == Level::kBlock) {
    e.memory.Store(s.b.getInt32(s.inst.attrs.index), PointAddress(e, s.b.getInt32(0)), llvm::Align(4),
                   Memory::kContext);
    s.b.CreateRetVoid();
    return {};
  }
  Value live = e.step->width == 1 ? nullptr : LiveMask(e, e.step->warp);
  for (size_t i = 0; i < s.inst.operands.size(); ++i) {
    StoreForLive(s, s.Raw(i), WordAddress(e, static_cast<uint32_t>(i)), live);
  }
  StoreForLive(s, s.b.getInt32(s.inst.attrs.index), PointAddress(e, e.step->thread), live);
  s.b.CreateBr(e.step->end);
  return {};
}

Status EmitYieldBlock(Site& s) { return s.Broken("in a function without resume points"); }
Status EmitYieldWarp(Site& s) { return s.Broken("in a function without resume points"); }

Status EmitKeep(Site& s) { return s.Broken("in code that is no part of another function yet"); }
Status EmitLeave(Site& s) { return EmitKeep(s); }

Status EmitResumeWord(Site& s) {
  FunctionEmitter& e = s.e;
  if (e.f.resumes <= ir::Resumes::kBlocks) return s.Broken("in a function whose warps are not resumable");
  llvm::Type* type = e.step->width == 1 ? e.I(32) : llvm::FixedVectorType::get(e.I(32), e.step->width);
  s.Return(e.memory.Load(type, WordAddress(e, s.inst.attrs.index), llvm::Align(4), Memory::kContext));
  return {};
}

}  // namespace ptx2cpu::lowering
