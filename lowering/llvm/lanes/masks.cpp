#include "lowering/llvm/lanes/masks.h"

#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

// A lane outside the mask may hold any value, even a poison condition.
LaneMask LaneMasks::EdgeMask(const Mask& mask, Value condition) {
  if (condition->getType()->isVectorTy())
    return {IsAll(mask) ? condition : b.CreateLogicalAnd(mask.lanes, condition)};
  Value any = mask.any == nullptr ? nullptr : b.CreateLogicalAnd(mask.any, condition);
  return {b.CreateSelect(condition, mask.lanes, Empty().lanes), any, mask.active()};
}

LaneMask LaneMasks::Either(const std::vector<EdgeRef>& edges) {
  Mask all = Empty();
  for (EdgeRef edge : edges) {
    const Mask& mask = edges_.at(edge);
    all.lanes = edge == edges.front() ? mask.lanes : b.CreateOr(all.lanes, mask.lanes);
    bool known = all.any != nullptr && mask.any != nullptr;
    all.any = edge == edges.front() ? mask.any : known ? b.CreateOr(all.any, mask.any) : nullptr;
    all.within = edge == edges.front() || all.within == mask.within ? mask.within : nullptr;
  }
  return all;
}

LaneMasks::Guard LaneMasks::Open(const Mask& mask) {
  if (IsTrue(mask.any)) return {};
  Value any = AnyOf(mask);
  Guard guard{b.GetInsertBlock(), e.body.NewBlock("lanes_skip")};
  llvm::BasicBlock* inside = e.body.NewBlock("lanes");
  b.CreateCondBr(any, inside, guard.skip);
  b.SetInsertPoint(inside);
  return guard;
}

// What no lane has computed is zero: any value would do for inactive lanes, but not an undefined
// one.
void LaneMasks::Close(const Guard& guard, const std::vector<ValueId>& values,
                      const std::vector<EdgeRef>& edges) {
  if (guard.skip == nullptr) return;
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(guard.skip);
  b.SetInsertPoint(guard.skip);
  std::map<Value, Value> joined_values;  // runs of several values are those of the same lanes
  auto join = [&](Value value) -> Value {
    if (value == nullptr || llvm::isa<llvm::Constant>(value)) return value;
    Value& known = joined_values[value];
    if (known != nullptr) return known;
    llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, end);
    phi->addIncoming(llvm::Constant::getNullValue(value->getType()), guard.before);
    return known = phi;
  };
  for (ValueId id : values) {
    ShapedValue forms = e.values.Shaped(id);
    TwoRuns& runs = forms.runs;
    if (runs.second != nullptr) {
      for (Value& first : runs.first) first = join(first);
      runs.second = join(runs.second);
      runs.holds = join(runs.holds);
    }
    e.values.SetShaped(id, {join(forms.value), join(forms.first), join(forms.holds), runs});
  }
  for (EdgeRef edge : edges) {
    Mask& mask = edges_.at(edge);
    // Constants are not the same on both ways here.
    auto joined = [&](Value value) {
      llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
      phi->addIncoming(value, end);
      phi->addIncoming(llvm::Constant::getNullValue(value->getType()), guard.before);
      return phi;
    };
    mask.lanes = joined(mask.lanes);
    if (mask.any != nullptr) mask.any = joined(mask.any);
    if (mask.within != nullptr && !llvm::isa<llvm::Constant>(mask.within)) mask.within = nullptr;
  }
}

}  // namespace ptx2cpu::lowering
