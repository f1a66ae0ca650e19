#include "lowering/llvm/kernel/function_emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "analysis/lanes/lane_region.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

namespace {
constexpr uint32_t kStackLocalLimit = 4096;
constexpr uint64_t kSlotAlign = 64;

constexpr EmitFunction kFunctions[] = {
#define OP(name, mnemonic, signature, types, attributes, effects, meaning) Emit##name,
#include "ir/opcodes.def"
#undef OP
};
}  // namespace

// -- sites --

llvm::Value* Site::Raw(size_t number) const { return e.ValueOf(inst.operands[number]); }

bool Site::IsVector() const {
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    if (Raw(i)->getType()->isVectorTy()) return true;
  }
  return false;
}

llvm::Value* Site::Operand(size_t number) const {
  return IsVector() ? Broadcast(b, Raw(number), e.step.width) : Raw(number);
}

void Site::Return(llvm::Value* value, size_t number) const { e.SetValue(inst.results[number], value); }

std::unexpected<Error> Site::Unsupported(std::string message) const {
  return Refuse(e.m.ir, ErrorCode::kUnsupported, inst.at,
                std::string(Info(inst.op).mnemonic) + ": " + message);
}

std::unexpected<Error> Site::Broken(std::string message) const {
  return Refuse(e.m.ir, ErrorCode::kInternal, inst.at,
                "function " + e.f.name + ", " + std::string(Info(inst.op).mnemonic) + ": " + message);
}

// -- functions --

FunctionEmitter::FunctionEmitter(ModuleEmitter& m, const ir::Function& f, llvm::Function* function,
                                 bool one_dimensional)
    : m(m),
      f(f),
      function(function),
      b(m.context),
      private_shared(analysis::HasPrivateShared(f)),
      one_dimensional_(one_dimensional) {
  values_.resize(f.values.size());
  phis_.resize(f.values.size());
  blocks_.resize(f.blocks.size());
}

llvm::BasicBlock* FunctionEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(m.context, name, function);
}

void FunctionEmitter::Begin() {
  function->getArg(0)->setName("block");
  function->addParamAttr(0, llvm::Attribute::NonNull);
  function->setDoesNotThrow();
  if (m.debug) m.debug->Attach(*function, f);
  // Allocas and context loads go to `entry`, which ends in a branch to the code.
  entry_ = NewBlock("entry");
  llvm::BasicBlock* code = NewBlock("code");
  b.SetInsertPoint(entry_);
  if (m.debug) b.SetCurrentDebugLocation(m.debug->Locate(f.at));
  b.CreateBr(code);
  b.SetInsertPoint(code);
}

Status FunctionEmitter::EmitKernel() {
  Begin();
  FindVarying();
  PrepareSlots();
  if (LocalsMayLiveOnStack()) {
    stack_locals_ = Scratch(b.getInt8Ty(), std::max(f.local_bytes, 1u));
    stack_locals_->setName("locals");
  }
  if (f.has_early_exit) {
    llvm::Value* live = Field(offsetof(ptx2cpu_block, live), b.getPtrTy(), "live");
    TRY_STATUS(Loop(Field(offsetof(ptx2cpu_block, warp_count), b.getInt32Ty(), "warp_count"), "all_live",
                    [&](llvm::Value* warp) {
                      llvm::Value* mask = LanesOf(warp);
                      StorePlain(
                          mask, b.CreateInBoundsGEP(b.getInt32Ty(), live, b.CreateZExt(warp, b.getInt64Ty())),
                          llvm::Align(4), Memory::kContext);
                      if (f.parked_slot != ~0u) {
                        step.warp = warp;
                        StorePlain(b.getInt32(0), SlotAddress(f.parked_slot), llvm::Align(4), Memory::kSlot);
                      }
                      return Status{};
                    }));
  }
  step = {.level = ir::Level::kBlock, .width = 1, .end = NewBlock("return")};
  llvm::BasicBlock* end = step.end;
  TRY_STATUS(EmitRegion(f.entry, step, {f.entry, {}}));
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return {};
}

Status FunctionEmitter::EmitCallee() {
  Begin();
  llvm::Value* thread = function->getArg(1);
  step = {.level = ir::Level::kLane,
          .width = 1,
          .warp = b.CreateLShr(thread, 5),
          .lane = b.CreateAnd(thread, b.getInt32(31)),
          .thread = thread};
  callee_local_base_ = LocalBaseOf(thread);
  if (f.local_bytes != 0) {
    stack_locals_ = Scratch(b.getInt8Ty(), f.local_bytes);
    stack_locals_->setName("locals");
  }
  ir::Edge entry{f.entry, f.at_block(f.entry).params};
  size_t number = 2;
  // The entry block may be a loop head: its parameters are phis whose first value is the argument.
  std::vector<llvm::Value*> arguments;
  for (ir::ValueId param : entry.args) {
    arguments.push_back(function->getArg(static_cast<unsigned>(number++)));
    SetValue(param, arguments.back());
  }
  return EmitRegion(f.entry, step, entry);
}

Status FunctionEmitter::EmitInst(const ir::Inst& inst) {
  if (m.debug) b.SetCurrentDebugLocation(m.debug->Locate(inst.at));
  Site site{*this, b, inst};
  return kFunctions[static_cast<size_t>(inst.op)](site);
}

// -- values --

llvm::Value* FunctionEmitter::ValueOf(ir::ValueId id) {
  if (first_lanes != nullptr && (*first_lanes)[id.index] != nullptr) return (*first_lanes)[id.index];
  llvm::Value*& value = values_[id.index];
  if (value == nullptr && IsVarying(id)) {
    Status status = Materialise(id);
    CHECK(status.has_value(), status ? "" : status.error().message);
  }
  CHECK(value != nullptr,
        "value " + std::to_string(id.index) + " of " + f.name + " is used where it is not available");
  // A vector of warp-level code, seen from one of its lanes.
  if (step.width == 1 && step.level == ir::Level::kLane && value->getType()->isVectorTy()) {
    return b.CreateExtractElement(value, step.lane);
  }
  return value;
}

Status FunctionEmitter::Materialise(ir::ValueId id) {
  const ir::Value& value = f.at_value(id);
  CHECK(value.def.valid() && step.width == kWarpSize,
        "a value that differs between threads is used at block level");
  TRY_STATUS(EmitInst(f.at_inst(value.def)));
  for (ir::ValueId result : f.at_inst(value.def).results) materialised_.push_back(result);
  return {};
}

// -- the block context --

llvm::Value* FunctionEmitter::Field(size_t offset, llvm::Type* type, const char* name) {
  llvm::Value*& field = fields_[offset];
  if (field != nullptr) return field;
  llvm::IRBuilder<> at(entry_->getTerminator());
  llvm::Value* pointer = at.CreateInBoundsGEP(at.getInt8Ty(), Block(), at.getInt64(offset));
  auto align = llvm::Align(type->isPointerTy() || type->isIntegerTy(64) ? 8 : 4);
  llvm::LoadInst* load = at.CreateAlignedLoad(type, pointer, align, name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(m.context, {}));
  m.Annotate(load, Memory::kContext);
  bool counts_threads =
      offset == offsetof(ptx2cpu_block, thread_count) ||
      (offset >= offsetof(ptx2cpu_block, ntid) && offset < offsetof(ptx2cpu_block, ntid) + 12);
  if (counts_threads) {
    load->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(m.context).createRange(
                          llvm::APInt(32, 1), llvm::APInt(32, PTX2CPU_MAX_THREADS_PER_BLOCK + 1)));
  }
  if (offset == offsetof(ptx2cpu_block, shared)) {
    load->setMetadata(llvm::LLVMContext::MD_align,
                      llvm::MDNode::get(m.context, llvm::ConstantAsMetadata::get(at.getInt64(128))));
  }
  return field = load;
}

namespace {
llvm::Value* Consecutive(llvm::IRBuilder<>& b, llvm::Value* first, unsigned width) {
  if (width == 1) return first;
  llvm::SmallVector<uint32_t, 32> numbers(width);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return b.CreateAdd(b.CreateVectorSplat(width, first),
                     llvm::ConstantDataVector::get(b.getContext(), numbers), "", true, true);
}
}  // namespace

llvm::Value* FunctionEmitter::Thread() { return Consecutive(b, step.thread, step.width); }
llvm::Value* FunctionEmitter::TidX() { return Consecutive(b, step.tid[0], step.width); }
llvm::Value* FunctionEmitter::Lane() { return Consecutive(b, step.lane, step.width); }

llvm::Value* FunctionEmitter::PackedThreadId() {
  llvm::Value* table = Field(offsetof(ptx2cpu_block, tid), b.getPtrTy(), "tid");
  llvm::Value* first = b.CreateInBoundsGEP(b.getInt32Ty(), table, b.CreateZExt(step.thread, b.getInt64Ty()));
  llvm::Type* type = step.width == 1 ? I(32) : llvm::FixedVectorType::get(I(32), step.width);
  auto* load = llvm::cast<llvm::LoadInst>(LoadPlain(type, first, llvm::Align(4), Memory::kContext));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(m.context, {}));
  return load;
}

llvm::Value* FunctionEmitter::LocalBaseOf(llvm::Value* thread) {
  llvm::Value* base = Field(offsetof(ptx2cpu_block, local), b.getPtrTy(), "local");
  llvm::Value* stride = Field(offsetof(ptx2cpu_block, local_stride), b.getInt64Ty(), "local_stride");
  return b.CreateGEP(b.getInt8Ty(), base, b.CreateMul(b.CreateZExt(thread, b.getInt64Ty()), stride));
}

llvm::Value* FunctionEmitter::LocalBase() {
  if (callee_local_base_ != nullptr) return callee_local_base_;
  if (stack_locals_ != nullptr) return stack_locals_;
  return LocalBaseOf(step.thread);
}

llvm::Value* FunctionEmitter::LocalSymbol(uint64_t offset) {
  if (callee_local_base_ == nullptr || stack_locals_ == nullptr) return b.getInt64(offset);
  llvm::Value* distance = b.CreateSub(b.CreatePtrToInt(stack_locals_, b.getInt64Ty()),
                                      b.CreatePtrToInt(callee_local_base_, b.getInt64Ty()));
  return b.CreateAdd(distance, b.getInt64(offset));
}

// In a kernel of one region a thread's locals are through when its iteration is; on the stack LLVM can
// promote them. Not when it calls functions: they reach its locals by offsets from this thread's window.
bool FunctionEmitter::LocalsMayLiveOnStack() const {
  if (f.local_bytes == 0 || f.local_bytes > kStackLocalLimit) return false;
  for (uint32_t index : m.layout.functions) {
    if (DefinitionOf(m.ir, m.ir.functions[index]) != nullptr) return false;
  }
  size_t loops = 0;
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      if (f.at_inst(id).op == Opcode::kCallIndirect) return false;
      if (f.at_inst(id).op == Opcode::kForLanes) ++loops;
    }
  }
  return loops == 1;
}

bool FunctionEmitter::LaneMayEnd() const {
  return NobodyWaits() && step.level == ir::Level::kLane && step.width == 1 && step.end != nullptr;
}

bool FunctionEmitter::NobodyWaits() const {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever || f.has_early_exit) return false;
  size_t loops = 0;
  for (const ir::Block& block : f.blocks) {
    if (!block.removed && !block.insts.empty() && f.at_inst(block.insts.back()).op == Opcode::kForLanes)
      ++loops;
  }
  return loops == 1;
}

// -- slots --

// Arrays of lane slots, larger elements first, then of warp slots, then block slots, each on 64 bytes.
void FunctionEmitter::PrepareSlots() {
  slot_base_.resize(f.slots.size());
  if (f.slots.empty()) return;
  std::vector<uint32_t> order(f.slots.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](uint32_t x, uint32_t y) {
    const ir::Slot &s = f.slots[x], &t = f.slots[y];
    if (s.shape != t.shape) return s.shape < t.shape;
    if (ir::Bytes(s.type) != ir::Bytes(t.type)) return ir::Bytes(s.type) > ir::Bytes(t.type);
    return x < y;
  });
  llvm::Value* arena = Field(offsetof(ptx2cpu_block, slots), b.getPtrTy(), "slots");
  llvm::Value* threads = Field(offsetof(ptx2cpu_block, thread_padded), b.getInt32Ty(), "thread_padded");
  llvm::Value* warps = Field(offsetof(ptx2cpu_block, warp_count), b.getInt32Ty(), "warp_count");
  auto bytes_of = [&](const ir::Slot& slot) {
    llvm::Value* count = b.getInt64(1);
    if (slot.shape != ir::Level::kBlock)
      count = b.CreateZExt(slot.shape == ir::Level::kLane ? threads : warps, b.getInt64Ty());
    return b.CreateMul(count, b.getInt64(static_cast<uint64_t>(ir::Bytes(slot.type))));
  };
  auto align_up = [&](llvm::Value* offset) {
    return b.CreateAnd(b.CreateAdd(offset, b.getInt64(kSlotAlign - 1)), b.getInt64(~(kSlotAlign - 1)));
  };
  llvm::Value* offset = b.getInt64(0);
  // Arrays of one size follow each other at one distance: LLVM takes minutes over a long chain of roundings,
  // and a step of a resumable kernel begins with this every time.
  for (size_t first = 0; first < order.size();) {
    const ir::Slot& slot = f.slots[order[first]];
    auto alike = [&](uint32_t other) {
      return f.slots[other].shape == slot.shape && ir::Bytes(f.slots[other].type) == ir::Bytes(slot.type);
    };
    llvm::Value* distance = align_up(bytes_of(slot));
    size_t number = 0;
    for (; first + number < order.size() && alike(order[first + number]); ++number) {
      llvm::Value* at = b.CreateAdd(offset, b.CreateMul(distance, b.getInt64(number)));
      slot_base_[order[first + number]] = b.CreateInBoundsGEP(b.getInt8Ty(), arena, at, "slot");
    }
    offset = b.CreateAdd(offset, b.CreateMul(distance, b.getInt64(number)));
    first += number;
  }
}

llvm::Value* FunctionEmitter::SlotAddress(uint32_t slot) {
  const ir::Slot& s = f.slots[slot];
  if (s.shape == ir::Level::kBlock) return slot_base_[slot];
  llvm::Value* index = s.shape == ir::Level::kWarp ? step.warp : step.thread;
  CHECK(index != nullptr, "a slot of a lower level is used at block level");
  return b.CreateInBoundsGEP(m.MemoryTypeOf(s.type), slot_base_[slot], b.CreateZExt(index, b.getInt64Ty()));
}

// -- plain memory --

// Locals on the stack are the same memory in every iteration: an access that may touch them depends on the
// others.
bool FunctionEmitter::IsIndependent(Memory memory) const {
  bool may_be_local = memory == Memory::kLocal || memory == Memory::kGeneric;
  return step.access_group != nullptr && !(may_be_local && stack_locals_ != nullptr);
}

llvm::Value* FunctionEmitter::LoadPlain(llvm::Type* type, llvm::Value* pointer, llvm::Align align,
                                        Memory memory) {
  llvm::LoadInst* load = b.CreateAlignedLoad(type, pointer, align);
  m.Annotate(load, memory);
  if (IsIndependent(memory)) load->setMetadata(llvm::LLVMContext::MD_access_group, step.access_group);
  return load;
}

void FunctionEmitter::StorePlain(llvm::Value* value, llvm::Value* pointer, llvm::Align align, Memory memory) {
  llvm::StoreInst* store = b.CreateAlignedStore(value, pointer, align);
  m.Annotate(store, memory);
  if (IsIndependent(memory)) store->setMetadata(llvm::LLVMContext::MD_access_group, step.access_group);
}

llvm::AllocaInst* FunctionEmitter::Scratch(llvm::Type* element, unsigned count) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  llvm::AllocaInst* alloca = at.CreateAlloca(llvm::ArrayType::get(element, count));
  alloca->setAlignment(llvm::Align(64));
  return alloca;
}

}  // namespace ptx2cpu::lowering
