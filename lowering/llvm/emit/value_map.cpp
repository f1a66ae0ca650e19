#include "lowering/llvm/emit/value_map.h"

#include <algorithm>

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
  if (e_.step->level == ir::Level::kLane && e_.step->width < kWarpSize) return PartOf(id, shaped.value);
  return shaped.value;
}

// The lanes of the step of a value that warp-level code has computed for the whole warp: from an array, since
// the step's first lane is a loop's counter.
llvm::Value* ValueMap::PartOf(ir::ValueId id, llvm::Value* whole) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(whole->getType());
  const ir::BlockId made = e_.f.at_value(id).block;
  if (type == nullptr || !made.valid() || e_.f.at_block(made).level == ir::Level::kLane) return whole;
  llvm::IRBuilder<>& b = e_.b;
  const bool is_bit = type->getElementType()->isIntegerTy(1);
  llvm::Type* element = is_bit ? b.getInt8Ty() : type->getElementType();
  llvm::AllocaInst*& array = arrays_[whole];
  if (array == nullptr) {
    array = e_.body.Scratch(element, kWarpSize);
    auto store = [&] {
      llvm::Value* stored = is_bit ? b.CreateZExt(whole, ShapedLike(whole, element)) : whole;
      b.CreateAlignedStore(stored, array, llvm::Align(64));
    };
    if (auto* def = llvm::dyn_cast<llvm::Instruction>(whole)) {
      llvm::IRBuilder<>::InsertPointGuard guard(b);
      b.SetInsertPoint(def->getParent(), *def->getInsertionPointAfterDef());
      store();
    } else {
      e_.body.AtEntry([&]() -> llvm::Value* { return store(), nullptr; });
    }
  }
  const auto bytes = e_.m.module->getDataLayout().getTypeStoreSize(element).getFixedValue();
  llvm::Value* part = b.CreateAlignedLoad(llvm::FixedVectorType::get(element, e_.step->width),
                                          b.CreateInBoundsGEP(element, array, e_.step->lane),
                                          llvm::Align(std::min<uint64_t>(bytes * e_.step->width, 64)));
  return is_bit ? b.CreateICmpNE(part, Literal(part, 0)) : part;
}

ShapedValue ValueMap::Shaped(ir::ValueId id) {
  llvm::Value* value = Get(id);
  const ShapedValue& shaped = values_[id.index];
  return {value, shaped.first, shaped.holds, shaped.runs};
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
  for (ir::ValueId id : sequences_) ForgetSequence(id);
  sequences_.clear();
}

}  // namespace ptx2cpu::lowering
