// Instructions of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMostOperations = 1500;  // LLVM's time grows faster than the code
constexpr size_t kMostEachLane = 4;       // outside of loops
constexpr size_t kMostEachLaneOfTexture =
    3;  // more for each texture instruction of the same loop: it gains more than they cost

// Operations on vectors that stand for one instruction, roughly.
size_t OperationsOf(const ir::Inst& inst) {
  switch (inst.op) {
    case Opcode::kDivS:
    case Opcode::kDivU:
    case Opcode::kRemS:
    case Opcode::kRemU:
      return 30;
    case Opcode::kMulHiS:
    case Opcode::kMulHiU:
      return 4;
    default:
      return ir::Bits(inst.type) > 64 ? 8 : 1;
  }
}

size_t Count(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

bool IsOfWarps(ir::Special special) {
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

}  // namespace

// -- what an instruction becomes --

LaneVectors::Way LaneVectors::WayOf(const FunctionEmitter& e, const LaneRegion& region,
                                    const ir::Inst& inst) {
  const ir::Function& f = e.f;
  auto shape = [&](ValueId value) -> LaneShape {
    ir::BlockId made = f.at_value(value).block;
    if (made.valid() && region.level_of[made.index] != LaneRegion::kNone) return region.shapes[value.index];
    return {.kind = e.IsVarying(value) ? LaneShape::Kind::kVarying : LaneShape::Kind::kUniform};
  };
  switch (inst.op) {
    case Opcode::kSlotLoad:
    case Opcode::kSlotStore:
    case Opcode::kResumeWord:
      return Way::kTogether;
    case Opcode::kFence:
      return Way::kScalar;
    case Opcode::kTexture:
      return Way::kTogether;
    case Opcode::kSurfaceAddress:
      return shape(inst.operands[0]).uniform() ? Way::kTogether : Way::kEachLane;
    case Opcode::kIsSpace:
    case Opcode::kToGeneric:
    case Opcode::kFromGeneric: {
      bool window = inst.op != Opcode::kIsSpace && inst.attrs.space != Space::kLocal &&
                    inst.attrs.space != Space::kSharedCluster;
      return window || shape(inst.results[0]).uniform() ? Way::kTogether : Way::kEachLane;
    }
    case Opcode::kLoad:
    case Opcode::kStore:
      break;
    default:
      return ir::Info(inst.op).effect == ir::Effect::kPure ? Way::kTogether : Way::kEachLane;
  }
  if (analysis::IsStrong(inst, e.private_shared) || inst.attrs.space == Space::kLocal) return Way::kEachLane;
  const LaneShape address = shape(inst.operands[0]);
  if (address.uniform()) return Way::kScalar;
  const auto bits = static_cast<unsigned>(ir::Bits(inst.type));
  const size_t count = Count(inst);
  if (inst.attrs.space == Space::kParam || bits < 8 || bits > 64 || (bits < 32 && count > 1) || count > 4)
    return Way::kEachLane;
  if (address.affine() && address.stride == static_cast<int64_t>(bits / 8 * count)) return Way::kTogether;
  // Sequences that parted lanes have brought together mostly are one still (where every lane took as many
  // trips).
  if (address.kind == LaneShape::Kind::kVarying && count == 1 &&
      !ComesFromMemory(f, inst.operands[0], kDepth))
    return Way::kMaybeTogether;
  return bits >= 32 ? Way::kApart : Way::kEachLane;
}

bool LaneVectors::Suits(const FunctionEmitter& e, const LaneRegion& region) {
  const ir::Function& f = e.f;
  if (!f.at_block(region.blocks[0]).params.empty()) return false;
  size_t operations = 0;
  std::vector<size_t> each_lane(region.levels.size()), allowed(region.levels.size());
  allowed[0] = kMostEachLane;
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (ir::IsTerminator(inst.op)) {
        if (!IsTerminatorOfLanes(inst.op)) return false;
        continue;
      }
      operations += OperationsOf(inst);
      // There a lane that fails in a callee ends alone, with its own code.
      if (inst.op == Opcode::kCall && e.NobodyWaits()) return false;
      for (ValueId result : inst.results) {
        if (ir::Bits(f.type_of(result)) > 64 && !region.shapes[result.index].uniform()) return false;
      }
      const uint32_t level = region.level_of[block.index];
      if (inst.op == Opcode::kTexture) allowed[level] += kMostEachLaneOfTexture;
      if (WayOf(e, region, inst) == Way::kEachLane) ++each_lane[level];
    }
  }
  for (size_t level = 0; level < allowed.size(); ++level) {
    if (each_lane[level] > allowed[level]) return false;
  }
  return operations <= kMostOperations;
}

// LLVM makes vectors of the loop over threads where they have no loop of their own and it sees where most
// accesses lie.
bool LaneVectors::SuitsRows(const FunctionEmitter& e, const LaneRegion& region) {
  if (e.f.has_early_exit) return false;
  size_t plain = 0, to_be_seen = 0;
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : e.f.at_block(block).insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
        const Way way = WayOf(e, region, inst);
        to_be_seen += way == Way::kMaybeTogether;
        plain += way == Way::kTogether;
      }
      if (inst.op == Opcode::kSpecialRegister && IsOfWarps(inst.attrs.special)) return false;
      if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) {
        if (e.f.slots[inst.attrs.index].shape == ir::Level::kWarp) return false;
      }
    }
  }
  const bool has_loops = region.levels.size() > 1;
  return (has_loops || to_be_seen > plain) && Suits(e, region);
}

Status LaneVectors::EmitOne(const ir::Inst& inst, const Mask& mask, bool whole_level) {
  if (inst.op == Opcode::kSlotStore) return EmitSlotStore(inst, mask, whole_level);
  if (inst.op == Opcode::kSlotLoad && OfRow()) return LoadSlotOfRow(inst, mask);
  if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kResumeWord) return e.EmitInst(inst);
  if (inst.op == Opcode::kFence) return EmitScalar(inst);
  if (WayOf(e, region_, inst) == Way::kEachLane) return EmitEachLane(inst, mask);
  if (inst.op == Opcode::kTexture) return EmitTextures(inst, mask);
  if (inst.op == Opcode::kSurfaceAddress) return EmitSurfaceAddresses(inst, mask);
  if (inst.op == Opcode::kLoad) return EmitLoad(inst, mask);
  if (inst.op == Opcode::kStore) return EmitStore(inst, mask);
  return EmitPure(inst);
}

// -- computations --

Status LaneVectors::EmitScalar(const ir::Inst& inst) {
  e.step.width = 1;
  e.first_lanes = &first_;
  Status status = e.EmitInst(inst);
  e.first_lanes = nullptr;
  e.step.width = kWarpSize;
  return status;
}

Status LaneVectors::EmitPure(const ir::Inst& inst) {
  for (ValueId result : inst.results) first_[result.index] = holds_[result.index] = nullptr;
  const bool uniform = std::ranges::all_of(inst.results, [&](ValueId r) { return ShapeOf(r).uniform(); });
  if (uniform) return EmitScalar(inst);
  TRY_STATUS(e.EmitInst(inst));
  if (inst.results.size() != 1 || !ShapeOf(inst.results[0]).affine()) return {};
  const ValueId result = inst.results[0];
  Value vector = e.ValueOf(result), holds = nullptr;
  for (ValueId operand : inst.operands) {
    Value other = holds_[operand.index];
    if (other != nullptr) holds = holds == nullptr ? other : b.CreateLogicalAnd(holds, other);
  }
  if (inst.op == Opcode::kZext || inst.op == Opcode::kSext) {
    Value widened = HoldsWidened(inst, first_[inst.operands[0].index]);
    if (widened != nullptr) holds = holds == nullptr ? widened : b.CreateLogicalAnd(holds, widened);
  }
  TRY_STATUS(EmitScalar(inst));
  SetForms(result, {vector, e.ValueOf(result), holds});
  return {};
}

// A 32-bit sequence is one of 64 bits too where it does not wrap around.
Value LaneVectors::HoldsWidened(const ir::Inst& inst, Value first) {
  const LaneShape& shape = ShapeOf(inst.results[0]);
  if (!shape.guess) return nullptr;
  const int64_t way = shape.stride * (kWarpSize - 1);
  const bool is_signed = inst.op == Opcode::kSext;
  if (way < 0) {
    Value least = b.getInt32(static_cast<uint32_t>((is_signed ? int64_t{INT32_MIN} : 0) - way));
    return is_signed ? b.CreateICmpSGE(first, least) : b.CreateICmpUGE(first, least);
  }
  Value most =
      b.getInt32(static_cast<uint32_t>((is_signed ? int64_t{INT32_MAX} : int64_t{UINT32_MAX}) - way));
  return is_signed ? b.CreateICmpSLE(first, most) : b.CreateICmpULE(first, most);
}

// -- lane by lane --

Status LaneVectors::EmitEachLane(const ir::Inst& inst, const Mask& mask) {
  struct Passed {
    ValueId id;
    Value whole;
    llvm::AllocaInst* array;
  };
  auto array = [&](ValueId id) { return e.Scratch(e.m.MemoryTypeOf(f.type_of(id)), kWarpSize); };
  std::vector<Passed> operands, results;
  for (ValueId id : inst.operands) {
    Value value = e.ValueOf(id);
    bool known = std::ranges::any_of(operands, [&](const Passed& p) { return p.id == id; });
    if (!value->getType()->isVectorTy() || known) continue;
    operands.push_back({id, value, array(id)});
    if (f.type_of(id) == ir::Type::kI1) value = b.CreateZExt(value, VectorOf(b.getInt8Ty()));
    b.CreateAlignedStore(value, operands.back().array, llvm::Align(64));
  }
  for (ValueId id : inst.results) {
    results.push_back({id, nullptr, array(id)});
    b.CreateAlignedStore(llvm::Constant::getNullValue(VectorOf(e.m.MemoryTypeOf(f.type_of(id)))),
                         results.back().array, llvm::Align(64));
  }
  auto element = [&](const Passed& passed, Value lane) {
    return b.CreateInBoundsGEP(e.m.MemoryTypeOf(f.type_of(passed.id)), passed.array, lane);
  };
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.NewBlock("each_lane"),
                   *inside = e.NewBlock("lane"), *after = e.NewBlock("after");
  Value lanes = Bits(mask);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* rest = b.CreatePHI(b.getInt32Ty(), 2, "rest");
  rest->addIncoming(lanes, before);
  b.CreateCondBr(b.CreateICmpNE(rest, b.getInt32(0)), inside, after);
  b.SetInsertPoint(inside);
  Value lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, b.getTrue(), nullptr, "lane");
  LaneStep saved = e.step;
  e.step.width = 1;
  e.step.lane = lane;
  e.step.thread = b.CreateAdd(saved.thread, lane, "thread", true, true);
  if (OfRow()) e.step.tid[0] = b.CreateAdd(saved.tid[0], lane, "tid.x", true, true);
  e.step.end = e.step.exit = nullptr;
  for (const Passed& operand : operands) {
    Value value = b.CreateLoad(e.m.MemoryTypeOf(f.type_of(operand.id)), element(operand, lane));
    e.SetValue(operand.id,
               f.type_of(operand.id) == ir::Type::kI1 ? b.CreateICmpNE(value, Literal(value, 0)) : value);
  }
  TRY_STATUS(e.EmitInst(inst));
  for (const Passed& result : results) {
    Value value = e.ValueOf(result.id);
    if (f.type_of(result.id) == ir::Type::kI1) value = b.CreateZExt(value, b.getInt8Ty());
    b.CreateStore(value, element(result, lane));
  }
  for (const Passed& operand : operands) e.SetValue(operand.id, operand.whole);
  e.step = saved;
  rest->addIncoming(b.CreateAnd(rest, b.CreateSub(rest, b.getInt32(1))), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
  for (const Passed& result : results) {
    Value all =
        b.CreateAlignedLoad(VectorOf(e.m.MemoryTypeOf(f.type_of(result.id))), result.array, llvm::Align(64));
    if (f.type_of(result.id) == ir::Type::kI1) all = b.CreateICmpNE(all, Literal(all, 0));
    SetForms(result.id, {all, nullptr, nullptr});
  }
  return {};
}

}  // namespace ptx2cpu::lowering
