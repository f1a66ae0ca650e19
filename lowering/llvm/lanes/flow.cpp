#include "lowering/llvm/lanes/flow.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr size_t kCheapInstructions = 12;  // that many run faster than they are jumped over
}  // namespace

LaneFlow::LaneFlow(LaneVectors& vectors) : LanePart(vectors), is_open_(f.blocks.size()) {}

bool LaneFlow::NeedsGuard(BlockId block) const {
  const std::vector<ir::InstId>& insts = f.at_block(block).insts;
  if (insts.size() > kCheapInstructions) return true;
  if (e.alignment.notes() != nullptr && e.alignment.notes()->Has(block)) return true;
  return std::ranges::any_of(insts, [&](ir::InstId id) {
    const ir::Inst& inst = f.at_inst(id);
    if (ir::IsTerminator(inst.op))
      return inst.op != Opcode::kBr && inst.op != Opcode::kCondBr && inst.op != Opcode::kSwitch &&
             inst.op != Opcode::kEndLane;
    return ir::Info(inst.op).effect != ir::Effect::kPure && inst.op != Opcode::kSlotLoad;
  });
}

Status LaneFlow::EmitLevel(uint32_t level, const Mask& all) {
  const std::vector<LaneRegion::Item>& items = region_.levels[level].items;
  std::vector<Mask> masks(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const LaneRegion::Item& item = items[i];
    masks[i] = i == 0                              ? all
               : item.same_as != LaneRegion::kNone ? masks[item.same_as]
                                                   : v.masks.Either(item.in);
    if (item.loop != LaneRegion::kNone) {
      TRY_STATUS(v.loops.EmitLoop(item, masks[i]));
      continue;
    }
    if (i != 0) v.meets.MergeParams(item.block, item.in, masks[i]);
    bool whole_level = level == 0 && (i == 0 || item.same_as == 0);
    TRY_STATUS(EmitBlock(item.block, masks[i], whole_level));
  }
  return {};
}

Status LaneFlow::EmitBlock(BlockId block, const Mask& mask, bool whole_level) {
  LaneMasks::Guard guard;
  if (NeedsGuard(block)) guard = v.masks.Open(mask);
  is_open_[block.index] = guard.skip == nullptr;
  Mask here = mask;
  if (guard.skip != nullptr) here.any = b.getTrue();
  if (IsTrue(here.any)) here = {here.active(), here.any};
  if (e.alignment.notes() != nullptr) e.alignment.notes()->AtBlock(block);
  v.meets.MeetIn(block, here);
  v.halves.Begin(block);
  std::vector<ValueId> made;
  for (ir::InstId id : f.at_block(block).insts) {
    const ir::Inst& inst = f.at_inst(id);
    if (ir::IsTerminator(inst.op)) {
      TRY_STATUS(EmitEdges(inst, block, here));
      break;
    }
    TRY_STATUS(EmitOne(inst, here, whole_level));
    for (ValueId result : inst.results) {
      if (region_.used_elsewhere[result.index]) made.push_back(result);
    }
  }
  std::vector<EdgeRef> out;
  for (uint32_t k = 0; k < f.successors(block).size(); ++k) out.push_back({block, k});
  v.masks.Close(guard, made, out);
  return {};
}

Status LaneFlow::EmitEdges(const ir::Inst& inst, BlockId block, const Mask& mask) {
  if (inst.op == Opcode::kBr) {
    v.masks.Set({block, 0}, mask);
    return {};
  }
  if (inst.op == Opcode::kCondBr) {
    Value condition = e.values.Get(inst.operands[0]);
    if (v.partings.PartsAtBound(inst, mask)) condition = v.partings.AllOrNone(inst, condition, mask);
    v.masks.Set({block, 0}, v.masks.EdgeMask(mask, condition));
    v.masks.Set({block, 1}, v.masks.EdgeMask(mask, b.CreateNot(condition)));
    return {};
  }
  if (inst.op == Opcode::kSwitch) {
    Value index = e.values.Get(inst.operands[0]);
    auto last = static_cast<uint32_t>(inst.edges.size() - 1);
    // These are vectors even where all lanes have one index: LLVM's DAG combiner would rewrite masks that are
    // selected by compares of one word back and forth without end.
    for (uint32_t k = 0; k < last; ++k)
      v.masks.Set({block, k}, v.masks.EdgeMask(mask, Vector(b.CreateICmpEQ(index, Literal(index, k)))));
    v.masks.Set({block, last}, v.masks.EdgeMask(mask, Vector(b.CreateICmpUGE(index, Literal(index, last)))));
    return {};
  }
  if (inst.op == Opcode::kEndLane) {
    return {};
  }
  if (inst.op == Opcode::kExitLane) {
    EmitExit(mask);
    return {};
  }
  if (inst.op == Opcode::kTrap) {
    EmitFault(mask, inst, PTX2CPU_FAULT_TRAP);
    return {};
  }
  EmitFault(mask, inst, PTX2CPU_FAULT_UNREACHABLE);
  return {};
}

void LaneFlow::EmitExit(const Mask& mask) {
  v.partings.NoteEffect();
  EndThreads(e, Bits(mask));
}

void LaneFlow::EmitFault(const Mask& mask, const ir::Inst& inst, uint32_t kind) {
  Value lane = AsLane(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getFalse()));
  b.CreateCall(
      e.m.Service("ptx2cpu_fault"),
      {e.body.Block(), b.getInt32(kind), b.CreateAdd(e.step->thread, lane), b.getInt32(inst.at.ptx_line)});
  b.CreateUnreachable();
  b.SetInsertPoint(e.body.NewBlock("behind_fault"));
}

Status LaneFlow::EmitOne(const ir::Inst& inst, const Mask& mask, bool whole_level) {
  if (e.m.debug) b.SetCurrentDebugLocation(e.m.debug->Locate(inst.at));
  const ir::Effect effect = ir::Info(inst.op).effect;
  if (effect != ir::Effect::kPure && effect != ir::Effect::kReads) v.partings.NoteEffect();
  if (inst.op == Opcode::kSlotStore) return v.slots.EmitSlotStore(inst, mask, whole_level);
  if (inst.op == Opcode::kSlotLoad && OfRow()) return v.slots.LoadSlotOfRow(inst, mask);
  if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kResumeWord) return e.EmitInst(inst);
  if (IsOnceForAll(inst.op)) return e.EmitInst(inst);
  if (FormOf(e, region_, inst) == LaneForm::kEachLane) return v.one_by_one.EmitEachLane(inst, mask);
  if (inst.op == Opcode::kCheckAccess) return v.checks.EmitCheck(inst, mask);
  if (inst.op == Opcode::kCheckSync) return v.checks.EmitCheckSync(inst, mask), Status{};
  if (inst.op == Opcode::kAtomic) return v.atomics.EmitCombined(inst, mask);
  if (inst.op == Opcode::kTexture) return v.textures.EmitTextures(inst, mask);
  if (inst.op == Opcode::kSurfaceAddress) return v.textures.EmitSurfaceAddresses(inst, mask);
  v.atomics.ApplyDeferredBefore(inst, mask);
  if (inst.op == Opcode::kLoad) return v.accesses.EmitLoad(inst, mask);
  if (inst.op == Opcode::kStore) return v.accesses.EmitStore(inst, mask);
  return v.computations.EmitPure(inst);
}

}  // namespace ptx2cpu::lowering
