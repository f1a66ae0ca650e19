// Prefetching in loops that stride by the grid: each trip is at another place in memory, which hardware
// prefetchers do not predict.
//
//   for i = first; i < n; i += grid: v = x[i + lane ..]
//   ->   the same, and if (i + 8 * grid < n) prefetch x[i + 8 * grid + lane ..]
//
// The next trip where the loop is outside the threads.
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
// And where each block of threads has rows of a matrix of its own, in a few places at a time:
//
//   block n: for trips k: v = x[(n * 4 + row) * length + k + lane ..]
//   ->   the same, and prefetch x[((n + 1) * 4 + row) * length + k + lane ..] where there is such a block
//
// or reads a page or half of one.
//
// And what atomics update at each lane's own place: a processor begins no access while a locked one waits for
// memory, so all lanes' lines are asked for before the first lane's turn.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "lowering/llvm/lanes/counters.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr int kTripsAhead = 4;
constexpr unsigned kLinesAhead = 64, kMaxTripsAhead = 16;  // of loops that stride by the grid
constexpr unsigned kMaxLinesOfRow = 16;
constexpr int64_t kMinBytesOfBlock = 2048,
                  kMaxBytesOfBlock = 16384;  // of what neighbouring blocks read of an array

}  // namespace

bool LanePrefetch::WorksLaneByLane() const {
  return std::ranges::any_of(region_.blocks, [&](ir::BlockId block) {
    return std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      return inst.op == Opcode::kAtomic && FormOf(e, region_, inst) == LaneForm::kEachLane;
    });
  });
}

// A pure value of block-level code, computed here. Null: it is not made of what is the same everywhere.
Value LanePrefetch::AtBlockLevel(ValueId id, ValueMap::Overrides& values) {
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

Value LanePrefetch::SameEverywhere(ValueId id) {
  CurrentStep::Scope scope(e.step, ScalarStep());
  ValueMap::Overrides values(e.values);
  Value value = AtBlockLevel(id, values);
  return value == nullptr || value->getType()->isVectorTy() ? nullptr : value;
}

// Whether the loop's test holds after this many trips; null: unknown. Memory past the end may not be mapped,
// and then each prefetch walks the page table without effect.
Value LanePrefetch::GoesOn(ir::BlockId head, unsigned trips) {
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
Value LanePrefetch::BytesOf(ValueId step, int64_t factor, std::span<const ValueId> factors, unsigned trips) {
  Value bytes = b.getInt64(static_cast<uint64_t>(factor * trips));
  auto multiply = [&](ValueId by) {
    Value value = SameEverywhere(by);
    if (value == nullptr) return false;
    bytes = b.CreateMul(bytes, b.CreateSExtOrTrunc(value, b.getInt64Ty()));
    return true;
  };
  return multiply(step) && std::ranges::all_of(factors, multiply) ? bytes : nullptr;
}

void LanePrefetch::PrefetchLines(Value pointer, unsigned length, unsigned locality, bool to_write) {
  for (unsigned line = 0; line < length; line += 64) {
    Value at = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, line);
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                      {at, b.getInt32(to_write ? 1 : 0), b.getInt32(locality), b.getInt32(1)});
  }
}

// Without a branch: after the last trip it is what was just read.
void LanePrefetch::PrefetchNextRows(Value pointer, const ir::Inst& load, unsigned length) {
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

// By how many bytes the next block's rows lie further on, where that is known at run time only; null: it is
// not that. Neighbouring blocks that read what lies side by side are what processors foresee.
Value LanePrefetch::BytesToNextRows(const ir::Inst& load, unsigned length) {
  if (length > kMaxLinesOfRow * 64) return nullptr;
  if ((e.m.layout.flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0) return nullptr;
  const auto counter = BlockIn(f, load.operands[0], kDepthOfBlock);
  const auto is_length = [&](ValueId factor) {  // not an extent of blocks, which lie side by side then
    const ir::Inst* def = DefinitionOf(f, factor);
    return def == nullptr || def->op != Opcode::kSpecialRegister;
  };
  if (!counter || std::ranges::none_of(counter->factors, is_length)) return nullptr;
  // What is read again later is in the cache.
  const auto pointer_of = PointerIn(f, load.operands[0], kDepthOfBlock);
  const uint32_t region = region_.blocks[0].index;
  if (!pointer_of || e.rows_read.try_emplace(*pointer_of, region).first->second != region) return nullptr;
  Value bytes = b.getInt64(static_cast<uint64_t>(counter->factor));
  for (ValueId factor : counter->factors) {
    Value value = SameEverywhere(factor);
    if (value == nullptr) return nullptr;
    bytes = b.CreateMul(bytes, b.CreateSExtOrTrunc(value, b.getInt64Ty()));
  }
  return bytes;
}

// The same where blocks of half a page or more read what follows each other: each block is on another page,
// where processors foresee nothing, and waits before it has anything to do.
Value LanePrefetch::BytesToNextPage(const ir::Inst& load) {
  const std::optional<int64_t> bytes = BytesBetweenBlocks(f, load.operands[0]);
  const bool is_once =
      f.required_threads[0] >= width_ && f.required_threads[1] == 1 && region_.levels.size() == 1;
  if (!bytes || !is_once || *bytes < kMinBytesOfBlock || *bytes > kMaxBytesOfBlock) return nullptr;
  return b.getInt64(static_cast<uint64_t>(*bytes));
}

// Without a branch: the last block prefetches what it was asked for. Into the second cache: a block's lines
// are more at once than what the first one waits for, and this block's stores wait for them.
void LanePrefetch::PrefetchAhead(Value pointer, unsigned length, Value bytes) {
  if (bytes == nullptr) return;
  CurrentStep::Scope scope(e.step, ScalarStep());
  Value block = e.body.Field(offsetof(ptx2cpu_block, ctaid), b.getInt32Ty(), "ctaid.x");
  Value blocks = e.body.Field(offsetof(ptx2cpu_block, nctaid), b.getInt32Ty(), "nctaid.x");
  Value goes_on = b.CreateICmpULT(b.CreateAdd(block, b.getInt32(1)), blocks);
  bytes = b.CreateSelect(goes_on, bytes, b.getInt64(0));
  PrefetchLines(b.CreateGEP(b.getInt8Ty(), pointer, bytes), length, kSecondCache);
}

void LanePrefetch::PrefetchNextBlock(const ir::Inst& load, Value pointer, unsigned length) {
  const unsigned used = width_ * static_cast<unsigned>(ir::Bytes(load.type) * load.results.size());
  if (load.attrs.space != ir::Space::kGlobal || used * 2 < length) return;
  PrefetchAhead(pointer, length, BytesToNextRows(load, length));
}

void LanePrefetch::PrefetchLaterTrips(const ir::Inst& load, Value pointer) {
  if (load.attrs.space != ir::Space::kGlobal) return;
  const unsigned length = width_ * static_cast<unsigned>(ir::Bytes(load.type) * load.results.size());
  PrefetchNextBlock(load, pointer, length);
  const auto counter = CounterIn(f, load.operands[0], kDepth);
  if (!counter) return PrefetchAhead(pointer, length, BytesToNextPage(load));
  unsigned trips = kTripsAhead;
  Value goes_on = nullptr;
  if (counter->param) {
    if (!DependsOnGrid(f, counter->step, kDepth)) return;
    trips = std::clamp<unsigned>(kLinesAhead * 64 / length, kTripsAhead, kMaxTripsAhead);
    goes_on = GoesOn(f.at_value(*counter->param).block, trips);
    if (goes_on == nullptr) return;
  } else if (is_wide_ || !WorksLaneByLane()) {
    const bool reads_rows = f.required_threads[0] >= width_ && f.required_threads[1] > 1;
    if (reads_rows) return PrefetchNextRows(pointer, load, length);
    // All threads of the block take a trip before the next one begins: that is long enough.
    // What is near in the same array mostly comes with it.
    if (is_wide_ || !DependsOnGrid(f, counter->step, kDepth)) return;
    const auto array = PointerIn(f, load.operands[0], kDepthOfBlock);
    if (array && !next_trips_.insert(*array).second) return;
    trips = 1;
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
  PrefetchLines(later, length, kSecondCache);
  if (after == nullptr) return;
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

Status LanePrefetch::PrefetchUpdated(const ir::Inst& inst, const Mask& mask,
                                     std::span<const Stored> operands) {
  constexpr uint32_t kWrites = 1;
  const bool updates = inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas;
  if (!updates || inst.attrs.space != ir::Space::kGlobal || inst.attrs.scope == ir::Scope::kCta ||
      !e.values.Get(inst.operands[0])->getType()->isVectorTy())
    return {};
  return v.one_by_one.EachOf(mask, [&](Value lane) {
    return v.one_by_one.AtLane(lane, operands, [&]() -> Status {
      Value pointer = b.CreateIntToPtr(e.values.Get(inst.operands[0]), b.getPtrTy());
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                        {pointer, b.getInt32(kWrites), b.getInt32(kFirstCache), b.getInt32(1)});
      return {};
    });
  });
}

}  // namespace ptx2cpu::lowering
