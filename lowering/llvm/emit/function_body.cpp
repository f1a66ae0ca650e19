#include "lowering/llvm/emit/function_body.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lowering/llvm/emit/shapes.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

void FunctionBody::Begin(const ir::Function& f) {
  f_ = &f;
  function->getArg(0)->setName("block");
  function->addParamAttr(0, llvm::Attribute::NonNull);
  function->setDoesNotThrow();
  if (m_.debug) m_.debug->Attach(*function, f);
  // Allocas and context loads go to `entry`.
  entry_ = NewBlock("entry");
  llvm::BasicBlock* code = NewBlock("code");
  b.SetInsertPoint(entry_);
  if (m_.debug) b.SetCurrentDebugLocation(m_.debug->Locate(f.at));
  b.CreateBr(code);
  b.SetInsertPoint(code);
}

llvm::BasicBlock* FunctionBody::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(m_.context, name, function);
}

llvm::AllocaInst* FunctionBody::Scratch(llvm::Type* element, unsigned count) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  llvm::AllocaInst* alloca = at.CreateAlloca(llvm::ArrayType::get(element, count));
  alloca->setAlignment(llvm::Align(64));
  return alloca;
}

// LLVM makes values of each array in a walk over the function.
constexpr size_t kMaxOwnScratch = 64;

llvm::AllocaInst* FunctionBody::ScratchOf(const ir::Inst& inst, llvm::Type* element, unsigned count) {
  if (own_scratch_ < kMaxOwnScratch) {
    ++own_scratch_;
    return Scratch(element, count);
  }
  if (std::exchange(shares_, &inst) != &inst) taken_ = 0;
  while (taken_ < shared_scratch_.size()) {
    llvm::AllocaInst* array = shared_scratch_[taken_++];
    if (array->getAllocatedType() == llvm::ArrayType::get(element, count)) return array;
  }
  ++taken_;
  return shared_scratch_.emplace_back(Scratch(element, count));
}

namespace {

// What follows from the shape of the kernel's blocks where they have one shape only.
std::optional<uint32_t> CountOfThreads(const ir::Function& f, bool joins_blocks, size_t offset) {
  const uint32_t* shape = f.required_threads;
  if (!f.is_kernel || shape[0] == 0) return std::nullopt;
  const uint32_t extents[] = {shape[0], std::max(shape[1], 1u), std::max(shape[2], 1u)};
  const uint32_t threads = extents[0] * extents[1] * extents[2];
  const bool of_rows =
      offset == offsetof(ptx2cpu_block, thread_count) || offset == offsetof(ptx2cpu_block, warp_count) ||
      offset == offsetof(ptx2cpu_block, thread_padded) || offset == offsetof(ptx2cpu_block, ntid);
  if (joins_blocks && of_rows) return std::nullopt;
  if (offset == offsetof(ptx2cpu_block, thread_count)) return threads;
  if (offset == offsetof(ptx2cpu_block, thread_padded))
    return (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  if (offset == offsetof(ptx2cpu_block, warp_count)) return (threads + kWarpSize - 1) / kWarpSize;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (offset == offsetof(ptx2cpu_block, ntid) + axis * sizeof(uint32_t)) return extents[axis];
  }
  return std::nullopt;
}

}  // namespace

llvm::Value* FunctionBody::Field(size_t offset, llvm::Type* type, const char* name) {
  llvm::Value*& field = fields_[offset];
  if (field != nullptr) return field;
  const bool joins_blocks = (m_.layout.flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0;
  if (std::optional<uint32_t> count = CountOfThreads(*f_, joins_blocks, offset))
    return field = llvm::ConstantInt::get(type, *count);
  llvm::IRBuilder<> at(entry_->getTerminator());
  llvm::Value* pointer = at.CreateInBoundsGEP(at.getInt8Ty(), Block(), at.getInt64(offset));
  auto align = llvm::Align(type->isPointerTy() || type->isIntegerTy(64) ? 8 : 4);
  llvm::LoadInst* load = at.CreateAlignedLoad(type, pointer, align, name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(m_.context, {}));
  m_.Annotate(load, Memory::kContext);
  bool counts_threads =
      offset == offsetof(ptx2cpu_block, thread_count) ||
      (offset >= offsetof(ptx2cpu_block, ntid) && offset < offsetof(ptx2cpu_block, ntid) + 12);
  if (counts_threads) {
    const uint32_t most = joins_blocks ? PTX2CPU_MAX_JOINED_THREADS : PTX2CPU_MAX_THREADS_PER_BLOCK;
    load->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(m_.context).createRange(llvm::APInt(32, 1), llvm::APInt(32, most + 1)));
  }
  if (offset == offsetof(ptx2cpu_block, shared)) {
    load->setMetadata(llvm::LLVMContext::MD_align,
                      llvm::MDNode::get(m_.context, llvm::ConstantAsMetadata::get(at.getInt64(128))));
  }
  return field = load;
}

llvm::Value* FunctionBody::Parameter(uint64_t offset, ir::Type type) {
  llvm::Value*& known = parameters_[{offset, type}];
  if (known != nullptr) return known;
  llvm::Value* params = Field(offsetof(ptx2cpu_block, params), b.getPtrTy(), "params");
  return known = AtEntry([&]() -> llvm::Value* {
           llvm::Type* memory_type = m_.MemoryTypeOf(type);
           llvm::Value* pointer = b.CreateInBoundsGEP(b.getInt8Ty(), params, b.getInt64(offset));
           llvm::LoadInst* load =
               b.CreateAlignedLoad(memory_type, pointer, llvm::Align(static_cast<uint64_t>(ir::Bytes(type))));
           load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(m_.context, {}));
           m_.Annotate(load, Memory::kContext);
           return type == ir::Type::kI1 ? b.CreateICmpNE(load, Literal(load, 0)) : load;
         });
}

llvm::Value* FunctionBody::AtEntry(const std::function<llvm::Value*()>& compute) {
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_->getTerminator());
  return compute();
}

Status FunctionBody::Loop(llvm::Value* count, const char* name,
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

void FunctionBody::Fault(llvm::Value* condition, uint32_t kind, llvm::Value* thread, const ir::Position& at) {
  llvm::BasicBlock *bad = NewBlock("fault"), *good = NewBlock("go_on");
  b.CreateCondBr(condition, bad, good, llvm::MDBuilder(m_.context).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(bad);
  if (thread == nullptr) thread = b.getInt32(~0u);  // block level
  b.CreateCall(m_.Service("ptx2cpu_fault"), {Block(), b.getInt32(kind), thread, b.getInt32(at.ptx_line)});
  b.CreateUnreachable();
  b.SetInsertPoint(good);
}

}  // namespace ptx2cpu::lowering
