// Instructions of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <numeric>

#include "lowering/llvm/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMostOperations = 1500;  // LLVM's time grows faster than the code
constexpr size_t kMostEachLane = 4;

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

bool IsStrong(const ir::Inst& inst) {
  return inst.attrs.order != ir::MemoryOrder::kWeak || (inst.attrs.flags & ir::kVolatile) != 0;
}

size_t Count(const ir::Inst& access) {
  return access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
}

llvm::Align AlignOf(const ir::Inst& access, size_t element) {
  const auto bytes = static_cast<uint64_t>(ir::Bytes(access.type));
  llvm::Align whole(access.attrs.align != 0 ? access.attrs.align : bytes * Count(access));
  return llvm::commonAlignment(whole, element * bytes);
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
  if (IsStrong(inst) || inst.attrs.space == Space::kLocal) return Way::kEachLane;
  const LaneShape address = shape(inst.operands[0]);
  if (address.uniform()) return Way::kScalar;
  const auto bits = static_cast<unsigned>(ir::Bits(inst.type));
  const size_t count = Count(inst);
  if (inst.attrs.space == Space::kParam || bits < 8 || bits > 64 || (bits < 32 && count > 1) || count > 4)
    return Way::kEachLane;
  if (address.affine() && address.stride == static_cast<int64_t>(bits / 8 * count))
    return bits < 32 && address.guess ? Way::kEachLane : Way::kTogether;
  return bits >= 32 ? Way::kApart : Way::kEachLane;
}

bool LaneVectors::Suits(const FunctionEmitter& e, const LaneRegion& region) {
  const ir::Function& f = e.f;
  if (!f.at_block(region.blocks[0]).params.empty()) return false;
  size_t each_lane = 0, operations = 0;
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
      if (WayOf(e, region, inst) != Way::kEachLane) continue;
      if (region.level_of[block.index] != 0 || ++each_lane > kMostEachLane) return false;
    }
  }
  return operations <= kMostOperations;
}

Status LaneVectors::EmitOne(const ir::Inst& inst, const Mask& mask, bool whole_level) {
  if (inst.op == Opcode::kSlotStore) return EmitSlotStore(inst, mask, whole_level);
  if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kResumeWord) return e.EmitInst(inst);
  if (inst.op == Opcode::kFence) return EmitScalar(inst);
  if (WayOf(e, region_, inst) == Way::kEachLane) return EmitEachLane(inst, mask);
  if (inst.op == Opcode::kTexture) return EmitTextures(inst, mask);
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

// -- memory --

Value LaneVectors::FirstPointer(const ir::Inst& inst, Memory* memory) {
  e.step.width = 1;
  e.first_lanes = &first_;
  Value pointer = e.Pointer(inst.attrs.space, inst.operands[0], memory);
  e.first_lanes = nullptr;
  e.step.width = kWarpSize;
  return pointer;
}

// Each lane's bit `count` times, for `count` elements of each lane.
Value LaneVectors::Repeated(Value lanes, size_t count) {
  if (count == 1) return lanes;
  llvm::SmallVector<int, 128> from;
  for (unsigned i = 0; i < kWarpSize * count; ++i) from.push_back(static_cast<int>(i / count));
  return b.CreateShuffleVector(lanes, from);
}

Status LaneVectors::Choose(Value holds, const std::function<Status()>& yes, const std::function<Status()>& no,
                           const std::vector<ValueId>& results) {
  if (holds == nullptr) return yes();
  llvm::BasicBlock *together = e.NewBlock("together"), *apart = e.NewBlock("apart"),
                   *done = e.NewBlock("accessed");
  b.CreateCondBr(holds, together, apart);
  std::vector<std::vector<Value>> values(2);
  llvm::BasicBlock* ends[2];
  for (int way = 0; way < 2; ++way) {
    b.SetInsertPoint(way == 0 ? together : apart);
    TRY_STATUS(way == 0 ? yes() : no());
    for (ValueId id : results) values[static_cast<size_t>(way)].push_back(e.ValueOf(id));
    ends[way] = b.GetInsertBlock();
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  for (size_t i = 0; i < results.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(values[0][i]->getType(), 2);
    for (size_t way = 0; way < 2; ++way) phi->addIncoming(values[way][i], ends[way]);
    SetForms(results[i], {phi, nullptr, nullptr});
  }
  return {};
}

Status LaneVectors::EmitLoad(const ir::Inst& inst, const Mask& mask) {
  for (ValueId result : inst.results) first_[result.index] = holds_[result.index] = nullptr;
  const Way way = WayOf(e, region_, inst);
  if (way == Way::kScalar) return EmitScalar(inst);
  auto apart = [&] {
    Gather(inst, mask);
    return Status{};
  };
  if (way == Way::kApart) return apart();
  auto together = [&] {
    LoadTogether(inst, mask);
    return Status{};
  };
  return Choose(holds_[inst.operands[0].index], together, apart, inst.results);
}

void LaneVectors::LoadTogether(const ir::Inst& inst, const Mask& mask) {
  Memory memory;
  const size_t count = inst.results.size();
  auto* type =
      llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), static_cast<unsigned>(kWarpSize * count));
  Value pointer = FirstPointer(inst, &memory);
  auto* load = b.CreateMaskedLoad(type, pointer, AlignOf(inst, 0), Repeated(mask.lanes, count),
                                  llvm::Constant::getNullValue(type));
  e.m.Annotate(load, memory);
  for (size_t k = 0; k < count; ++k) {
    llvm::SmallVector<int, kWarpSize> from;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) from.push_back(static_cast<int>(lane * count + k));
    e.SetValue(inst.results[k], count == 1 ? static_cast<Value>(load) : b.CreateShuffleVector(load, from));
  }
}

void LaneVectors::Gather(const ir::Inst& inst, const Mask& mask) {
  Memory memory;
  Value pointers = e.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  llvm::Type* type = VectorOf(e.m.MemoryTypeOf(inst.type));
  for (size_t k = 0; k < inst.results.size(); ++k) {
    Value from = k == 0 ? pointers : b.CreateConstGEP1_64(b.getInt8Ty(), pointers, k * bytes);
    auto* load =
        b.CreateMaskedGather(type, from, AlignOf(inst, k), mask.lanes, llvm::Constant::getNullValue(type));
    e.m.Annotate(load, memory);
    e.SetValue(inst.results[k], load);
  }
}

Status LaneVectors::EmitStore(const ir::Inst& inst, const Mask& mask) {
  const Way way = WayOf(e, region_, inst);
  if (way == Way::kScalar) return StoreLast(inst, mask);
  auto apart = [&] {
    Scatter(inst, mask);
    return Status{};
  };
  if (way == Way::kApart) return apart();
  auto together = [&] {
    StoreTogether(inst, mask);
    return Status{};
  };
  return Choose(holds_[inst.operands[0].index], together, apart, {});
}

// All lanes store to one place: the last one's value stays.
Status LaneVectors::StoreLast(const ir::Inst& inst, const Mask& mask) {
  std::vector<std::pair<ValueId, Value>> saved;
  Value last = nullptr;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    Forms forms = FormsOf(inst.operands[i]);
    bool known = std::ranges::any_of(saved, [&](const auto& pair) { return pair.first == inst.operands[i]; });
    if (!forms.value->getType()->isVectorTy() || known) continue;
    if (last == nullptr)
      last = b.CreateSub(b.getInt32(31),
                         b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, Bits(mask), b.getTrue()));
    saved.push_back({inst.operands[i], forms.value});
    e.SetValue(inst.operands[i], b.CreateExtractElement(forms.value, last));
  }
  std::vector<Value> firsts;  // not of the values
  for (auto& [id, value] : saved) firsts.push_back(std::exchange(first_[id.index], nullptr));
  TRY_STATUS(EmitScalar(inst));
  for (size_t i = 0; i < saved.size(); ++i) {
    e.SetValue(saved[i].first, saved[i].second);
    first_[saved[i].first.index] = firsts[i];
  }
  return {};
}

void LaneVectors::StoreTogether(const ir::Inst& inst, const Mask& mask) {
  Memory memory;
  const size_t count = inst.operands.size() - 1;
  Value pointer = FirstPointer(inst, &memory);
  Value whole = Vector(e.ValueOf(inst.operands[1]));
  // All lanes' first elements, then all second ones ..., brought into the order of memory.
  if (count > 1) {
    llvm::SmallVector<int, 64> pair(2 * kWarpSize);
    std::iota(pair.begin(), pair.end(), 0);
    auto two = [&](size_t k) {
      Value first = Vector(e.ValueOf(inst.operands[k]));
      Value second =
          k < count ? Vector(e.ValueOf(inst.operands[k + 1])) : llvm::PoisonValue::get(first->getType());
      return b.CreateShuffleVector(first, second, pair);
    };
    whole = two(1);
    if (count > 2) {
      llvm::SmallVector<int, 128> four(4 * kWarpSize);
      std::iota(four.begin(), four.end(), 0);
      whole = b.CreateShuffleVector(whole, two(3), four);
    }
    llvm::SmallVector<int, 128> order;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      for (unsigned k = 0; k < count; ++k) order.push_back(static_cast<int>(k * kWarpSize + lane));
    }
    whole = b.CreateShuffleVector(whole, order);
  }
  auto* store = b.CreateMaskedStore(whole, pointer, AlignOf(inst, 0), Repeated(mask.lanes, count));
  e.m.Annotate(store, memory);
}

void LaneVectors::Scatter(const ir::Inst& inst, const Mask& mask) {
  Memory memory;
  Value pointers = e.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  for (size_t k = 0; k + 1 < inst.operands.size(); ++k) {
    Value to = k == 0 ? pointers : b.CreateConstGEP1_64(b.getInt8Ty(), pointers, k * bytes);
    auto* store =
        b.CreateMaskedScatter(Vector(e.ValueOf(inst.operands[k + 1])), to, AlignOf(inst, k), mask.lanes);
    e.m.Annotate(store, memory);
  }
}

// -- slots --

Status LaneVectors::EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level) {
  const ir::Slot& slot = f.slots[inst.attrs.index];
  Value value = e.ValueOf(inst.operands[0]), address = e.SlotAddress(inst.attrs.index);
  const bool lanes = slot.shape == ir::Level::kLane;
  if (lanes) value = Vector(value);
  if (!lanes && value->getType()->isVectorTy()) {  // a uniform slot: any lane's value
    value = b.CreateExtractElement(value,
                                   b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getTrue()));
  }
  if (slot.type == ir::Type::kI1) value = b.CreateZExt(value, ShapedLike(value, b.getInt8Ty()));
  const auto bytes = static_cast<uint64_t>(ir::Bytes(slot.type));
  const llvm::Align align(std::min<uint64_t>(bytes * (lanes ? kWarpSize : 1), 64));
  // Lanes that are elsewhere keep theirs; those that have exited need none.
  if (lanes && (!whole_level || f.parked_slot != ~0u)) {
    value = b.CreateSelect(mask.lanes, value, e.LoadPlain(value->getType(), address, align, Memory::kSlot));
  }
  e.StorePlain(value, address, align, Memory::kSlot);
  return {};
}

}  // namespace ptx2cpu::lowering
