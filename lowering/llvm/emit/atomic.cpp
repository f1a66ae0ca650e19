// Read-modify-write. One host thread runs all of a block: atomics on shared memory and those of cta scope are
// plain sequences. Others are LLVM atomics where it has the operation, else compare-and-swap loops.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <optional>

#include "lowering/llvm/emit/float_rounding.h"
#include "lowering/llvm/emit/memory.h"
#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::lowering {

using ir::AtomicOp;
using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

template <typename Operation>
Value Halves(Site& s, Value a, Value b, Operation operation) {
  auto half = [&](Value word, uint64_t shift) {
    return s.b.CreateTrunc(s.b.CreateLShr(word, shift), s.e.I(16));
  };
  Value low = s.b.CreateZExt(operation(half(a, 0), half(b, 0)), s.e.I(32));
  Value high = s.b.CreateZExt(operation(half(a, 16), half(b, 16)), s.e.I(32));
  return s.b.CreateOr(low, s.b.CreateShl(high, 16));
}

Value MinMaxHalves(Site& s, Value old, Value operand, Type type, bool maximum) {
  Floats floats(s);
  return Halves(s, old, operand,
                [&](Value a, Value b) { return floats.MinMax(a, b, type, maximum, s.inst.attrs.flags); });
}
Value AddHalves(Site& s, Value old, Value operand, Type type) {
  Floats floats(s);
  return Halves(s, old, operand,
                [&](Value a, Value b) { return floats.Add(a, b, type, Rounding::kNearestEven); });
}

// Atomics on shared memory do not flush (H200), also when they reach it by a generic address.
Value AddAndFlush(Site& s, Value old, Value operand) {
  Floats floats(s);
  Type type = s.inst.type;
  Value kept = floats.Add(old, operand, type, Rounding::kNearestEven);
  Value sum = floats.Add(floats.Flush(old, type), floats.Flush(operand, type), type, Rounding::kNearestEven);
  Value flushed = floats.Flush(sum, type);
  if (s.inst.attrs.space != ir::Space::kGeneric) return flushed;
  return s.b.CreateSelect(InCluster(s, s.Raw(0)), kept, flushed);
}

// A sum whose result the next one waits for: where nothing is subnormal, nor the sum no number, it is the
// processor's, and the tests that find so are not in its way.
Value AddFloats(Site& s, Value old, Value operand) {
  const Type type = s.inst.type;
  if (!s.Has(ir::kFtz) || s.inst.attrs.space == ir::Space::kShared)
    return Floats(s).Add(old, operand, type, Rounding::kNearestEven);
  if (type != Type::kF32 || old->getType()->isVectorTy()) return AddAndFlush(s, old, operand);
  auto& b = s.b;
  Value sum = b.CreateFAdd(old, operand), common = b.CreateFCmpORD(sum, sum);
  for (Value value : {old, operand, sum}) {
    constexpr uint32_t kMagnitude = 0x7fffffff, kSubnormals = 0x7fffff;  // 1 to 0x7fffff
    Value bits = b.CreateAnd(b.CreateBitCast(value, b.getInt32Ty()), b.getInt32(kMagnitude));
    Value is_none = b.CreateICmpUGE(b.CreateSub(bits, b.getInt32(1)), b.getInt32(kSubnormals));
    common = b.CreateAnd(common, is_none);
  }
  llvm::BasicBlock *before = b.GetInsertBlock(), *rare = s.e.body.NewBlock("flush"),
                   *done = s.e.body.NewBlock("added");
  b.CreateCondBr(common, done, rare, llvm::MDBuilder(s.e.m.context).createLikelyBranchWeights());
  b.SetInsertPoint(rare);
  Value exact = AddAndFlush(s, old, operand);
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(sum->getType(), 2);
  result->addIncoming(sum, before);
  result->addIncoming(exact, end);
  return result;
}

}  // namespace

Value UpdateMbarrier(Site& s, Value old, Value change) {
  using namespace mbarrier;
  auto& b = s.b;
  auto part = [&](Value word, int shift, uint64_t mask) {
    return b.CreateAnd(shift == 0 ? word : b.CreateLShr(word, static_cast<uint64_t>(shift)),
                       Literal(word, mask));
  };
  auto at = [&](Value count, int shift) { return b.CreateShl(count, static_cast<uint64_t>(shift)); };
  Value pending = part(b.CreateSub(old, change), 0, kCountMask);
  Value expected =
      b.CreateSub(part(old, kExpectedShift, kCountMask), part(change, kExpectedShift, kCountMask));
  expected = part(expected, 0, kCountMask);
  Value bytes = b.CreateAdd(part(old, kBytesShift, kBytesMask), part(change, kBytesShift, kBytesMask));
  bytes = part(bytes, 0, kBytesMask);
  Value phase = part(old, kPhaseShift, 1);
  Value complete = b.CreateICmpEQ(b.CreateOr(pending, bytes), Literal(old, 0));
  Value next = b.CreateXor(phase, b.CreateZExt(complete, old->getType()));
  Value missing = b.CreateOr(b.CreateSelect(complete, expected, pending), at(bytes, kBytesShift));
  return b.CreateOr(b.CreateOr(missing, at(expected, kExpectedShift)), at(next, kPhaseShift));
}

namespace {

// The new value, from values of the instruction's type.
Value Combine(Site& s, Value old, Value operand) {
  auto& b = s.b;
  switch (s.inst.attrs.atomic) {
    case AtomicOp::kAdd:
      return b.CreateAdd(old, operand);
    case AtomicOp::kMinS:
      return b.CreateBinaryIntrinsic(intrinsic::smin, old, operand);
    case AtomicOp::kMinU:
      return b.CreateBinaryIntrinsic(intrinsic::umin, old, operand);
    case AtomicOp::kMaxS:
      return b.CreateBinaryIntrinsic(intrinsic::smax, old, operand);
    case AtomicOp::kMaxU:
      return b.CreateBinaryIntrinsic(intrinsic::umax, old, operand);
    case AtomicOp::kInc:
      return b.CreateSelect(b.CreateICmpUGE(old, operand), Literal(old, 0),
                            b.CreateAdd(old, Literal(old, 1)));
    case AtomicOp::kDec: {
      Value wraps = b.CreateOr(b.CreateICmpEQ(old, Literal(old, 0)), b.CreateICmpUGT(old, operand));
      return b.CreateSelect(wraps, operand, b.CreateSub(old, Literal(old, 1)));
    }
    case AtomicOp::kAnd:
      return b.CreateAnd(old, operand);
    case AtomicOp::kOr:
      return b.CreateOr(old, operand);
    case AtomicOp::kXor:
      return b.CreateXor(old, operand);
    case AtomicOp::kFAdd:
      return AddFloats(s, old, operand);
    case AtomicOp::kFMin:
      return Floats(s).MinMax(old, operand, s.inst.type, false, s.inst.attrs.flags);
    case AtomicOp::kFMax:
      return Floats(s).MinMax(old, operand, s.inst.type, true, s.inst.attrs.flags);
    case AtomicOp::kAddF16x2:
      return AddHalves(s, old, operand, Type::kF16);
    case AtomicOp::kAddBF16x2:
      return AddHalves(s, old, operand, Type::kBF16);
    case AtomicOp::kMinF16x2:
      return MinMaxHalves(s, old, operand, Type::kF16, false);
    case AtomicOp::kMaxF16x2:
      return MinMaxHalves(s, old, operand, Type::kF16, true);
    case AtomicOp::kMinBF16x2:
      return MinMaxHalves(s, old, operand, Type::kBF16, false);
    case AtomicOp::kMaxBF16x2:
      return MinMaxHalves(s, old, operand, Type::kBF16, true);
    case AtomicOp::kMbarrier:
      return UpdateMbarrier(s, old, operand);
    case AtomicOp::kNone:
    case AtomicOp::kExchange:
      break;
  }
  return operand;  // exchange
}

std::optional<llvm::AtomicRMWInst::BinOp> NativeOperation(const Site& s) {
  using Native = llvm::AtomicRMWInst;
  switch (s.inst.attrs.atomic) {
    case AtomicOp::kAdd:
      return Native::Add;
    case AtomicOp::kMinS:
      return Native::Min;
    case AtomicOp::kMinU:
      return Native::UMin;
    case AtomicOp::kMaxS:
      return Native::Max;
    case AtomicOp::kMaxU:
      return Native::UMax;
    case AtomicOp::kAnd:
      return Native::And;
    case AtomicOp::kOr:
      return Native::Or;
    case AtomicOp::kXor:
      return Native::Xor;
    case AtomicOp::kExchange:
      return Native::Xchg;
    case AtomicOp::kNone:
    case AtomicOp::kInc:
    case AtomicOp::kDec:
    case AtomicOp::kFAdd:
    case AtomicOp::kFMin:
    case AtomicOp::kFMax:
    case AtomicOp::kAddF16x2:
    case AtomicOp::kAddBF16x2:
    case AtomicOp::kMinF16x2:
    case AtomicOp::kMaxF16x2:
    case AtomicOp::kMinBF16x2:
    case AtomicOp::kMaxBF16x2:
    case AtomicOp::kMbarrier:
      break;
  }
  return std::nullopt;
}

// No other thread of the host comes between a load and a store.
bool IsUndisturbed(const Site& s) {
  return s.inst.attrs.space == ir::Space::kShared || s.inst.attrs.space == ir::Space::kLocal ||
         s.inst.attrs.scope == ir::Scope::kCta || s.e.lone.IsAlone(s.inst);
}

struct Place {
  Value pointer;
  Memory memory;
  llvm::Type* word;  // integer of the access's size
  llvm::Align align;
};

Result<Place> PlaceOf(Site& s) {
  if (s.e.step->level != ir::Level::kLane) return s.Broken("an atomic above lane level");
  if (s.inst.attrs.space == ir::Space::kLocal) return s.Unsupported("local memory");
  Place place;
  place.pointer = s.e.memory.Pointer(s.inst.attrs.space, s.inst.operands[0], &place.memory);
  CheckAlignment(s, {0, static_cast<uint64_t>(ir::Bytes(s.inst.type))});
  if (s.e.deferred.Precede(s.inst)) s.e.deferred.Before(s.inst, nullptr, nullptr, nullptr, 0);
  place.word = s.e.I(s.Width());
  place.align = llvm::Align(static_cast<uint64_t>(ir::Bytes(s.inst.type)));
  if (s.Width() == 128 && !IsUndisturbed(s) && !s.e.m.traits.has_atomic_128)
    return s.Unsupported("this target has no 128-bit atomics");
  return place;
}

Value AsWord(Site& s, Value value) { return Floats(s).AsBits(value, s.inst.type); }
Value FromWord(Site& s, Value word) { return s.b.CreateBitCast(word, s.e.m.TypeOf(s.inst.type)); }

// Plain accesses of different lanes to the same place: they must not be declared independent.
Value LoadWord(Site& s, const Place& place) {
  llvm::LoadInst* load = s.b.CreateAlignedLoad(place.word, place.pointer, place.align);
  s.e.m.Annotate(load, place.memory);
  return load;
}
void StoreWord(Site& s, const Place& place, Value word) {
  llvm::StoreInst* store = s.b.CreateAlignedStore(word, place.pointer, place.align);
  s.e.m.Annotate(store, place.memory);
}

Value CompareAndSwapLoop(Site& s, const Place& place, Value operand, llvm::AtomicOrdering order) {
  llvm::BasicBlock *before = s.b.GetInsertBlock(), *again = s.e.body.NewBlock("try"),
                   *done = s.e.body.NewBlock("swapped");
  llvm::LoadInst* first = s.b.CreateAlignedLoad(place.word, place.pointer, place.align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  s.b.CreateBr(again);
  s.b.SetInsertPoint(again);
  llvm::PHINode* old = s.b.CreatePHI(place.word, 2);
  old->addIncoming(first, before);
  Value updated = AsWord(s, Combine(s, FromWord(s, old), operand));
  llvm::AtomicCmpXchgInst* swap =
      s.b.CreateAtomicCmpXchg(place.pointer, old, updated, place.align, order,
                              llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order));
  s.e.m.Annotate(swap, place.memory);
  old->addIncoming(s.b.CreateExtractValue(swap, 0), s.b.GetInsertBlock());
  s.b.CreateCondBr(s.b.CreateExtractValue(swap, 1), done, again);
  s.b.SetInsertPoint(done);
  return old;
}

// Reads, combines and writes; the word that was there.
Value Apply(Site& s, const Place& place, Value operand) {
  llvm::AtomicOrdering order = OrderingOf(s.inst.attrs.order);
  if (s.e.lone.IsOpen(s.inst)) {
    return s.e.lone.Either([&] { return Apply(s, place, operand); },
                           [&] { return Apply(s, place, operand); });
  }
  if (IsUndisturbed(s)) {
    Value old = LoadWord(s, place);
    StoreWord(s, place, AsWord(s, Combine(s, FromWord(s, old), operand)));
    return old;
  }
  auto native = NativeOperation(s);
  if (!native) return CompareAndSwapLoop(s, place, operand, order);
  auto* atomic = s.b.CreateAtomicRMW(*native, place.pointer, AsWord(s, operand), place.align, order);
  s.e.m.Annotate(atomic, place.memory);
  return atomic;
}

// Stores where the word is the one that is compared with; the word that was there.
Value Swap(Site& s, const Place& place) {
  if (s.e.lone.IsOpen(s.inst))
    return s.e.lone.Either([&] { return Swap(s, place); }, [&] { return Swap(s, place); });
  if (IsUndisturbed(s)) {
    Value old = LoadWord(s, place);
    StoreWord(s, place, s.b.CreateSelect(s.b.CreateICmpEQ(old, s.Raw(1)), s.Raw(2), old));
    return old;
  }
  llvm::AtomicOrdering order = OrderingOf(s.inst.attrs.order);
  auto* swap = s.b.CreateAtomicCmpXchg(place.pointer, s.Raw(1), s.Raw(2), place.align, order,
                                       llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order));
  s.e.m.Annotate(swap, place.memory);
  return s.b.CreateExtractValue(swap, 0);
}

}  // namespace

Status EmitAtomic(Site& s) {
  if (s.inst.attrs.atomic == AtomicOp::kNone) return s.Broken("names no operation");
  Place place = TRY(PlaceOf(s));
  if (s.e.deferred.Waits(s.inst) && !s.e.lone.IsAlone(s.inst)) {
    s.Return(llvm::Constant::getNullValue(s.e.m.TypeOf(s.inst.type)));  // is not read
    s.e.deferred.Emit(s.Raw(0), s.Raw(1), [&] { Apply(s, place, s.Raw(1)); });
    return {};
  }
  s.Return(FromWord(s, Apply(s, place, s.Raw(1))));
  return {};
}

Status EmitReduceBulk(Site& s) {
  Place to = TRY(PlaceOf(s));
  Memory memory;
  Value from = s.e.memory.Pointer(ir::Space::kGeneric, s.inst.operands[1], &memory), bytes = s.Raw(2);
  FaultUnlessBulk(s, {s.Raw(0), s.Raw(1)}, {bytes}, kBulkAlign);
  const Value first = to.pointer;
  const auto step = static_cast<uint32_t>(ir::Bytes(s.inst.type));
  return s.e.body.Loop(s.b.CreateUDiv(bytes, s.b.getInt32(step)), "element", [&](Value index) -> Status {
    to.pointer = s.b.CreateGEP(to.word, first, s.b.CreateZExt(index, s.e.I(64)));
    Place source{s.b.CreateGEP(to.word, from, s.b.CreateZExt(index, s.e.I(64))), memory, to.word, to.align};
    Apply(s, to, FromWord(s, LoadWord(s, source)));
    return {};
  });
}

Status EmitAtomicCas(Site& s) {
  Place place = TRY(PlaceOf(s));
  s.Return(Swap(s, place));
  return {};
}

}  // namespace ptx2cpu::lowering
