#include "lowering/llvm/lanes/lane_part.h"

#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

LanePart::LanePart(LaneVectors& vectors)
    : v(vectors), e(v.e), f(e.f), b(e.b), region_(v.region), width_(v.width), is_wide_(v.is_wide) {}

// -- masks --

LaneMask LanePart::Empty() const {
  return {llvm::Constant::getNullValue(VectorOf(b.getInt1Ty())), b.getFalse()};
}

bool LanePart::IsAll(const Mask& mask) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(mask.lanes);
  return constant != nullptr && constant->isAllOnesValue();
}

bool LanePart::IsTrue(Value condition) {
  auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(condition);
  return constant != nullptr && constant->isOne();
}

Value LanePart::Bits(const Mask& mask) const { return b.CreateBitCast(mask.lanes, b.getIntNTy(width_)); }

Value LanePart::AnyOf(const Mask& mask) const { return mask.any != nullptr ? mask.any : NonZero(Bits(mask)); }

Value LanePart::AllOf(const Mask& mask) const {
  Value bits = Bits(mask);
  return b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
}

// Each lane's bit `count` times, for `count` elements of each lane.
Value LanePart::Repeated(Value lanes, size_t count) const {
  if (count == 1) return lanes;
  llvm::SmallVector<int, 128> from;
  for (unsigned i = 0; i < width_ * count; ++i) from.push_back(static_cast<int>(i / count));
  return b.CreateShuffleVector(lanes, from);
}

bool LanePart::HasMasksFor(const ir::Inst& inst) const {
  return ir::Bits(inst.type) < 32 ? e.m.traits.has_avx512 : e.m.traits.has_masked_words;
}

// -- values --

bool LanePart::IsOfVector(ir::InstId id) const {
  const ir::Inst& inst = f.at_inst(id);
  const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
  return access && !ShapeIn(e, region_, inst.operands[0]).uniform();
}

// -- accesses --

// The pointer of the first lane, if the sequence is known by the address of a lane after `lanes_before`
// others.
Value LanePart::FirstPointer(const ir::Inst& inst, Memory* memory, unsigned lanes_before) const {
  CurrentStep::Scope scope(e.step, ScalarStep());
  ValueMap::FirstLanes firsts(e.values);
  Value pointer = e.memory.Pointer(inst.attrs.space, inst.operands[0], memory);
  if (lanes_before == 0) return pointer;
  const int64_t bytes = ir::Bytes(inst.type) * static_cast<int64_t>(ElementCount(inst) * lanes_before);
  return b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(static_cast<uint64_t>(-bytes)));
}

// Consecutive lanes are as aligned as the first one, which may be elsewhere.
void LanePart::NoteMisaligned(const ir::Inst& inst, const Mask& mask, bool together) const {
  if (e.alignment.notes() == nullptr) return;
  for (const AlignedOperand& aligned : AlignedOperandsOf(f, inst)) {
    if (!e.alignment.notes()->Needs(inst, aligned.operand)) continue;
    const ValueId operand = inst.operands[aligned.operand];
    const ShapedValue shaped = e.values.Shaped(operand);
    Value address = together && shaped.first != nullptr ? shaped.first : shaped.value;
    Value low = b.CreateAnd(address, Literal(address, aligned.align - 1)),
          is_misaligned = b.CreateICmpNE(low, Literal(low, 0));
    if (is_misaligned->getType()->isVectorTy())
      is_misaligned = NonZero(Bits({b.CreateLogicalAnd(mask.lanes, is_misaligned)}));
    e.alignment.notes()->Note(inst, aligned.operand, is_misaligned);
  }
}

// -- the step --

LaneStep LanePart::ScalarStep() const {
  LaneStep scalar = *e.step;
  scalar.width = 1;
  return scalar;
}

Status LanePart::EmitScalar(const ir::Inst& inst) const {
  CurrentStep::Scope scope(e.step, ScalarStep());
  ValueMap::FirstLanes firsts(e.values);
  return e.EmitInst(inst);
}

}  // namespace ptx2cpu::lowering
