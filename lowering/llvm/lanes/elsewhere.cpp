#include "lowering/llvm/lanes/elsewhere.h"

#include "lowering/llvm/lanes/counters.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMaxValues = 64;

bool MayCompute(const ir::Inst& inst) {
  if (inst.op == Opcode::kLoad) return inst.attrs.space == ir::Space::kParam;
  if (inst.op == Opcode::kSpecialRegister) {
    const ir::Varies varies = Info(inst.attrs.special).varies;
    return varies == ir::Varies::kAffineInTid || varies == ir::Varies::kUniformInGrid ||
           inst.attrs.special == ir::Special::kCtaidX || inst.attrs.special == ir::Special::kCtaidY ||
           inst.attrs.special == ir::Special::kCtaidZ;
  }
  const ir::OpcodeInfo& info = ir::Info(inst.op);
  return info.effect == ir::Effect::kPure && info.lanes == ir::Lanes::kAlone;
}

}  // namespace

void Elsewhere::Give(ValueId id, Value value) {
  values_.Set(id, ShapedValue{value});
  known_.insert(id.index);
}

Value Elsewhere::Compute(ValueId id) {
  if (known_.contains(id.index)) return e_.values.Get(id);
  const ir::Inst* inst = DefinitionOf(e_.f, id);
  if (inst == nullptr || known_.size() == kMaxValues || !MayCompute(*inst)) return nullptr;
  for (ValueId operand : inst->operands) {
    if (Compute(operand) == nullptr) return nullptr;
  }
  Value place = Place(*inst);
  for (ValueId result : inst->results) Give(result, place);
  return place != nullptr ? place : e_.EmitInst(*inst) ? e_.values.Get(id) : nullptr;
}

// The place in the next block; null: it does not differ between blocks.
Value Elsewhere::Place(const ir::Inst& inst) {
  if (block_ == Block::kThis || inst.op != Opcode::kSpecialRegister) return nullptr;
  const bool is_x = inst.attrs.special == ir::Special::kCtaidX;
  if (!is_x && inst.attrs.special != ir::Special::kCtaidY) return nullptr;
  llvm::IRBuilder<>& b = e_.b;
  const auto field = [&](size_t offset) { return e_.body.Field(offset, b.getInt32Ty(), "place"); };
  const auto follows = [&](unsigned axis) {
    return b.CreateAdd(field(offsetof(ptx2cpu_block, ctaid) + 4 * axis), b.getInt32(1));
  };
  const auto is_end = [&](unsigned axis) {
    return b.CreateICmpEQ(follows(axis), field(offsetof(ptx2cpu_block, nctaid) + 4 * axis));
  };
  if (is_x) return b.CreateSelect(is_end(0), b.getInt32(0), follows(0));
  Value goes_on = b.CreateAnd(is_end(0), b.CreateNot(is_end(1)));
  return b.CreateSelect(goes_on, follows(1), field(offsetof(ptx2cpu_block, ctaid) + 4));
}

}  // namespace ptx2cpu::lowering
