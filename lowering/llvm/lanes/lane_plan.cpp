#include "lowering/llvm/lanes/lane_plan.h"

#include <algorithm>

#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/lanes/lane_cost.h"
#include "lowering/llvm/lanes/lane_width.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

LaneShape ShapeIn(const FunctionEmitter& e, const LaneRegion& region, ValueId value) {
  ir::BlockId made = e.f.at_value(value).block;
  if (made.valid() && region.level_of[made.index] != LaneRegion::kNone) return region.shapes[value.index];
  return e.values.IsVarying(value) ? analysis::kVaryingShape : analysis::Uniform(analysis::Uniformity::kWarp);
}

namespace {

// LLVM's time grows faster than the code. Loops repay it.
constexpr double kMargin = 1.2;  // the estimate is rough, and vectors take longer to compile
constexpr size_t kMaxCodeOutside = 3000, kMaxCodeInLoops = 16000;

size_t Count(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

bool NumbersLanes(ir::Special special) {
  using enum ir::Special;
  return special == kLaneId || special == kWarpId || special == kLaneMaskEq || special == kLaneMaskLt ||
         special == kLaneMaskLe || special == kLaneMaskGt || special == kLaneMaskGe;
}

// Was the value, or what it was computed from here, loaded?
constexpr int kDepth = 10;
bool ComesFromMemory(const ir::Function& f, ValueId value, int depth) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kLoad && inst.attrs.space != Space::kParam) return true;
  if (ir::Info(inst.op).effect != ir::Effect::kPure)
    return inst.op != Opcode::kLoad && inst.op != Opcode::kSlotLoad;
  return std::ranges::any_of(inst.operands,
                             [&](ValueId operand) { return ComesFromMemory(f, operand, depth - 1); });
}

bool IsTerminatorOfLanes(Opcode op) {
  return op == Opcode::kBr || op == Opcode::kCondBr || op == Opcode::kSwitch || op == Opcode::kEndLane ||
         op == Opcode::kExitLane || op == Opcode::kTrap || op == Opcode::kUnreachable;
}

LaneForm FormOfAccess(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst) {
  if (analysis::IsStrong(inst, e.private_shared)) return LaneForm::kEachLane;
  const LaneShape address = ShapeIn(e, region, inst.operands[0]);
  if (inst.attrs.space == Space::kLocal) {
    if (e.memory.local_granule() == 0) return LaneForm::kEachLane;
    return address.uniform() ? LaneForm::kVector : LaneForm::kGather;
  }
  if (address.uniform()) return LaneForm::kUniform;
  const auto bits = static_cast<unsigned>(ir::Bits(inst.type));
  const size_t count = Count(inst);
  if (inst.attrs.space == Space::kParam || bits < 8 || bits > 64 || (bits < 32 && count > 1) || count > 4)
    return LaneForm::kEachLane;
  if (address.affine() && address.stride == static_cast<int64_t>(bits / 8 * count)) return LaneForm::kVector;
  // Sequences that parted lanes have brought together mostly are one still (where every lane took as many
  // trips).
  if (address.varying() && count == 1 && !ComesFromMemory(e.f, inst.operands[0], kDepth))
    return LaneForm::kVectorIfSeen;
  return bits >= 32 ? LaneForm::kGather : LaneForm::kEachLane;
}

}  // namespace

LaneForm FormOf(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst) {
  auto is_uniform = [&](ValueId value) { return ShapeIn(e, region, value).uniform(); };
  if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore || inst.op == Opcode::kResumeWord) {
    return LaneForm::kVector;
  }
  if (inst.op == Opcode::kFence) {
    return LaneForm::kUniform;
  }
  if (inst.op == Opcode::kTexture) {
    return LaneForm::kVector;
  }
  if (inst.op == Opcode::kSurfaceAddress) {
    return is_uniform(inst.operands[0]) ? LaneForm::kVector : LaneForm::kEachLane;
  }
  if (inst.op == Opcode::kIsSpace || inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
    bool window = inst.op != Opcode::kIsSpace && inst.attrs.space != Space::kLocal &&
                  inst.attrs.space != Space::kSharedCluster;
    return window || is_uniform(inst.results[0]) ? LaneForm::kVector : LaneForm::kEachLane;
  }
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
    return FormOfAccess(e, region, inst);
  }
  return ir::Info(inst.op).effect == ir::Effect::kPure ? LaneForm::kVector : LaneForm::kEachLane;
}

namespace {

bool CanBeVectors(const FunctionEmitter& e, const LaneRegion& region) {
  const ir::Function& f = e.f;
  if (!f.at_block(region.blocks[0]).params.empty()) return false;
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (ir::IsTerminator(inst.op)) {
        if (!IsTerminatorOfLanes(inst.op)) return false;
        continue;
      }
      const bool narrow = inst.attrs.space == Space::kLocal && e.memory.local_granule() < 4;
      if (narrow && FormOf(e, region, inst) == LaneForm::kGather) return false;
      // There a lane that fails in a callee ends alone, with its own code.
      if (inst.op == Opcode::kCall && NobodyWaits(e.f)) return false;
      for (ValueId result : inst.results) {
        if (ir::Bits(f.type_of(result)) > 64 && !region.shapes[result.index].uniform()) return false;
      }
    }
  }
  return true;
}

// A width that is asked for is not judged.
bool PaysOff(const FunctionEmitter& e, const LaneRegion& region, unsigned width) {
  if (!CanBeVectors(e, region)) return false;
  const LaneCost cost = CostOf(e, region, width);
  const bool pays = e.m.lane_width != 0 || cost.together * kMargin < cost.one_by_one;
  return pays && cost.code_outside <= kMaxCodeOutside && cost.code_in_loops <= kMaxCodeInLoops;
}

bool PaysForRows(const FunctionEmitter& e, const LaneRegion& region, unsigned width) {
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : e.f.at_block(block).insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      if (inst.op == Opcode::kSpecialRegister && NumbersLanes(inst.attrs.special)) return false;
      if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) {
        if (e.f.slots[inst.attrs.index].shape == ir::Level::kWarp) return false;
      }
    }
  }
  return PaysOff(e, region, width);
}

using Threads = LaneRegionOptions::Threads;

std::optional<LaneRegion> FindRegion(const FunctionEmitter& e, ir::BlockId entry, Threads threads,
                                     unsigned width) {
  const LaneRegionOptions options{.private_shared = e.private_shared,
                                  .threads = threads,
                                  .width = width,
                                  .varies_outside = [&](ValueId id) { return e.values.IsVarying(id); }};
  return analysis::FindLaneRegion(e.f, entry, options);
}

bool MayBeVectors(const FunctionEmitter& e) {
  // Locals on the stack are one lane's at a time, or words of all lanes.
  const bool one_lane = e.memory.stack_locals() != nullptr && e.memory.local_granule() == 0;
  return e.m.lane_width != 1 && !one_lane;
}

}  // namespace

std::optional<LanePlan> PlanLanes(const FunctionEmitter& e, ir::BlockId entry) {
  if (!MayBeVectors(e)) return std::nullopt;
  const Threads threads = e.one_dimensional ? Threads::kOneDimensional : Threads::kAnyShape;
  auto region = FindRegion(e, entry, threads, kWarpSize);
  if (!region) return std::nullopt;
  const unsigned width = WidthOf(e, *region, kWarpSize);
  if (width != kWarpSize) region = FindRegion(e, entry, threads, width);
  if (!PaysOff(e, *region, width)) return std::nullopt;
  return LanePlan{std::move(*region), width, e.m.traits.has_avx512};
}

std::optional<LanePlan> PlanRows(const FunctionEmitter& e, ir::BlockId entry) {
  if (!MayBeVectors(e)) return std::nullopt;
  auto region = FindRegion(e, entry, Threads::kRow, kWarpSize);
  if (!region) return std::nullopt;
  const unsigned width = WidthOf(e, *region, e.f.required_threads[0]);
  if (width != kWarpSize) region = FindRegion(e, entry, Threads::kRow, width);
  if (!PaysForRows(e, *region, width)) return std::nullopt;
  return LanePlan{std::move(*region), width, e.m.traits.has_avx512};
}

}  // namespace ptx2cpu::lowering
