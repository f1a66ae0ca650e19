#include "lowering/llvm/emit/value_map.h"

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

ValueMap::ValueMap(FunctionEmitter& e, std::vector<bool> varying)
    : e_(e), values_(e.f.values.size()), varying_(std::move(varying)) {}

llvm::Value* ValueMap::Get(ir::ValueId id) {
  ShapedValue& shaped = values_[id.index];
  if (gives_first_ && shaped.first != nullptr) return shaped.first;
  if (shaped.value == nullptr && IsVarying(id)) {
    Status status = Materialise(id);
    CHECK(status.has_value(), status ? "" : status.error().message);
  }
  CHECK(shaped.value != nullptr,
        "value " + std::to_string(id.index) + " of " + e_.f.name + " is used where it is not available");
  // A vector of warp-level code, seen from one of its lanes.
  if (e_.step->width == 1 && e_.step->level == ir::Level::kLane && shaped.value->getType()->isVectorTy()) {
    return e_.b.CreateExtractElement(shaped.value, e_.step->lane);
  }
  return shaped.value;
}

ShapedValue ValueMap::Shaped(ir::ValueId id) {
  return {Get(id), values_[id.index].first, values_[id.index].holds};
}

Status ValueMap::Materialise(ir::ValueId id) {
  const ir::Value& value = e_.f.at_value(id);
  CHECK(value.def.valid() && e_.step->width == kWarpSize,
        "a value that differs between threads is used at block level");
  TRY_STATUS(e_.EmitInst(e_.f.at_inst(value.def)));
  for (ir::ValueId result : e_.f.at_inst(value.def).results) materialised_.push_back(result);
  return {};
}

void ValueMap::ForgetMaterialised() {
  for (ir::ValueId id : materialised_) values_[id.index].value = nullptr;
  materialised_.clear();
}

void ValueMap::ForgetSequences() {
  for (ShapedValue& value : values_) value.first = value.holds = nullptr;
}

}  // namespace ptx2cpu::lowering
