// Prefetching in loops that stride by the grid: each trip is elsewhere in memory, which processors do not
// foresee as they do what is read in order.
//
//   for i = first; i < n; i += grid: v = x[i + lane ..]
//   ->   the same, and if (i + 8 * grid < n) prefetch x[i + 8 * grid + lane ..]
//
// And where all threads of a block take a trip before the next one begins and work is done lane by lane: that
// is longer than the window of instructions in which processors read ahead.
//
//   for trip n: for lanes: v = x[n * stride + lane ..]; update shared[v] lane by lane
//   ->   the same, and prefetch x[(n + 4) * stride + lane ..]
//
// And where the threads of a block together read rows of a matrix, as products by tiles do: rows that are a
// multiple of a page apart share few sets of a cache, and no processor foresees the first line of a page.
//
//   for trip k: for rows y: for lanes: tile[y][lane] = x[(k + y) * n + lane ..]; barrier; work on the tile
//   ->   the same, and prefetch x[(k + step + y) * n + lane ..] where there is such a trip
//
// And what the next block reads first, where each block reads a page or half of one.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr int kTripsAhead = 4;
constexpr unsigned kLinesAhead = 64, kMaxTripsAhead = 16;  // of loops that stride by the grid
constexpr int kDepth = 10;
constexpr int64_t kMinBytesOfBlock = 2048,
                  kMaxBytesOfBlock = 16384;  // of what neighbouring blocks read of an array

const ir::Inst* DefinitionOf(const ir::Function& f, ValueId id) {
  const ir::InstId def = f.at_value(id).def;
  return def.valid() ? &f.at_inst(def) : nullptr;
}

std::optional<int64_t> ConstantOf(const ir::Function& f, ValueId id) {
  const ir::Inst* def = DefinitionOf(f, id);
  if (def == nullptr || def->op != Opcode::kConst) return std::nullopt;
  return static_cast<int64_t>(def->attrs.bits);
}

// The same of what the block's shape decides.
std::optional<int64_t> NumberKnown(const FunctionEmitter& e, ValueId id) {
  const ir::Inst* def = DefinitionOf(e.f, id);
  if (def != nullptr && def->op == Opcode::kSpecialRegister && def->attrs.special == ir::Special::kNtidX &&
      e.f.required_threads[0] != 0)
    return e.f.required_threads[0];
  return ConstantOf(e.f, id);
}

std::optional<int64_t> Times(std::optional<int64_t> value, int64_t factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

// The only value that a parameter of a block can have, if the block is entered over one edge.
std::optional<ValueId> OnlyArgument(const ir::Function& f, ValueId param) {
  const ir::BlockId block = f.at_value(param).block;
  const auto place = std::ranges::find(f.at_block(block).params, param);
  if (place == f.at_block(block).params.end()) return std::nullopt;
  const auto number = static_cast<size_t>(place - f.at_block(block).params.begin());
  std::optional<ValueId> only;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) {
      if (edge.to != block) continue;
      if (only) return std::nullopt;
      only = edge.args[number];
    }
  }
  return only;
}

// What is added to the slot where a trip ends: the one store of a sum of it.
std::optional<ValueId> StepOf(const ir::Function& f, uint32_t slot) {
  std::optional<ValueId> step;
  for (const ir::Inst& store : f.insts) {
    if (!store.block.valid() || store.op != Opcode::kSlotStore || store.attrs.index != slot) continue;
    const ir::Inst* sum = DefinitionOf(f, store.operands[0]);
    if (sum == nullptr || sum->op != Opcode::kAdd) continue;
    for (size_t i = 0; i < 2; ++i) {
      const ir::Inst* old = DefinitionOf(f, sum->operands[i]);
      if (old == nullptr || old->op != Opcode::kSlotLoad || old->attrs.index != slot) continue;
      if (step) return std::nullopt;
      step = sum->operands[1 - i];
      break;
    }
  }
  return step;
}

// The parameter of a loop's head that each further trip increases, and by what.
std::optional<ValueId> StepOfParam(const ir::Function& f, ValueId param) {
  const ir::BlockId head = f.at_value(param).block;
  const auto place = std::ranges::find(f.at_block(head).params, param);
  if (place == f.at_block(head).params.end()) return std::nullopt;
  const auto number = static_cast<size_t>(place - f.at_block(head).params.begin());
  std::optional<ValueId> step;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) {
      if (edge.to != head) continue;
      const ir::Inst* sum = DefinitionOf(f, edge.args[number]);
      if (sum == nullptr || sum->op != Opcode::kAdd) continue;
      const auto old = std::ranges::find(sum->operands, param);
      if (old == sum->operands.end()) continue;
      if (step) return std::nullopt;
      step = sum->operands[old == sum->operands.begin() ? 1 : 0];
    }
  }
  return step;
}

bool DependsOnGrid(const ir::Function& f, ValueId id, int depth) {
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr || depth == 0) return false;
  if (inst->op == Opcode::kSpecialRegister)
    return inst->attrs.special == ir::Special::kNctaidX || inst->attrs.special == ir::Special::kNctaidY;
  return std::ranges::any_of(inst->operands,
                             [&](ValueId operand) { return DependsOnGrid(f, operand, depth - 1); });
}

// A counter in a sum: a slot of the block or the parameter of a loop, and how often it is in it. Widening and
// wrapping around are ignored: where that matters, other memory is prefetched.
struct Counter {
  ValueId step;
  int64_t factor = 1;
  std::vector<ValueId> factors = {};  // further ones
  std::optional<ValueId> param = {};  // none: a slot
  ValueId now = {};                   // of a slot: what was read of it
};

std::optional<Counter> CounterIn(const ir::Function& f, ValueId id, int depth) {
  if (depth == 0) return std::nullopt;
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr) {
    if (const std::optional<ValueId> only = OnlyArgument(f, id)) return CounterIn(f, *only, depth - 1);
    const std::optional<ValueId> step = StepOfParam(f, id);
    return step ? std::optional(Counter{*step, 1, {}, id, {}}) : std::nullopt;
  }
  auto times = [&](ValueId value, int64_t factor) {
    auto counter = CounterIn(f, value, depth - 1);
    if (counter) counter->factor *= factor;
    return counter;
  };
  if (inst->op == Opcode::kSlotLoad && f.slots[inst->attrs.index].shape == ir::Level::kBlock) {
    const std::optional<ValueId> step = StepOf(f, inst->attrs.index);
    return step ? std::optional(Counter{*step, 1, {}, {}, id}) : std::nullopt;
  }
  if (inst->op == Opcode::kZext || inst->op == Opcode::kSext || inst->op == Opcode::kToGeneric ||
      inst->op == Opcode::kFromGeneric)
    return times(inst->operands[0], 1);
  if (inst->op == Opcode::kShl) {
    const auto by = ConstantOf(f, inst->operands[1]);
    return by && *by >= 0 && *by < 32 ? times(inst->operands[0], int64_t{1} << *by) : std::nullopt;
  }
  if (inst->op == Opcode::kMul) {
    for (size_t i = 0; i < 2; ++i) {
      if (const auto factor = ConstantOf(f, inst->operands[i])) return times(inst->operands[1 - i], *factor);
    }
    auto first = times(inst->operands[0], 1), second = times(inst->operands[1], 1);
    if (first.has_value() == second.has_value()) return std::nullopt;
    auto& counter = first ? first : second;
    counter->factors.push_back(inst->operands[first ? 1 : 0]);
    return counter;
  }
  if (inst->op == Opcode::kAdd) {
    const auto first = times(inst->operands[0], 1), second = times(inst->operands[1], 1);
    if (first && second) return std::nullopt;
    return first ? first : second;
  }
  return std::nullopt;
}

// By how many bytes an address differs between neighbouring blocks of a row of the grid; null: that is not
// known.
std::optional<int64_t> BytesOfBlock(const FunctionEmitter& e, ValueId id, int depth) {
  const ir::Inst* inst = DefinitionOf(e.f, id);
  if (inst == nullptr || depth == 0) return 0;
  const auto of = [&](size_t n) { return BytesOfBlock(e, inst->operands[n], depth - 1); };
  if (inst->op == Opcode::kSpecialRegister) return inst->attrs.special == ir::Special::kCtaidX ? 1 : 0;
  if (inst->op == Opcode::kZext || inst->op == Opcode::kSext) return of(0);
  if (inst->op == Opcode::kAdd || inst->op == Opcode::kSub || inst->op == Opcode::kOr) {
    const auto first = of(0), second = of(1);
    if (!first || !second || (inst->op != Opcode::kAdd && *second != 0)) return std::nullopt;
    return *first + *second;
  }
  if (inst->op == Opcode::kShl || inst->op == Opcode::kMul) {
    for (size_t n = 0; n < 2; ++n) {
      const auto factor = NumberKnown(e, inst->operands[1 - n]);
      if (factor && inst->op == Opcode::kMul) return Times(of(n), *factor);
      if (factor && n == 0 && *factor >= 0 && *factor < 32) return Times(of(0), int64_t{1} << *factor);
    }
  }
  for (size_t n = 0; n < inst->operands.size(); ++n) {
    if (of(n) != 0) return std::nullopt;
  }
  return 0;
}

// What decides whether a loop goes on: a parameter of its head after a step is compared with a bound.
struct Test {
  ValueId param, step, bound;
};

std::optional<Test> TestOf(const ir::Function& f, ir::BlockId head) {
  for (ValueId param : f.at_block(head).params) {
    const std::optional<ValueId> step = StepOfParam(f, param);
    if (!step) continue;
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid() || inst.op != Opcode::kIcmp) continue;
      const ir::Inst* sum = DefinitionOf(f, inst.operands[0]);
      if (sum == nullptr || sum->op != Opcode::kAdd) continue;
      if (std::ranges::find(sum->operands, param) != sum->operands.end() &&
          std::ranges::find(sum->operands, *step) != sum->operands.end())
        return Test{param, *step, inst.operands[1]};
    }
  }
  return std::nullopt;
}

// The bound of a loop whose counter is a slot: what the sum of the slot and its step is compared with.
std::optional<ValueId> BoundOfSlot(const ir::Function& f, const Counter& counter) {
  const uint32_t slot = DefinitionOf(f, counter.now)->attrs.index;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid() || inst.op != Opcode::kIcmp) continue;
    const ir::Inst* sum = DefinitionOf(f, inst.operands[0]);
    if (sum == nullptr || sum->op != Opcode::kAdd) continue;
    if (std::ranges::any_of(sum->operands, [&](ValueId operand) {
          const ir::Inst* old = DefinitionOf(f, operand);
          return old != nullptr && old->op == Opcode::kSlotLoad && old->attrs.index == slot;
        }))
      return inst.operands[1];
  }
  return std::nullopt;
}

}  // namespace

bool LaneVectors::WorksLaneByLane() const {
  return std::ranges::any_of(region_.blocks, [&](ir::BlockId block) {
    return std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      return inst.op == Opcode::kAtomic && FormOf(e, region_, inst) == LaneForm::kEachLane;
    });
  });
}

// A pure value of block-level code, computed here. Null: it is not made of what is the same everywhere.
Value LaneVectors::AtBlockLevel(ValueId id, ValueMap::Overrides& values) {
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr) return nullptr;
  const bool parameter = inst->op == Opcode::kLoad && inst->attrs.space == ir::Space::kParam;
  if (ir::Info(inst->op).effect != ir::Effect::kPure && !parameter) return nullptr;
  if (inst->op == Opcode::kSpecialRegister && Info(inst->attrs.special).varies == ir::Varies::kAffineInTid)
    return nullptr;
  for (ValueId operand : inst->operands) {
    if (AtBlockLevel(operand, values) == nullptr) return nullptr;
  }
  for (ValueId result : inst->results) values.Set(result, ShapedValue{});
  if (!e.EmitInst(*inst)) return nullptr;
  return e.values.Get(id);
}

Value LaneVectors::SameEverywhere(ValueId id) {
  CurrentStep::Scope scope(e.step, ScalarStep());
  ValueMap::Overrides values(e.values);
  Value value = AtBlockLevel(id, values);
  return value == nullptr || value->getType()->isVectorTy() ? nullptr : value;
}

// Whether the loop's test holds after so many trips; null: unknown. Memory past the end may not be mapped,
// and then each prefetch walks the page table in vain.
Value LaneVectors::GoesOn(ir::BlockId head, unsigned trips) {
  const auto test = TestOf(f, head);
  if (!test) return nullptr;
  const ShapedValue now = e.values.Shaped(test->param);
  Value first = now.first != nullptr ? now.first : now.value;
  Value step = SameEverywhere(test->step), bound = SameEverywhere(test->bound);
  if (step == nullptr || bound == nullptr) return nullptr;
  if (first->getType() != bound->getType() || first->getType() != step->getType()) return nullptr;
  return b.CreateICmpULT(b.CreateAdd(first, b.CreateMul(step, Literal(step, trips))), bound);
}

// By how many bytes the counter's steps move an address in so many trips; null: unknown.
Value LaneVectors::BytesOf(ValueId step, int64_t factor, std::span<const ValueId> factors, unsigned trips) {
  Value bytes = b.getInt64(static_cast<uint64_t>(factor * trips));
  auto multiply = [&](ValueId by) {
    Value value = SameEverywhere(by);
    if (value == nullptr) return false;
    bytes = b.CreateMul(bytes, b.CreateSExtOrTrunc(value, b.getInt64Ty()));
    return true;
  };
  return multiply(step) && std::ranges::all_of(factors, multiply) ? bytes : nullptr;
}

void LaneVectors::PrefetchLines(Value pointer, unsigned length) {
  for (unsigned line = 0; line < length; line += 64) {
    Value at = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, line);
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                      {at, b.getInt32(0), b.getInt32(3), b.getInt32(1)});
  }
}

// Without a branch: after the last trip it is what was just read.
void LaneVectors::PrefetchNextRows(Value pointer, const ir::Inst& load, unsigned length) {
  const auto counter = CounterIn(f, load.operands[0], kDepth);
  const auto bound = BoundOfSlot(f, *counter);
  Value bytes = BytesOf(counter->step, counter->factor, counter->factors, 1);
  if (!bound || bytes == nullptr) return;
  const ShapedValue now = e.values.Shaped(counter->now);
  Value first = now.first != nullptr ? now.first : now.value;
  Value step = SameEverywhere(counter->step), last = SameEverywhere(*bound);
  if (first == nullptr || step == nullptr || last == nullptr) return;
  if (first->getType() != last->getType() || first->getType() != step->getType()) return;
  Value goes_on = b.CreateICmpULT(b.CreateAdd(first, step), last);
  bytes = b.CreateSelect(goes_on, bytes, b.getInt64(0));
  PrefetchLines(b.CreateGEP(b.getInt8Ty(), pointer, bytes), length);
}

// What the next block reads first: where blocks of half a page or more read what follows each other, each
// block is on another page, where processors foresee nothing, and waits before it has anything to do. In the
// last block it is what was just read.
void LaneVectors::PrefetchNextBlock(const ir::Inst& load, Value pointer) {
  const std::optional<int64_t> bytes = BytesOfBlock(e, load.operands[0], 2 * kDepth);
  const bool is_once =
      f.required_threads[0] >= width_ && f.required_threads[1] == 1 && region_.levels.size() == 1;
  if (!bytes || !is_once || *bytes < kMinBytesOfBlock || *bytes > kMaxBytesOfBlock) return;
  const unsigned length = width_ * static_cast<unsigned>(ir::Bytes(load.type) * load.results.size());
  Value place = e.body.Field(offsetof(ptx2cpu_block, ctaid), b.getInt32Ty(), "ctaid.x");
  Value count = e.body.Field(offsetof(ptx2cpu_block, nctaid), b.getInt32Ty(), "nctaid.x");
  Value goes_on = b.CreateICmpULT(b.CreateAdd(place, b.getInt32(1)), count);
  Value distance = b.CreateSelect(goes_on, b.getInt64(static_cast<uint64_t>(*bytes)), b.getInt64(0));
  PrefetchLines(b.CreateGEP(b.getInt8Ty(), pointer, distance), length);
}

void LaneVectors::PrefetchLaterTrips(const ir::Inst& load, Value pointer) {
  if (load.attrs.space != ir::Space::kGlobal) return;
  const auto counter = CounterIn(f, load.operands[0], kDepth);
  if (!counter) return PrefetchNextBlock(load, pointer);
  const unsigned length = width_ * static_cast<unsigned>(ir::Bytes(load.type) * load.results.size());
  unsigned trips = kTripsAhead;
  Value goes_on = nullptr;
  if (counter->param) {
    if (!DependsOnGrid(f, counter->step, kDepth)) return;
    trips = std::clamp<unsigned>(kLinesAhead * 64 / length, kTripsAhead, kMaxTripsAhead);
    goes_on = GoesOn(f.at_value(*counter->param).block, trips);
    if (goes_on == nullptr) return;
  } else if (is_wide_ || !WorksLaneByLane()) {
    const bool reads_rows = f.required_threads[0] >= width_ && f.required_threads[1] > 1;
    return reads_rows ? PrefetchNextRows(pointer, load, length) : void();
  }
  Value bytes = BytesOf(counter->step, counter->factor, counter->factors, trips);
  if (bytes == nullptr) return;
  Value later = b.CreateGEP(b.getInt8Ty(), pointer, bytes);
  llvm::BasicBlock* after = nullptr;
  if (goes_on != nullptr) {
    llvm::BasicBlock* prefetch = e.body.NewBlock("prefetch");
    after = e.body.NewBlock("prefetched");
    b.CreateCondBr(goes_on, prefetch, after);
    b.SetInsertPoint(prefetch);
  }
  PrefetchLines(later, length);
  if (after == nullptr) return;
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

}  // namespace ptx2cpu::lowering
