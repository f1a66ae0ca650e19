// Accesses to arrays that are larger than the caches: in the order of memory, and without reading what is
// only written.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <fstream>

#include "lowering/llvm/lanes/counters.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {
constexpr uint64_t kLineBytes = 64;

// The size of the cache that neighbouring cores share; 0: unknown. sysconf reports ten such caches on Zen 4.
uint64_t LastCacheBytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  uint64_t kilobytes = 0;
  return file >> kilobytes ? kilobytes << 10 : 0;
}

// Stores of arrays of more bytes than this go past the caches. A kernel reads about as much as it writes, and
// the next kernel reads what this one has written: where the last cache holds four such arrays, both kinds of
// stores take the same time in the order of memory, while by tiles, or rows with work in between, plain
// stores take half (measured on Zen 4 with two arrays in turn). Code for another machine does not depend on
// this one.
uint64_t StreamedBytes(const Target& target) {
  constexpr uint64_t kMin = 4 << 20, kMax = 32 << 20;
  static const uint64_t last_cache = LastCacheBytes();
  if (target.name != "native" || last_cache == 0) return kMax;
  return std::clamp(last_cache / 4, kMin, kMax);
}
}  // namespace

// Not where a loop has another load: all of one would be in registers before the other begins.
bool OrderOfMemory::MayOrder() const {
  if (region_.levels.size() == 1) return true;
  size_t loads = 0;
  for (ir::BlockId block : region_.blocks) {
    if (region_.level_of[block.index] == 0) continue;
    loads += static_cast<size_t>(std::ranges::count_if(f.at_block(block).insts, [&](ir::InstId id) {
      return f.at_inst(id).op == ir::Opcode::kLoad && IsOfVector(id);
    }));
  }
  return loads == 1;
}

// LLVM orders loads by what keeps few registers alive, which reads parts of several rows in turns, each from
// its end: as many streams of memory, for which processors do not fetch ahead as they do for one. The empty
// assembly between registers of the row keeps their order, and is no instruction.
void OrderOfMemory::LoadInOrder(const ir::Inst& inst, Value first, Memory memory) {
  const auto bytes = static_cast<unsigned>(ir::Bytes(inst.type));
  const unsigned lanes = std::max(e.m.traits.vector_bytes / bytes, 1u);
  auto* type = llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), lanes);
  auto* order = llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false), "", "~{memory}", true);
  llvm::SmallVector<Value, 16> parts;
  for (unsigned lane = 0; lane < width_; lane += lanes) {
    b.CreateCall(order);
    Value pointer = b.CreateConstGEP1_64(b.getInt8Ty(), first, uint64_t{lane} * bytes);
    auto* load = b.CreateAlignedLoad(type, pointer, AlignOf(inst, 0));
    e.m.Annotate(load, memory);
    parts.push_back(load);
  }
  e.values.Set(inst.results[0], llvm::concatenateVectors(b, parts));
}

// About how often a thread comes to the access: the trips of the loop that moves its address, 1 where they
// are not known.
Value OrderOfMemory::TripsAround(const ir::Inst& access) {
  Value once = b.getInt64(1);
  const auto counter = CounterIn(f, access.operands[0], kDepth);
  if (!counter) return once;
  std::optional<Test> test;
  if (counter->param) {
    test = TestOf(f, f.at_value(*counter->param).block);
  } else if (const auto bound = BoundOfSlot(f, *counter)) {
    test = Test{counter->now, counter->step, *bound};
  }
  if (!test) return once;
  Value step = v.prefetch.SameEverywhere(test->step), bound = v.prefetch.SameEverywhere(test->bound);
  if (step == nullptr || bound == nullptr || step->getType() != bound->getType()) return once;
  Value trips = b.CreateUDiv(bound, b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, step, Literal(step, 1)));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b.CreateZExt(trips, b.getInt64Ty()), once);
}

// Whether the launch writes more of the store's array than caches keep until it is read.
Value OrderOfMemory::IsLarge(const ir::Inst& store) {
  const uint64_t bytes = static_cast<uint64_t>(ir::Bytes(store.type)) * ElementCount(store);
  Value threads = e.body.AtEntry([&] {
    auto field = [&](size_t offset) {
      return b.CreateZExt(e.body.Field(offset, b.getInt32Ty(), "extent"), b.getInt64Ty());
    };
    const uint32_t* shape = f.required_threads;  // of one block, where several run as one
    Value count = shape[0] != 0
                      ? b.getInt64(uint64_t{shape[0]} * std::max(shape[1], 1u) * std::max(shape[2], 1u))
                      : field(offsetof(ptx2cpu_block, thread_count));
    for (size_t axis = 0; axis < 3; ++axis)
      count = b.CreateMul(count, field(offsetof(ptx2cpu_block, nctaid) + 4 * axis));
    return count;
  });
  Value stored = b.CreateMul(threads, TripsAround(store));
  return b.CreateICmpUGT(stored, b.getInt64(StreamedBytes(e.m.options.target) / bytes));
}

// Whether the store's array is better written past the caches: all lanes write whole lines of one that is
// large. Null: never.
Value OrderOfMemory::Streams(const ir::Inst& store, const Mask& mask) {
  const auto number = static_cast<size_t>(&store - f.insts.data());
  const uint64_t bytes = static_cast<uint64_t>(ir::Bytes(store.type)) * ElementCount(store);
  if (!e.m.traits.is_x86 || !e.streaming_stores[number] || width_ * bytes % kLineBytes != 0) return nullptr;
  Value is_large = IsLarge(store);
  Memory memory;
  Value pointer = b.CreatePtrToInt(FirstPointer(store, &memory, 0), b.getInt64Ty());
  Value is_aligned = b.CreateICmpEQ(b.CreateAnd(pointer, kLineBytes - 1), b.getInt64(0));
  Value holds = b.CreateAnd(is_large, is_aligned);
  return IsAll(mask) ? holds : b.CreateAnd(holds, AllOf(mask));
}

// A store of whole lines, to an address that is one of a line.
void OrderOfMemory::StorePastCaches(llvm::StoreInst& store) const {
  store.setAlignment(llvm::Align(kLineBytes));
  llvm::Metadata* one = llvm::ConstantAsMetadata::get(b.getInt32(1));
  store.setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(e.m.context, one));
}

}  // namespace ptx2cpu::lowering
