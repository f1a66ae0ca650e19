// Atomics of all lanes at one address: the lanes' operands are combined, and one of them goes to memory.
//
//   for each active lane: old[lane] = fetch_add(p, v[lane])
//   ->   old = broadcast(fetch_add(p, sum of v)) + sums of v before each lane
//
// It is the order in which the lanes follow each other at once, which the memory model allows. And what lanes
// do before an access that may observe atomics which wait in the worker's table.
#include <llvm/IR/Constants.h>

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

Status LaneVectors::EmitCombined(const ir::Inst& inst, const Mask& mask) {
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

void LaneVectors::ApplyDeferredBefore(const ir::Inst& inst, const Mask& mask) {
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
