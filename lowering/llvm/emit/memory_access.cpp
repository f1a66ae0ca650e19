// Addresses, slots, plain accesses.
#include "lowering/llvm/emit/memory_access.h"

#include <algorithm>
#include <iterator>

#include "analysis/lanes/residues.h"
#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/deferred_atomics.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Space;
using Value = llvm::Value*;

namespace {
constexpr uint64_t kSlotAlign = 64;
}

void MemoryAccess::PutLocalsOnStack(uint32_t bytes) {
  stack_locals_ = e_.body.Scratch(e_.b.getInt8Ty(), bytes);
  stack_locals_->setName("locals");
}

Value MemoryAccess::LocalsOfLanes(unsigned width) {
  llvm::AllocaInst*& locals = lane_locals_[width];
  if (locals == nullptr) locals = e_.body.Scratch(e_.b.getInt8Ty(), e_.f.local_bytes * width);
  return locals;
}

Value MemoryAccess::WithinLocals(Value base, Value bytes) {
  const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(base);
  const auto* offset = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  const bool is_within = variable != nullptr && offset != nullptr &&
                         offset->getValue().ult(variable->getAllocatedType()->getArrayNumElements());
  return is_within ? e_.b.CreateConstInBoundsGEP1_64(e_.b.getInt8Ty(), base, offset->getZExtValue())
                   : e_.b.CreateGEP(e_.b.getInt8Ty(), base, bytes);
}

// -- addresses --

// The pointer that an address is computed from, when it is visible: LLVM
// analyses "pointer plus index" but not sums of integers.
Value MemoryAccess::BaseOf(ir::ValueId address, int depth) {
  const ir::Value& value = e_.f.at_value(address);
  if (!value.def.valid()) return nullptr;
  const ir::Inst& inst = e_.f.at_inst(value.def);
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSymbol) {
    return e_.b.CreateIntToPtr(e_.values.Get(address), e_.b.getPtrTy());
  }
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
    if (inst.attrs.space == Space::kShared || inst.attrs.space == Space::kSharedCluster ||
        inst.attrs.space == Space::kLocal || depth == 0)
      return nullptr;
    return BaseOf(inst.operands[0], depth - 1);
  }
  if (inst.op == Opcode::kAdd) {
    if (depth == 0) return nullptr;
    for (size_t i = 0; i < 2; ++i) {
      Value base = BaseOf(inst.operands[i], depth - 1);
      if (base != nullptr) return e_.b.CreateGEP(e_.b.getInt8Ty(), base, e_.values.Get(inst.operands[1 - i]));
    }
    return nullptr;
  }
  return nullptr;
}

std::optional<uint64_t> MemoryAccess::ParameterOffset(ir::ValueId address) const {
  return analysis::OffsetInParameters(e_.f, address, e_.m.param_bytes);
}

Value MemoryAccess::Pointer(Space space, ir::ValueId address, Memory* memory) {
  constexpr int kDepth = 8;
  llvm::Type* byte = e_.b.getInt8Ty();
  switch (space) {
    case Space::kShared:
      *memory = Memory::kShared;
      return e_.b.CreateGEP(byte, e_.body.Field(offsetof(ptx2cpu_block, shared), e_.b.getPtrTy(), "shared"),
                            e_.values.Get(address));
    case Space::kLocal:
      *memory = Memory::kLocal;
      return WithinLocals(LocalBase(), e_.values.Get(address));
    case Space::kParam: {
      *memory = Memory::kContext;
      Value params = e_.body.Field(offsetof(ptx2cpu_block, params), e_.b.getPtrTy(), "params");
      return e_.b.CreateGEP(
          byte, params,
          e_.b.CreateSub(e_.values.Get(address), e_.b.CreatePtrToInt(params, e_.b.getInt64Ty())));
    }
    case Space::kGlobal:
    case Space::kConst:
      *memory = Memory::kGlobal;
      break;
    case Space::kSharedCluster:
      CHECK(false);  // the verifier allows it in address conversions alone
      break;
    case Space::kGeneric:
      *memory = Memory::kGeneric;
      break;
  }
  // Not for vectors: what an address is computed from may be jumped over where
  // no lane is.
  Value based = e_.step->under_masks ? nullptr : BaseOf(address, kDepth);
  if (based != nullptr) return based;
  Value value = e_.values.Get(address);
  return e_.b.CreateIntToPtr(value, ShapedLike(value, e_.b.getPtrTy()));
}

Value MemoryAccess::LocalBaseOf(Value thread) {
  Value base = e_.body.Field(offsetof(ptx2cpu_block, local), e_.b.getPtrTy(), "local");
  Value stride = e_.body.Field(offsetof(ptx2cpu_block, local_stride), e_.b.getInt64Ty(), "local_stride");
  return e_.b.CreateGEP(e_.b.getInt8Ty(), base,
                        e_.b.CreateMul(e_.b.CreateZExt(thread, e_.b.getInt64Ty()), stride));
}

Value MemoryAccess::LocalBase() {
  if (callee_local_base_ != nullptr) return callee_local_base_;
  if (stack_locals_ != nullptr) return stack_locals_;
  auto* thread = llvm::dyn_cast<llvm::Instruction>(e_.step->thread);
  if (e_.f.resumes != ir::Resumes::kLanes || e_.step->width != 1 || thread == nullptr)
    return LocalBaseOf(e_.step->thread);
  // Frames of calls are there: many accesses, so the address is computed once for each lane.
  Value& base = thread_local_base_[thread];
  if (base == nullptr) {
    const llvm::IRBuilder<>::InsertPointGuard guard(e_.b);
    SetInsertPointAfter(thread);
    base = LocalBaseOf(thread);
    if (e_.m.options.debug_variables && e_.m.debug) e_.b.CreateStore(base, DebuggersLocals());
  }
  return base;
}

// Where a debugger finds the window of the thread that runs.
llvm::AllocaInst* MemoryAccess::DebuggersLocals() {
  if (debuggers_locals_ == nullptr) {
    llvm::BasicBlock& entry = e_.b.GetInsertBlock()->getParent()->getEntryBlock();
    const llvm::IRBuilder<>::InsertPointGuard guard(e_.b);
    e_.b.SetInsertPoint(&entry, entry.begin());
    debuggers_locals_ = e_.b.CreateAlloca(e_.b.getPtrTy(), nullptr, "locals_of_thread");
    e_.m.debug->PlaceLocals(e_.f, debuggers_locals_);
  }
  return debuggers_locals_;
}

void MemoryAccess::SetInsertPointAfter(llvm::Instruction* value) {
  llvm::BasicBlock& block = *value->getParent();
  const bool is_phi = llvm::isa<llvm::PHINode>(value);
  e_.b.SetInsertPoint(&block, is_phi ? block.getFirstInsertionPt() : std::next(value->getIterator()));
}

Value MemoryAccess::WideIndex(Value index) {
  auto* computed = llvm::dyn_cast<llvm::Instruction>(index);
  if (e_.step->width != 1 || computed == nullptr) return e_.b.CreateZExt(index, e_.b.getInt64Ty());
  Value& wide = wide_index_[computed];
  if (wide == nullptr) {
    const llvm::IRBuilder<>::InsertPointGuard guard(e_.b);
    SetInsertPointAfter(computed);
    wide = e_.b.CreateZExt(index, e_.b.getInt64Ty());
  }
  return wide;
}

Value MemoryAccess::LocalSymbol(uint64_t offset) {
  if (callee_local_base_ == nullptr || stack_locals_ == nullptr) return e_.b.getInt64(offset);
  Value distance = e_.b.CreateSub(e_.b.CreatePtrToInt(stack_locals_, e_.b.getInt64Ty()),
                                  e_.b.CreatePtrToInt(callee_local_base_, e_.b.getInt64Ty()));
  return e_.b.CreateAdd(distance, e_.b.getInt64(offset));
}

// -- slots --

namespace {

constexpr uint64_t kMaxOwnBytes = 16384;  // of slots that are variables of the function

// The threads of a block whose slots are the function's own variables, of which LLVM knows that nothing reads
// them after the block's end, and that they are not each other's memory. All threads of all warps store a
// slot before one reads it. 0: the block's shape is not known, or slots are more than a stack should hold.
uint32_t ThreadsThatOwnSlots(const FunctionEmitter& e) {
  const ir::Function& f = e.f;
  const uint32_t* shape = f.required_threads;
  if (!f.is_kernel || shape[0] == 0 || f.resumes != ir::Resumes::kNever || f.has_early_exit ||
      f.parked_slot != ~0u || (e.m.layout.flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0)
    return 0;
  const uint32_t threads = shape[0] * std::max(shape[1], 1u) * std::max(shape[2], 1u);
  uint64_t bytes = 0;
  for (const ir::Slot& slot : f.slots)
    bytes += static_cast<uint64_t>(ir::Bytes(slot.type)) * (slot.shape == ir::Level::kLane ? threads : 64);
  // Products of matrices address rows of slots.
  const bool has_products = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.op == ir::Opcode::kMatrixMultiply;
  });
  return threads % kWarpSize == 0 && bytes <= kMaxOwnBytes && !has_products ? threads : 0;
}

// Slots of lanes before those of warps and of the block, of each shape larger elements first.
bool ComesBefore(const ir::Function& f, uint32_t x, uint32_t y) {
  const ir::Slot &s = f.slots[x], &t = f.slots[y];
  if (s.shape != t.shape) return s.shape < t.shape;
  if (ir::Bytes(s.type) != ir::Bytes(t.type)) return ir::Bytes(s.type) > ir::Bytes(t.type);
  return x < y;
}

}  // namespace

// Arrays of slots, each aligned to 64 bytes, in the order of ComesBefore. Slots of a warp's turn, and all
// slots of a small block of known shape, are variables of the function, which LLVM keeps in registers.
void MemoryAccess::PrepareSlots() {
  slot_base_.resize(e_.f.slots.size());
  slot_row_.assign(e_.f.slots.size(), ~0u);
  if (e_.f.slots.empty()) return;
  std::vector<uint32_t> order;
  const uint32_t own = ThreadsThatOwnSlots(e_);
  for (uint32_t n = 0; n < e_.f.slots.size(); ++n) {
    const ir::Slot& slot = e_.f.slots[n];
    const uint32_t warps = IsOfTurn(n) ? 1 : own / kWarpSize;
    if (IsOfTurn(n) || own != 0)
      slot_base_[n] =
          e_.body.Scratch(e_.m.MemoryTypeOf(slot.type), slot.shape == ir::Level::kLane   ? warps * kWarpSize
                                                        : slot.shape == ir::Level::kWarp ? warps
                                                                                         : 1);
    else
      order.push_back(n);
  }
  std::ranges::sort(order, [&](uint32_t x, uint32_t y) { return ComesBefore(e_.f, x, y); });
  Value arena = e_.body.Field(offsetof(ptx2cpu_block, slots), e_.b.getPtrTy(), "slots");
  Value threads = e_.body.Field(offsetof(ptx2cpu_block, thread_padded), e_.b.getInt32Ty(), "thread_padded");
  Value warps = e_.body.Field(offsetof(ptx2cpu_block, warp_count), e_.b.getInt32Ty(), "warp_count");
  auto bytes_of = [&](const ir::Slot& slot) {
    Value count = e_.b.getInt64(1);
    if (slot.shape != ir::Level::kBlock)
      count = e_.b.CreateZExt(slot.shape == ir::Level::kLane ? threads : warps, e_.b.getInt64Ty());
    return e_.b.CreateMul(count, e_.b.getInt64(static_cast<uint64_t>(ir::Bytes(slot.type))));
  };
  auto align_up = [&](Value offset) {
    return e_.b.CreateAnd(e_.b.CreateAdd(offset, e_.b.getInt64(kSlotAlign - 1)),
                          e_.b.getInt64(~(kSlotAlign - 1)));
  };
  static_assert(sizeof(ptx2cpu_deferred) % kSlotAlign == 0 && sizeof(ptx2cpu_atomic_log) % kSlotAlign == 0);
  Value offset = e_.b.getInt64(e_.deferred.Bytes());
  // Arrays of one size follow each other at one distance: LLVM takes minutes
  // over a long chain of roundings, and a step of a resumable kernel begins
  // with this every time.
  for (size_t first = 0; first < order.size();) {
    const ir::Slot& slot = e_.f.slots[order[first]];
    auto alike = [&](uint32_t other) {
      return e_.f.slots[other].shape == slot.shape &&
             ir::Bytes(e_.f.slots[other].type) == ir::Bytes(slot.type);
    };
    Value distance = align_up(bytes_of(slot));
    const bool of_lanes = slot.shape == ir::Level::kLane;
    // The distance is an odd multiple of 64 bytes, so that the slots of a warp use all sets of the cache. The
    // arena has room (ptx2cpu_kernel::slot_count).
    if (of_lanes && ir::Bytes(slot.type) >= 2) distance = e_.b.CreateOr(distance, e_.b.getInt64(kSlotAlign));
    const bool is_word = of_lanes && ir::Bytes(slot.type) == 4;
    if (is_word) word_slot_distance_ = distance;
    size_t number = 0;
    for (; first + number < order.size() && alike(order[first + number]); ++number) {
      Value at = e_.b.CreateAdd(offset, e_.b.CreateMul(distance, e_.b.getInt64(number)));
      if (is_word) slot_row_[order[first + number]] = static_cast<uint32_t>(number);
      slot_base_[order[first + number]] = e_.b.CreateInBoundsGEP(e_.b.getInt8Ty(), arena, at, "slot");
    }
    offset = e_.b.CreateAdd(offset, e_.b.CreateMul(distance, e_.b.getInt64(number)));
    first += number;
  }
}

Value MemoryAccess::SlotAddress(uint32_t slot) {
  const ir::Slot& s = e_.f.slots[slot];
  if (s.shape == ir::Level::kBlock || (IsOfTurn(slot) && s.shape == ir::Level::kWarp))
    return slot_base_[slot];
  if (IsOfTurn(slot)) {
    return e_.b.CreateInBoundsGEP(e_.m.MemoryTypeOf(s.type), slot_base_[slot], WideIndex(e_.step->lane));
  }
  Value index = s.shape == ir::Level::kWarp ? e_.step->warp : e_.step->thread;
  CHECK(index != nullptr, "a slot of a lower level is used at block level");
  return e_.b.CreateInBoundsGEP(e_.m.MemoryTypeOf(s.type), slot_base_[slot], WideIndex(index));
}

std::optional<uint32_t> MemoryAccess::SlotRow(uint32_t slot) const {
  return slot_row_[slot] == ~0u ? std::nullopt : std::optional(slot_row_[slot]);
}

bool MemoryAccess::IsOfTurn(uint32_t slot) const {
  return !e_.slots_of_turn.is_of_turn.empty() && e_.slots_of_turn.is_of_turn[slot];
}

void MemoryAccess::ClearSlotOfTurn(uint32_t slot) {
  auto* lanes = llvm::FixedVectorType::get(e_.m.MemoryTypeOf(e_.f.slots[slot].type), kWarpSize);
  Store(llvm::Constant::getNullValue(lanes), slot_base_[slot], llvm::Align(64), Memory::kSlot);
}

// -- plain memory --

// Locals on the stack are the same memory in every iteration: an access that
// may touch them depends on the others.
bool MemoryAccess::IsIndependent(Memory memory) const {
  bool may_be_local = memory == Memory::kLocal || memory == Memory::kGeneric;
  return e_.step->access_group != nullptr && !(may_be_local && stack_locals_ != nullptr);
}

Value MemoryAccess::Load(llvm::Type* type, Value pointer, llvm::Align align, Memory memory) {
  llvm::LoadInst* load = e_.b.CreateAlignedLoad(type, pointer, align);
  e_.m.Annotate(load, memory);
  if (IsIndependent(memory)) load->setMetadata(llvm::LLVMContext::MD_access_group, e_.step->access_group);
  return load;
}

void MemoryAccess::Store(Value value, Value pointer, llvm::Align align, Memory memory) {
  llvm::StoreInst* store = e_.b.CreateAlignedStore(value, pointer, align);
  e_.m.Annotate(store, memory);
  if (IsIndependent(memory)) store->setMetadata(llvm::LLVMContext::MD_access_group, e_.step->access_group);
}

}  // namespace ptx2cpu::lowering
