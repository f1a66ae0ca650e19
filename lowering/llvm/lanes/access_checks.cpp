// Checks of the accesses of a lane region: of all lanes at once where the code can show that they are right.
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "lowering/llvm/emit/access_check.h"
#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {
constexpr unsigned kLanesOfCall = 64;
}

// i1: no active lane needs a call. For a sequence with all lanes active, the two ends decide.
Value LaneChecks::AllInside(const AccessCheck& check, ir::ValueId address, const Mask& mask) {
  const ShapedValue shaped = e.values.Shaped(address);
  if (shaped.shape() == ShapedValue::Shape::kUniform) return check.IsInside(shaped.value);
  const LaneShape& shape = ShapeOf(address);
  const auto align = static_cast<int64_t>(check.align());
  const bool is_row = shaped.first != nullptr && shape.affine() && shape.stride % align == 0;
  auto each = [&]() -> Value {
    Value outside = b.CreateNot(check.IsInside(shaped.value));
    if (!IsAll(mask)) outside = b.CreateAnd(outside, mask.lanes);
    return b.CreateNot(NonZero(Bits({outside})));
  };
  if (!is_row || !IsAll(mask)) return each();
  const auto way = static_cast<uint64_t>(shape.stride * static_cast<int64_t>(width_ - 1));
  Value ends = b.CreateAnd(check.IsInside(shaped.first),
                           check.IsInside(b.CreateAdd(shaped.first, Literal(shaped.first, way))));
  return shaped.holds == nullptr ? ends : b.CreateAnd(ends, shaped.holds);
}

// The calls for all active lanes: of sequences with where they begin, else with all addresses.
void LaneChecks::CallChecks(const AccessCheck& check, const ir::Inst& inst, const Mask& mask) {
  const ShapedValue shaped = e.values.Shaped(inst.operands[0]);
  const LaneShape shape = ShapeIn(e, region_, inst.operands[0]);
  const bool is_uniform = shaped.shape() == ShapedValue::Shape::kUniform;
  const bool is_row = is_uniform || (shaped.first != nullptr && shape.affine());
  if (!is_row) return CallEach(check, shaped.value, mask);
  Value first = is_uniform ? shaped.value : shaped.first;
  const int64_t stride = is_uniform ? 0 : shape.stride;
  if (is_uniform || shaped.holds == nullptr) return CallRows(check, first, stride, mask);
  llvm::BasicBlock *row = e.body.NewBlock("row"), *apart = e.body.NewBlock("apart"),
                   *done = e.body.NewBlock("checked");
  b.CreateCondBr(shaped.holds, row, apart, llvm::MDBuilder(e.m.context).createLikelyBranchWeights());
  b.SetInsertPoint(row);
  CallRows(check, first, stride, mask);
  b.CreateBr(done);
  b.SetInsertPoint(apart);
  CallEach(check, shaped.value, mask);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void LaneChecks::CallEach(const AccessCheck& check, Value addresses, const Mask& mask) {
  Value array = e.body.Scratch(b.getInt64Ty(), width_);
  b.CreateAlignedStore(addresses, array, llvm::Align(64));
  ForEachCall(mask, [&](unsigned from, Value lanes) {
    Value thread = b.CreateAdd(e.step->thread, b.getInt32(from), "thread", true, true);
    check.Call(thread, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), array, from), lanes);
  });
}

void LaneChecks::CallRows(const AccessCheck& check, Value first, int64_t stride, const Mask& mask) {
  ForEachCall(mask, [&](unsigned from, Value lanes) {
    Value thread = b.CreateAdd(e.step->thread, b.getInt32(from), "thread", true, true);
    const auto way = static_cast<uint64_t>(stride * static_cast<int64_t>(from));
    check.CallRow(thread, b.CreateAdd(first, Literal(first, way)), stride, lanes);
  });
}

// A call has a word for its lanes.
void LaneChecks::ForEachCall(const Mask& mask, const std::function<void(unsigned from, Value lanes)>& call) {
  Value bits = Bits(mask);
  for (unsigned from = 0; from < width_; from += kLanesOfCall) {
    Value part = from == 0 ? bits : b.CreateLShr(bits, Literal(bits, from));
    call(from, b.CreateZExtOrTrunc(part, b.getInt64Ty()));
  }
}

void LaneChecks::EmitCheckSync(const ir::Inst& inst, const Mask& mask) {
  Site site{e, b, inst};
  ForEachCall(mask, [&](unsigned from, Value lanes) {
    CallCheckSync(site, b.CreateAdd(e.step->thread, b.getInt32(from), "thread", true, true), lanes);
  });
}

Status LaneChecks::EmitCheck(const ir::Inst& inst, const Mask& mask) {
  Site site{e, b, inst};
  const AccessCheck check(site);
  if (!check.IsTested()) return CallChecks(check, inst, mask), Status{};
  llvm::BasicBlock *ask = e.body.NewBlock("check"), *done = e.body.NewBlock("checked");
  b.CreateCondBr(AllInside(check, inst.operands[0], mask), done, ask,
                 llvm::MDBuilder(e.m.context).createLikelyBranchWeights());
  b.SetInsertPoint(ask);
  CallChecks(check, inst, mask);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  return {};
}

}  // namespace ptx2cpu::lowering
