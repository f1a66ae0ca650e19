// Regions, and the loops that for_warps and for_lanes stand for.
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "lowering/llvm/kernel/function_emitter.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

namespace {
// Edge 0 of the loop terminators leads to a lower level.
std::span<const ir::Edge> EdgesOfLevel(const ir::Inst& inst) {
  std::span<const ir::Edge> edges = inst.edges;
  bool loop = inst.op == Opcode::kForWarps || inst.op == Opcode::kForLanes;
  return loop ? edges.subspan(1) : edges;
}
}  // namespace

std::vector<ir::BlockId> FunctionEmitter::SameLevelOrder(ir::BlockId entry) const {
  std::vector<ir::BlockId> order;
  std::vector<bool> seen(f.blocks.size());
  std::vector<std::pair<ir::BlockId, size_t>> stack{{entry, 0}};
  seen[entry.index] = true;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    std::span<const ir::Edge> edges = EdgesOfLevel(f.terminator(block));
    if (next < edges.size()) {
      ir::BlockId to = edges[next++].to;
      if (!seen[to.index]) {
        seen[to.index] = true;
        stack.push_back({to, 0});
      }
    } else {
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::ranges::reverse(order);
  return order;
}

Status FunctionEmitter::EmitRegion(ir::BlockId entry, const LaneStep& region_step, const ir::Edge& edge) {
  LaneStep saved = step;
  // Arguments are read where the region is entered from.
  std::vector<llvm::Value*> arguments;
  for (ir::ValueId arg : edge.args) arguments.push_back(ValueOf(arg));
  step = region_step;
  std::vector<ir::BlockId> order = SameLevelOrder(entry);
  llvm::BasicBlock* from = b.GetInsertBlock();
  for (ir::BlockId id : order) {
    const ir::Block& block = f.at_block(id);
    if (block.level != step.level) {
      return Fail(ErrorCode::kInternal, "function " + f.name + ": block " + std::to_string(id.index) +
                                            " of " + std::string(Name(block.level)) +
                                            " level is reached at " + std::string(Name(step.level)) +
                                            " level");
    }
    blocks_[id.index] = NewBlock(block.label.empty() ? "bb" : block.label.c_str());
    llvm::IRBuilder<> at(blocks_[id.index]);
    for (ir::ValueId param : block.params) {
      llvm::Type* type = m.TypeOf(f.type_of(param));
      if (step.width > 1 && IsVarying(param)) type = llvm::FixedVectorType::get(type, step.width);
      phis_[param.index] = at.CreatePHI(type, 2);
      SetValue(param, phis_[param.index]);
    }
  }
  b.CreateBr(blocks_[entry.index]);
  const std::vector<ir::ValueId>& params = f.at_block(entry).params;
  for (size_t i = 0; i < params.size(); ++i)
    phis_[params[i].index]->addIncoming(
        Broadcast(b, arguments[i], phis_[params[i].index]->getType()->isVectorTy() ? step.width : 1), from);
  for (ir::BlockId id : order) {
    b.SetInsertPoint(blocks_[id.index]);
    if (notes_) notes_->AtBlock(id);
    for (ir::InstId inst_id : f.at_block(id).insts) {
      const ir::Inst& inst = f.at_inst(inst_id);
      // Kept back until a consumer runs over the warps.
      bool kept = step.level == ir::Level::kBlock && !inst.results.empty() &&
                  std::ranges::any_of(inst.results, [&](ir::ValueId r) { return IsVarying(r); });
      if (!kept) TRY_STATUS(EmitInst(inst));
    }
  }
  step = saved;
  return {};
}

void FunctionEmitter::AddIncoming(const ir::Edge& edge, llvm::BasicBlock* from) {
  const std::vector<ir::ValueId>& params = f.at_block(edge.to).params;
  for (size_t i = 0; i < params.size(); ++i) {
    llvm::PHINode* phi = phis_[params[i].index];
    llvm::Value* value = ValueOf(edge.args[i]);
    phi->addIncoming(phi->getType()->isVectorTy() ? Broadcast(b, value, step.width) : value, from);
  }
}

void FunctionEmitter::Jump(const ir::Edge& edge) {
  AddIncoming(edge, b.GetInsertBlock());
  b.CreateBr(BlockOf(edge.to));
}

// -- loops --

Status FunctionEmitter::Loop(llvm::Value* count, const char* name,
                             const std::function<Status(llvm::Value*)>& body) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = NewBlock(name), *inside = NewBlock("body"),
                   *after = NewBlock("after");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* index = b.CreatePHI(b.getInt32Ty(), 2);
  index->addIncoming(b.getInt32(0), before);
  b.CreateCondBr(b.CreateICmpULT(index, count), inside, after);
  b.SetInsertPoint(inside);
  TRY_STATUS(body(index));
  index->addIncoming(b.CreateAdd(index, b.getInt32(1), "", true, true), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
  return {};
}

llvm::Value* FunctionEmitter::LiveMask(llvm::Value* warp) {
  if (f.has_early_exit) {
    llvm::Value* live = Field(offsetof(ptx2cpu_block, live), b.getPtrTy(), "live");
    return LoadPlain(b.getInt32Ty(),
                     b.CreateInBoundsGEP(b.getInt32Ty(), live, b.CreateZExt(warp, b.getInt64Ty())),
                     llvm::Align(4), Memory::kContext);
  }
  return LanesOf(warp);
}

llvm::Value* FunctionEmitter::LanesOf(llvm::Value* warp) {
  return FirstLanes(b.CreateSub(Field(offsetof(ptx2cpu_block, thread_count), b.getInt32Ty(), "thread_count"),
                                b.CreateShl(warp, 5)));
}

// The first `count` of 32 lanes, at most all.
llvm::Value* FunctionEmitter::FirstLanes(llvm::Value* count) {
  llvm::Value* tail =
      b.CreateSub(b.CreateShl(b.getInt32(1), b.CreateAnd(count, b.getInt32(31))), b.getInt32(1));
  return b.CreateSelect(b.CreateICmpUGE(count, b.getInt32(kWarpSize)), b.getInt32(~0u), tail, "live");
}

llvm::Value* FunctionEmitter::AnyLive() {
  llvm::AllocaInst* any = Scratch(b.getInt32Ty(), 1);
  b.CreateStore(b.getInt32(0), any);
  Status status = Loop(Field(offsetof(ptx2cpu_block, warp_count), b.getInt32Ty(), "warp_count"), "any_live",
                       [&](llvm::Value* warp) {
                         b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), any), LiveMask(warp)), any);
                         return Status{};
                       });
  CHECK(status.has_value());
  return b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), any), b.getInt32(0));
}

void FunctionEmitter::ContinueWhileLive(llvm::Value* any_live, llvm::BasicBlock* otherwise) {
  llvm::BasicBlock* go_on = NewBlock("live");
  b.CreateCondBr(any_live, go_on, otherwise);
  b.SetInsertPoint(go_on);
}

Status FunctionEmitter::ForEachWarp(const std::function<Status(llvm::Value*)>& body) {
  LaneStep saved = step;
  Status status = Loop(Field(offsetof(ptx2cpu_block, warp_count), b.getInt32Ty(), "warp_count"), "each_warp",
                       [&](llvm::Value* warp) -> Status {
                         step.width = kWarpSize;
                         step.warp = warp;
                         step.lane = b.getInt32(0);
                         step.thread = b.CreateShl(warp, 5, "", true, true);
                         llvm::BasicBlock *inside = NewBlock("warp"), *next = NewBlock("next");
                         llvm::Value* live = LiveMask(warp);
                         b.CreateCondBr(b.CreateICmpNE(live, b.getInt32(0)), inside, next);
                         b.SetInsertPoint(inside);
                         TRY_STATUS(body(live));
                         for (ir::ValueId id : materialised_) values_[id.index] = nullptr;
                         materialised_.clear();
                         b.CreateBr(next);
                         b.SetInsertPoint(next);
                         return Status{};
                       });
  step = saved;
  return status;
}

Status FunctionEmitter::EmitForWarps(const ir::Inst& inst) {
  Status status = Loop(Field(offsetof(ptx2cpu_block, warp_count), b.getInt32Ty(), "warp_count"), "warps",
                       [&](llvm::Value* warp) -> Status {
                         llvm::BasicBlock *inside = NewBlock("warp"), *next = NewBlock("next_warp");
                         if (f.has_early_exit) {
                           b.CreateCondBr(b.CreateICmpNE(LiveMask(warp), b.getInt32(0)), inside, next);
                         } else {
                           b.CreateBr(inside);
                         }
                         b.SetInsertPoint(inside);
                         LaneStep warp_step{.level = ir::Level::kWarp,
                                            .width = kWarpSize,
                                            .warp = warp,
                                            .lane = b.getInt32(0),
                                            .thread = b.CreateShl(warp, 5, "", true, true),
                                            .end = next};
                         TRY_STATUS(EmitRegion(inst.edges[0].to, warp_step, inst.edges[0]));
                         b.SetInsertPoint(next);
                         return Status{};
                       });
  TRY_STATUS(status);
  if (f.has_early_exit) ContinueWhileLive(AnyLive(), step.end);
  Jump(inst.edges[1]);
  return {};
}

// parallel_accesses: lanes have no order within a region, so accesses of different iterations are
// independent.
llvm::MDNode* FunctionEmitter::LoopMetadata(llvm::MDNode* access_group) {
  llvm::Metadata* parallel[] = {llvm::MDString::get(m.context, "llvm.loop.parallel_accesses"), access_group};
  llvm::SmallVector<llvm::Metadata*, 3> operands{nullptr, llvm::MDNode::get(m.context, parallel)};
  if (notes_ && notes_->HoldBack()) {
    llvm::Metadata* once[] = {llvm::MDString::get(m.context, "llvm.loop.interleave.count"),
                              llvm::ConstantAsMetadata::get(b.getInt32(1))};
    operands.push_back(llvm::MDNode::get(m.context, once));
  }
  llvm::MDNode* loop = llvm::MDNode::getDistinct(m.context, operands);
  loop->replaceOperandWith(0, loop);
  return loop;
}

FunctionEmitter::LaneLoop FunctionEmitter::OpenLoop(llvm::Value* count, const char* name) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  LaneLoop loop{nullptr, NewBlock(name), NewBlock("next"), NewBlock("after"), count};
  b.CreateBr(loop.head);
  b.SetInsertPoint(loop.head);
  loop.index = b.CreatePHI(b.getInt32Ty(), 2, name);
  loop.index->addIncoming(b.getInt32(0), before);
  return loop;
}

void FunctionEmitter::CloseLoop(const LaneLoop& loop, llvm::MDNode* access_group) {
  b.CreateBr(loop.next);
  b.SetInsertPoint(loop.next);
  llvm::Value* following = b.CreateAdd(loop.index, b.getInt32(1), "", true, true);
  loop.index->addIncoming(following, loop.next);
  llvm::BranchInst* back = b.CreateCondBr(b.CreateICmpULT(following, loop.count), loop.head, loop.after);
  back->setMetadata(llvm::LLVMContext::MD_loop, LoopMetadata(access_group));
  b.SetInsertPoint(loop.after);
}

llvm::BasicBlock* FunctionEmitter::ExitBlock(const LaneStep& lane_step, llvm::BasicBlock* done) {
  llvm::BasicBlock* exit = NewBlock("exit_lane");
  b.SetInsertPoint(exit);
  llvm::Value* live = Field(offsetof(ptx2cpu_block, live), b.getPtrTy(), "live");
  llvm::Value* word = b.CreateInBoundsGEP(b.getInt32Ty(), live, b.CreateZExt(lane_step.warp, b.getInt64Ty()));
  llvm::Value* rest = b.CreateAnd(b.CreateLoad(b.getInt32Ty(), word),
                                  b.CreateNot(b.CreateShl(b.getInt32(1), lane_step.lane)));
  b.CreateStore(rest, word);
  b.CreateBr(done);
  return exit;
}

Status FunctionEmitter::EmitLane(const ir::Inst& inst, LaneStep lane_step, const LaneLoop& loop) {
  llvm::BasicBlock* done = NewBlock("lane_done");
  lane_step.end = lane_step.exit = done;
  if (MasksLanes(inst)) {
    llvm::BasicBlock* inside = NewBlock("live_lane");
    llvm::Value* bit = b.CreateAnd(b.CreateLShr(LiveMask(lane_step.warp), lane_step.lane), b.getInt32(1));
    b.CreateCondBr(b.CreateICmpNE(bit, b.getInt32(0)), inside, done);
    lane_step.exit = ExitBlock(lane_step, done);
    b.SetInsertPoint(inside);
  }
  if (lane_step.times) BeginThread(*lane_step.times);
  TRY_STATUS(EmitRegion(inst.edges[0].to, lane_step, inst.edges[0]));
  b.SetInsertPoint(done);
  return {};
}

Result<bool> FunctionEmitter::EmitLanesAsVectors(const ir::Inst& inst) {
  // Locals on the stack are one lane's at a time.
  if (m.lane_width != kWarpSize || stack_locals_ != nullptr) return false;
  using Threads = LaneRegionOptions::Threads;
  LaneRegionOptions options{.private_shared = private_shared,
                            .threads = one_dimensional_ ? Threads::kOneDimensional : Threads::kAnyShape,
                            .varies_outside = [&](ir::ValueId id) { return IsVarying(id); }};
  std::optional<LaneRegion> region = analysis::FindLaneRegion(f, inst.edges[0].to, options);
  if (!region || !LaneVectors::Suits(*this, *region)) return false;
  BeginNotes(inst, false);
  TRY_STATUS(LaneVectors(*this, *region).Run(MasksLanes(inst) ? LiveMask(step.warp) : LanesOf(step.warp)));
  EndNotes();
  return true;
}

Status FunctionEmitter::EmitForLanes(const ir::Inst& inst) {
  if (TRY(EmitLanesAsVectors(inst))) {
    if (MasksLanes(inst)) ContinueWhileLive(b.CreateICmpNE(LiveMask(step.warp), b.getInt32(0)), step.end);
    Jump(inst.edges[1]);
    return {};
  }
  llvm::Value* threads = Field(offsetof(ptx2cpu_block, thread_count), b.getInt32Ty(), "thread_count");
  llvm::Value* rest = b.CreateSub(threads, step.thread);
  const std::optional<ThreadTimes> times = BeginTimes(inst.edges[0].to);
  BeginNotes(inst, !MasksLanes(inst));
  LaneLoop loop =
      OpenLoop(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, b.getInt32(kWarpSize)), "lane");
  LaneStep lane_step{.level = ir::Level::kLane,
                     .width = 1,
                     .warp = step.warp,
                     .lane = loop.index,
                     .thread = b.CreateAdd(step.thread, loop.index, "thread", true, true),
                     .access_group = llvm::MDNode::getDistinct(m.context, {}),
                     .times = times};
  TRY_STATUS(EmitLane(inst, lane_step, loop));
  CloseLoop(loop, lane_step.access_group);
  EndNotes();
  if (MasksLanes(inst)) ContinueWhileLive(b.CreateICmpNE(LiveMask(step.warp), b.getInt32(0)), step.end);
  Jump(inst.edges[1]);
  return {};
}

Residues& FunctionEmitter::residues() {
  if (!residues_) residues_.emplace(m.ir, f, m.layout.shared_offset, m.param_bytes);
  return *residues_;
}

bool FunctionEmitter::IsAssumed(const Residue& residue, uint64_t align) {
  if (m.options.alignment != AlignmentChecks::kAssumed || residue.root != Residue::Root::kParameter)
    return false;
  const ParameterAlignment needed{static_cast<uint32_t>(residue.place), static_cast<uint8_t>(residue.offset),
                                  static_cast<uint8_t>(align - 1)};
  if (std::ranges::find(m.layout.alignments, needed) == m.layout.alignments.end())
    m.layout.alignments.push_back(needed);
  return true;
}

llvm::Value* FunctionEmitter::IsOdd(const Residue& residue, uint64_t align) {
  if (residue.root == Residue::Root::kNone) return b.getInt1(!residue.IsZero());
  llvm::Value* parameter = Parameter(residue.place, residue.type);
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_->getTerminator());
  llvm::Value* low =
      b.CreateAnd(b.CreateAdd(parameter, Literal(parameter, residue.offset)), Literal(parameter, align - 1));
  return b.CreateICmpNE(low, Literal(low, 0));
}

llvm::Value* FunctionEmitter::OrAtEntry(llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_->getTerminator());
  return b.CreateOr(x, y);
}

void FunctionEmitter::BeginNotes(const ir::Inst& loop, bool all_enter) {
  if (m.options.alignment == AlignmentChecks::kNoted || m.options.alignment == AlignmentChecks::kAssumed)
    notes_.emplace(*this, loop.edges[0].to, all_enter);
}

void FunctionEmitter::EndNotes() {
  if (notes_) notes_->Finish();
  notes_.reset();
}

void FunctionEmitter::Fault(llvm::Value* condition, uint32_t kind, llvm::Value* thread,
                            const ir::Position& at) {
  llvm::BasicBlock *bad = NewBlock("fault"), *good = NewBlock("go_on");
  b.CreateCondBr(condition, bad, good, llvm::MDBuilder(m.context).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(bad);
  if (thread == nullptr) thread = b.getInt32(~0u);  // block level
  b.CreateCall(m.Service("ptx2cpu_fault"), {Block(), b.getInt32(kind), thread, b.getInt32(at.ptx_line)});
  b.CreateUnreachable();
  b.SetInsertPoint(good);
}

}  // namespace ptx2cpu::lowering
