// Atomics of all lanes at one address: the lanes' operands are combined, and one of them goes to memory.
//
//   for each active lane: old[lane] = fetch_add(p, v[lane])
//   ->   old = broadcast(fetch_add(p, sum of v)) + sums of v before each lane
//
// It is the order in which the lanes follow each other at once, which the memory model allows. And what lanes
// do before an access that may observe atomics which wait in the worker's table.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <span>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::AtomicOp;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

Value Identity(AtomicOp op, llvm::Type* type) {
  const unsigned bits = type->getScalarSizeInBits();
  auto all = [&](const llvm::APInt& number) { return llvm::ConstantInt::get(type, number); };
  if (op == AtomicOp::kAnd || op == AtomicOp::kMinU) return all(llvm::APInt::getAllOnes(bits));
  if (op == AtomicOp::kMinS) return all(llvm::APInt::getSignedMaxValue(bits));
  if (op == AtomicOp::kMaxS) return all(llvm::APInt::getSignedMinValue(bits));
  return all(llvm::APInt::getZero(bits));
}

Value Reduced(llvm::IRBuilder<>& b, AtomicOp op, Value values) {
  if (op == AtomicOp::kAdd) return b.CreateAddReduce(values);
  if (op == AtomicOp::kAnd) return b.CreateAndReduce(values);
  if (op == AtomicOp::kOr) return b.CreateOrReduce(values);
  if (op == AtomicOp::kXor) return b.CreateXorReduce(values);
  const bool is_signed = op == AtomicOp::kMinS || op == AtomicOp::kMaxS;
  const bool is_min = op == AtomicOp::kMinS || op == AtomicOp::kMinU;
  return is_min ? b.CreateIntMinReduce(values, is_signed) : b.CreateIntMaxReduce(values, is_signed);
}

// For each lane the sum of those before it (Hillis and Steele 1986).
Value SumsBefore(llvm::IRBuilder<>& b, Value values, unsigned width) {
  Value none = llvm::Constant::getNullValue(values->getType());
  auto moved = [&](Value from, unsigned by) {
    llvm::SmallVector<int, 64> source;  // the last ones of the first vector are zeros
    for (unsigned lane = 0; lane < width; ++lane) source.push_back(static_cast<int>(width + lane - by));
    return b.CreateShuffleVector(none, from, source);
  };
  Value sums = moved(values, 1);
  for (unsigned by = 1; by < width; by *= 2) sums = b.CreateAdd(sums, moved(sums, by));
  return sums;
}

}  // namespace

Status LaneAtomics::EmitCombined(const ir::Inst& inst, const Mask& mask) {
  const AtomicOp op = inst.attrs.atomic;
  const ValueId operand = inst.operands[1];
  Value values = Vector(e.values.Get(operand));
  values = b.CreateSelect(mask.lanes, values, Identity(op, values->getType()));
  for (ValueId result : inst.results) e.values.ForgetSequence(result);
  {
    ValueMap::Overrides all(e.values);
    all.Set(operand, {Reduced(b, op, values), nullptr, nullptr});
    TRY_STATUS(EmitScalar(inst));
  }
  if (op != AtomicOp::kAdd) return {};  // the result is not read
  Value old = Vector(e.values.Get(inst.results[0]));
  e.values.SetShaped(inst.results[0], {b.CreateAdd(old, SumsBefore(b, values, width_)), nullptr, nullptr});
  return {};
}

// -- deferred atomics --

namespace {

constexpr int kMaxIndexBits = 16;  // of indices of which all values may be in the window

// Whether what is made of the source is a sum of things that are the same in all lanes and a multiple of it.
// Not in 16 bits, where sums may wrap around between three words that are in the window; in 32 bits, those
// that wrap around are in none.
bool IsLinear(ValueId source, std::span<const ir::Inst* const> made) {
  using enum ir::Opcode;
  for (const ir::Inst* inst : made) {
    const bool wraps_far = inst->op == kZext || ir::Bits(inst->type) >= 32;
    if (!wraps_far || (inst->attrs.flags & ir::kSat) != 0) return false;
    const bool is_linear = inst->op == kZext || inst->op == kMul || inst->op == kAdd ||
                           inst->op == kToGeneric || inst->op == kFromGeneric ||
                           (inst->op == kShl && inst->operands[0] == source);
    if (!is_linear) return false;
    source = inst->results[0];
  }
  return true;
}

}  // namespace

// Atomics that wait, if all lanes' words are in the worker's window, from which the code continues at
// `after`. A lane takes two instructions then.
Status LaneAtomics::CombineInWindow(const ir::Inst& inst, const Mask& mask, llvm::BasicBlock* after) {
  Value addresses = e.values.Get(inst.operands[0]), operand = e.values.Get(inst.operands[1]);
  if (!addresses->getType()->isVectorTy()) return {};
  std::vector<const ir::Inst*> made;
  const ValueId source = v.one_by_one.NarrowSource(inst, inst.operands[0], made);
  if (!made.empty() && ir::Bits(f.type_of(source)) <= kMaxIndexBits && IsLinear(source, made))
    return CombineRange(inst, mask, after);
  const auto found = e.deferred.FindInWindow(addresses, IsAll(mask) ? nullptr : mask.lanes);
  Value wanted = found.all;
  if (!IsAll(mask)) {  // where few lanes are active, the others would be most of the work
    Value count = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, Bits(mask));
    wanted = b.CreateAnd(wanted, b.CreateICmpUGE(count, Literal(count, width_ / 4)));
  }
  llvm::BasicBlock *window = e.body.NewBlock("window"), *search = e.body.NewBlock("search");
  b.CreateCondBr(wanted, window, search);
  b.SetInsertPoint(window);
  auto stored = [&](Value vector) -> Value {
    if (!vector->getType()->isVectorTy()) return nullptr;
    Value array = e.body.Scratch(vector->getType()->getScalarType(), width_);
    b.CreateAlignedStore(vector, array, llvm::Align(64));
    return array;
  };
  Value places = stored(found.places), operands = stored(operand);
  auto element = [&](Value array, Value vector, Value lane) -> Value {
    llvm::Type* type = vector->getType()->getScalarType();
    return array == nullptr ? vector : b.CreateLoad(type, b.CreateInBoundsGEP(type, array, lane));
  };
  TRY_STATUS(v.one_by_one.AllLanes([&](Value lane) -> Status {
    e.deferred.CombineAt(element(places, found.places, lane), element(operands, operand, lane));
    return {};
  }));
  b.CreateBr(after);
  b.SetInsertPoint(search);
  return {};
}

// The same where the address is a base and a multiple of an index of few bits: all words that such an index
// can choose are in the window.
Status LaneAtomics::CombineRange(const ir::Inst& inst, const Mask& mask, llvm::BasicBlock* after) {
  std::vector<Stored> operands = v.one_by_one.StoreOperands(inst, false);
  const auto address =
      std::ranges::find_if(operands, [](const Stored& operand) { return !operand.remade.empty(); });
  const unsigned bits = static_cast<unsigned>(ir::Bits(f.type_of(address->id)));
  auto word_of = [&](uint64_t index) -> Result<Value> {
    CurrentStep::Scope scope(e.step, ScalarStep());
    ValueMap::Overrides elements(e.values);
    elements.Set(address->id, {b.getIntN(bits, index), nullptr, nullptr});
    TRY_STATUS(v.one_by_one.Remake(*address, elements));
    return e.values.Get(inst.operands[0]);
  };
  Value first = TRY(word_of(0)), second = TRY(word_of(1)), last = TRY(word_of((uint64_t{1} << bits) - 1));
  llvm::BasicBlock *window = e.body.NewBlock("window"), *search = e.body.NewBlock("search");
  b.CreateCondBr(e.deferred.CoversRange(first, second, last), window, search);
  b.SetInsertPoint(window);
  Value begin = b.CreateIntToPtr(b.CreateAdd(first, e.deferred.WindowShift()), b.getPtrTy()),
        distance = b.CreateSub(second, first);
  auto combine = [&](Value lane, std::span<const Stored> from) {
    return v.one_by_one.AtLane(lane, from, [&]() -> Status {
      Value index = b.CreateZExt(e.values.Get(address->id), b.getInt64Ty());
      Value word = b.CreateGEP(b.getInt8Ty(), begin, b.CreateMul(index, distance));
      e.deferred.CombineWaiting(word, e.values.Get(inst.operands[1]));
      return {};
    });
  };
  llvm::BasicBlock *all = e.body.NewBlock("all_lanes"), *some = e.body.NewBlock("some_lanes");
  b.CreateCondBr(AllOf(mask), all, some);
  b.SetInsertPoint(all);
  TRY_STATUS(v.one_by_one.AllLanesFrom(operands, combine));
  b.CreateBr(after);
  b.SetInsertPoint(some);
  TRY_STATUS(v.one_by_one.EachOf(mask, [&](Value lane) { return combine(lane, operands); }));
  b.CreateBr(after);
  b.SetInsertPoint(search);
  return {};
}

void LaneAtomics::ApplyDeferredBefore(const ir::Inst& inst, const Mask& mask) {
  if (!e.deferred.Precede(inst)) return;
  const ShapedValue address = e.values.Shaped(inst.operands[0]);
  if (!address.value->getType()->isVectorTy()) return;  // what runs once for all lanes looks on its own
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type)) * ElementCount(inst);
  if (address.first == nullptr) {
    e.deferred.Before(inst, address.value, nullptr, IsAll(mask) ? nullptr : mask.lanes, bytes);
    return;
  }
  // Where the lanes turn out to be elsewhere, what waits is applied.
  const int64_t way = ShapeOf(inst.operands[0]).stride * static_cast<int64_t>(width_ - 1);
  Value last = b.CreateAdd(address.first, Literal(address.first, static_cast<uint64_t>(way)));
  Value low = way < 0 ? last : address.first, high = way < 0 ? address.first : last;
  if (address.holds != nullptr) {
    low = b.CreateSelect(address.holds, low, Literal(low, 0));
    high = b.CreateSelect(address.holds, high, Literal(high, ~bytes));
  }
  e.deferred.Before(inst, low, high, nullptr, bytes);
}

}  // namespace ptx2cpu::lowering
