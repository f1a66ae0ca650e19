#include "lowering/llvm/emit/deferred_atomics.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <utility>

#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/deferred_atomics.h"

namespace ptx2cpu::lowering {

using ir::AtomicOp;
using Value = llvm::Value*;

namespace {

struct Form {
  AtomicOp operation;
  ptx2cpu_deferred_form form;
  Value (*combine)(llvm::IRBuilder<>& b, Value old, Value operand);
};

template <llvm::Intrinsic::ID kIntrinsic>
Value Binary(llvm::IRBuilder<>& b, Value old, Value operand) {
  return b.CreateBinaryIntrinsic(kIntrinsic, old, operand);
}

const Form kForms[] = {
    {AtomicOp::kAdd, PTX2CPU_DEFERRED_ADD, [](auto& b, Value old, Value v) { return b.CreateAdd(old, v); }},
    {AtomicOp::kAnd, PTX2CPU_DEFERRED_AND, [](auto& b, Value old, Value v) { return b.CreateAnd(old, v); }},
    {AtomicOp::kOr, PTX2CPU_DEFERRED_OR, [](auto& b, Value old, Value v) { return b.CreateOr(old, v); }},
    {AtomicOp::kXor, PTX2CPU_DEFERRED_XOR, [](auto& b, Value old, Value v) { return b.CreateXor(old, v); }},
    {AtomicOp::kMinS, PTX2CPU_DEFERRED_MIN_S, Binary<llvm::Intrinsic::smin>},
    {AtomicOp::kMinU, PTX2CPU_DEFERRED_MIN_U, Binary<llvm::Intrinsic::umin>},
    {AtomicOp::kMaxS, PTX2CPU_DEFERRED_MAX_S, Binary<llvm::Intrinsic::smax>},
    {AtomicOp::kMaxU, PTX2CPU_DEFERRED_MAX_U, Binary<llvm::Intrinsic::umax>},
};

const Form& FormOf(AtomicOp operation) {
  for (const Form& form : kForms) {
    if (form.operation == operation) return form;
  }
  CHECK(false, "an atomic that cannot wait");
  return kForms[0];
}

}  // namespace

DeferredAtomics::DeferredAtomics(FunctionEmitter& e, const ir::Function& f)
    : e_(e), f_(f), found_(analysis::FindDeferredAtomics(f)) {}

uint64_t DeferredAtomics::Bytes() const {
  if (!any()) return 0;
  return found_.logged ? sizeof(ptx2cpu_atomic_log) : sizeof(ptx2cpu_deferred);
}
uint32_t DeferredAtomics::KernelFlag() const {
  if (!any()) return 0;
  return found_.logged ? PTX2CPU_KERNEL_LOGS_ATOMICS : PTX2CPU_KERNEL_DEFERS_ATOMICS;
}

DeferredAtomics::Role DeferredAtomics::RoleOf(const ir::Inst& inst) const {
  if (!found_.any()) return Role::kNone;
  return found_.roles[static_cast<size_t>(&inst - f_.insts.data())];
}

Value DeferredAtomics::Table() {
  return e_.body.Field(offsetof(ptx2cpu_block, slots), e_.b.getPtrTy(), "slots");
}

Value DeferredAtomics::Member(size_t offset) {
  return e_.b.CreateConstInBoundsGEP1_64(e_.b.getInt8Ty(), Table(), offset);
}

// Lanes share the table: its accesses are not declared independent.
Value DeferredAtomics::Load(llvm::Type* type, Value at) {
  llvm::LoadInst* load = e_.b.CreateAlignedLoad(type, at, llvm::Align(8));
  e_.m.Annotate(load, Memory::kSlot);
  return load;
}

void DeferredAtomics::Store(Value value, Value at) {
  e_.m.Annotate(e_.b.CreateAlignedStore(value, at, llvm::Align(8)), Memory::kSlot);
}

Value DeferredAtomics::IsPrepared() {
  if (is_prepared_ != nullptr) return is_prepared_;
  Table();
  return is_prepared_ = e_.body.AtEntry([&] {
    Value prepared = Load(e_.b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred_head, prepared)));
    return e_.b.CreateICmpEQ(prepared, e_.b.getInt64(PTX2CPU_DEFERRED_PREPARED));
  });
}

void DeferredAtomics::Call(size_t function, llvm::ArrayRef<Value> arguments) {
  llvm::SmallVector<llvm::Type*, 4> types;
  for (Value argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(e_.b.getVoidTy(), types, false);
  e_.b.CreateCall(type, Load(e_.b.getPtrTy(), Member(function)), arguments)->setDoesNotThrow();
}

Value DeferredAtomics::TakeCredit(unsigned lanes) {
  auto& b = e_.b;
  Value most = b.getInt64(PTX2CPU_DEFERRED_MAX_CREDIT);
  Value credit = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred_head, credit)));
  Value next = b.CreateAdd(credit, b.getInt64(lanes)), none = b.getInt64(0);
  Value has_some = b.CreateICmpSGE(credit, none);
  // What begins to wait again does so with full credit: it has to find its entries first.
  Value begins = b.CreateAnd(b.CreateNot(has_some), b.CreateICmpSGE(next, none));
  next = b.CreateSelect(begins, most, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, most));
  Store(next, Member(offsetof(ptx2cpu_deferred_head, credit)));
  return b.CreateAnd(has_some, IsPrepared());
}

uint32_t DeferredAtomics::FormBits() const {
  const uint32_t wide = ir::Bytes(found_.type) == 8 ? PTX2CPU_DEFERRED_64 : 0;
  if (found_.operation != AtomicOp::kFAdd) return FormOf(found_.operation).form | wide;
  return PTX2CPU_DEFERRED_FADD | wide | (found_.flush ? PTX2CPU_DEFERRED_FLUSH : 0);
}

void DeferredAtomics::EmitLogged(Value address, Value operand, const std::function<void()>& at_once) {
  auto& b = e_.b;
  llvm::BasicBlock *direct = e_.body.NewBlock("at_once"), *look = e_.body.NewBlock("look"),
                   *missing = e_.body.NewBlock("no_entry"), *log = e_.body.NewBlock("log"),
                   *done = e_.body.NewBlock("logged");
  b.CreateCondBr(IsPrepared(), look, direct);
  b.SetInsertPoint(direct);
  at_once();
  b.CreateBr(done);
  b.SetInsertPoint(look);
  Value lowest = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred_head, lowest))),
        end = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred_head, end)));
  b.CreateCondBr(b.CreateAnd(b.CreateICmpUGE(address, lowest), b.CreateICmpULT(address, end)), log, missing);
  b.SetInsertPoint(missing);  // a bad address faults here, and not when the log is applied
  at_once();
  Call(offsetof(ptx2cpu_deferred_head, enter), {Table(), address, b.getInt32(FormBits())});
  b.CreateBr(done);
  b.SetInsertPoint(log);
  llvm::Type* word = b.getIntNTy(operand->getType()->getScalarSizeInBits());
  Value bits = b.CreateZExt(b.CreateBitCast(operand, word), b.getInt64Ty());
  Call(offsetof(ptx2cpu_deferred_head, append), {Table(), address, b.getInt32(FormBits()), bits});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void DeferredAtomics::Emit(Value address, Value operand, const std::function<void()>& at_once) {
  if (decided_ && !*decided_) return at_once();
  if (found_.logged) return EmitLogged(address, operand, at_once);
  auto& b = e_.b;
  const Form& form = FormOf(found_.operation);
  llvm::Type* word = e_.m.TypeOf(found_.type);
  llvm::BasicBlock *look = e_.body.NewBlock("look"), *found = e_.body.NewBlock("entry"),
                   *missing = e_.body.NewBlock("no_entry"), *done = e_.body.NewBlock("deferred");
  if (decided_) {
    b.CreateBr(look);
  } else {
    llvm::BasicBlock* direct = e_.body.NewBlock("at_once");
    b.CreateCondBr(TakeCredit(1), look, direct);
    b.SetInsertPoint(direct);
    at_once();
    b.CreateBr(done);
  }
  b.SetInsertPoint(look);
  constexpr uint64_t kBytes = sizeof(ptx2cpu_deferred_entry);
  static_assert(kBytes % 4 == 0);
  Value offset = b.CreateAnd(b.CreateMul(address, b.getInt64(kBytes / 4)),
                             b.getInt64((PTX2CPU_DEFERRED_ENTRIES - 1) * kBytes));
  Value entry =
      b.CreateInBoundsGEP(b.getInt8Ty(), Member(offsetof(ptx2cpu_deferred, entries)), offset, "entry");
  Value known = Load(b.getInt64Ty(), entry);
  b.CreateCondBr(b.CreateICmpEQ(known, address), found, missing,
                 llvm::MDBuilder(e_.m.context).createLikelyBranchWeights());
  b.SetInsertPoint(found);
  Value at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), entry, offsetof(ptx2cpu_deferred_entry, value));
  Value old = Load(word, at);
  Store(form.combine(b, old, operand), at);
  b.CreateBr(done);
  b.SetInsertPoint(missing);
  at_once();
  Call(offsetof(ptx2cpu_deferred_head, enter), {Table(), address, b.getInt32(FormBits())});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

// One test for several addresses: of a distance that is no word's of the range, or of what is from there to
// the last word, the sign or one of the low bits is set.
Value DeferredAtomics::OutsideBits(Value address) {
  auto& b = e_.b;
  const unsigned width = address->getType()->isVectorTy()
                             ? llvm::cast<llvm::FixedVectorType>(address->getType())->getNumElements()
                             : 1;
  Value first = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred, window_first))),
        last = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred, window_last)));
  Value distance = b.CreateSub(address, Broadcast(b, first, width));
  return b.CreateOr(distance, b.CreateSub(Broadcast(b, last, width), distance));
}

Value DeferredAtomics::IsInside(Value bits) {
  const uint64_t outside = uint64_t{1} << 63 | (static_cast<uint64_t>(ir::Bytes(found_.type)) - 1);
  return e_.b.CreateAnd(e_.b.CreateIsNull(e_.b.CreateAnd(bits, e_.b.getInt64(outside))), IsPrepared());
}

Value DeferredAtomics::CoversRange(Value first, Value second, Value last) {
  auto& b = e_.b;
  Value bits = b.CreateOr(OutsideBits(first), b.CreateOr(OutsideBits(second), OutsideBits(last)));
  return b.CreateAnd(IsInside(bits), b.CreateICmpULE(first, last));
}

DeferredAtomics::InWindow DeferredAtomics::FindInWindow(Value addresses, Value lanes) {
  auto& b = e_.b;
  Value bits = OutsideBits(addresses);
  if (lanes != nullptr) bits = b.CreateSelect(lanes, bits, Literal(bits, 0));
  auto narrow = [&](Value value) { return b.CreateTrunc(value, ShapedLike(value, b.getInt32Ty())); };
  const unsigned width = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  // From the window's begin on.
  Value window = b.CreatePtrToInt(Member(offsetof(ptx2cpu_deferred, window)), b.getInt64Ty());
  Value begin = narrow(b.CreateSub(WindowShift(), window));
  Value places = b.CreateAdd(narrow(addresses), Broadcast(b, begin, width));
  if (lanes != nullptr) places = b.CreateSelect(lanes, places, Literal(places, PTX2CPU_WINDOW_BYTES));
  return {IsInside(b.CreateOrReduce(bits)), places};
}

void DeferredAtomics::CombineWaiting(Value word, Value operand) {
  auto& b = e_.b;
  const llvm::Align align(static_cast<uint64_t>(ir::Bytes(found_.type)));
  llvm::LoadInst* old = b.CreateAlignedLoad(e_.m.TypeOf(found_.type), word, align);
  e_.m.Annotate(old, Memory::kSlot);
  Value sum = FormOf(found_.operation).combine(b, old, operand);
  e_.m.Annotate(b.CreateAlignedStore(sum, word, align), Memory::kSlot);
}

void DeferredAtomics::CombineAt(Value place, Value operand) {
  auto& b = e_.b;
  Value window = Member(offsetof(ptx2cpu_deferred, window));
  CombineWaiting(b.CreateInBoundsGEP(b.getInt8Ty(), window, b.CreateZExt(place, b.getInt64Ty()), "waiting"),
                 operand);
}

Value DeferredAtomics::WindowShift() {
  return Load(e_.b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred, window_shift)));
}

void DeferredAtomics::Before(const ir::Inst& inst, Value first, Value last, Value lanes, uint64_t bytes) {
  auto& b = e_.b;
  Value lowest = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred_head, lowest))),
        end = Load(b.getInt64Ty(), Member(offsetof(ptx2cpu_deferred_head, end)));
  Value must;
  if (RoleOf(inst) == Role::kOrders) {
    must = b.CreateICmpULT(lowest, end);
  } else {
    if (last == nullptr) last = first;
    const unsigned width = first->getType()->isVectorTy() ? e_.step->width : 1;
    Value below = b.CreateICmpULT(first, Broadcast(b, end, width));
    Value above = b.CreateICmpUGT(b.CreateAdd(last, Literal(last, bytes)), Broadcast(b, lowest, width));
    must = b.CreateAnd(below, above);
    if (lanes != nullptr) must = b.CreateAnd(must, lanes);
    if (must->getType()->isVectorTy()) must = b.CreateOrReduce(must);
  }
  must = b.CreateAnd(must, IsPrepared());
  llvm::BasicBlock *apply = e_.body.NewBlock("apply_deferred"), *go = e_.body.NewBlock("applied");
  b.CreateCondBr(must, apply, go, llvm::MDBuilder(e_.m.context).createUnlikelyBranchWeights());
  b.SetInsertPoint(apply);
  Call(offsetof(ptx2cpu_deferred_head, apply), {Table()});
  b.CreateBr(go);
  b.SetInsertPoint(go);
}

}  // namespace ptx2cpu::lowering
