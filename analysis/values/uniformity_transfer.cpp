#include "analysis/values/uniformity_transfer.h"

#include <algorithm>
#include <bit>

namespace ptx2cpu::analysis {

using ir::Opcode;

namespace {
constexpr ValueShape kBlockShape{Uniformity::kBlock};
constexpr ValueShape kWarpShape{Uniformity::kWarp};
constexpr ValueShape kVaryingShape{Uniformity::kVarying};
constexpr uint32_t kHugeAlign = 1u << 31;

ValueShape MakeAffine(int64_t stride, uint32_t base_align) {
  return {Uniformity::kAffine, stride, std::max(base_align, 1u)};
}
uint32_t AlignOf(uint64_t bits) {
  return bits == 0 ? kHugeAlign : 1u << std::min(std::countr_zero(bits), 31);
}
}  // namespace

const uint64_t* UniformityTransfer::Constant(ir::ValueId value) const {
  ir::InstId def = f_.at_value(value).def;
  if (!def.valid() || f_.at_inst(def).op != Opcode::kConst) return nullptr;
  return &f_.at_inst(def).attrs.bits;
}

ValueShape UniformityTransfer::SpecialRegister(const ir::Inst& inst) const {
  // Lanes are consecutive in x when y and z are 1 or x is a multiple of the warp size.
  bool whole_rows = launch_.x != 0 && launch_.x % 32 == 0;
  bool one_row = launch_.y == 1 && launch_.z == 1;
  switch (inst.attrs.special) {
    case ir::Special::kTidX:
      return whole_rows || one_row ? MakeAffine(1, 32) : kVaryingShape;
    case ir::Special::kTidY:
      if (launch_.y == 1) return kBlockShape;
      return whole_rows ? kWarpShape : kVaryingShape;
    case ir::Special::kTidZ:
      if (launch_.z == 1) return kBlockShape;
      return whole_rows || (launch_.x && launch_.y && launch_.x * launch_.y % 32 == 0) ? kWarpShape
                                                                                       : kVaryingShape;
    case ir::Special::kLaneId:
      return MakeAffine(1, kHugeAlign);
    case ir::Special::kWarpId:
      return kWarpShape;
    case ir::Special::kLaneMaskEq:
    case ir::Special::kLaneMaskLe:
    case ir::Special::kLaneMaskLt:
    case ir::Special::kLaneMaskGe:
    case ir::Special::kLaneMaskGt:
    case ir::Special::kClock:
    case ir::Special::kClockHi:
    case ir::Special::kClock64:
    case ir::Special::kGlobaltimer:
    case ir::Special::kGlobaltimerLo:
    case ir::Special::kGlobaltimerHi:
      return kVaryingShape;
    default:
      return kBlockShape;
  }
}

ValueShape UniformityTransfer::Memory(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const {
  if (inst.op == Opcode::kSlotLoad) {
    ir::Level shape = f_.slots[inst.attrs.index].shape;
    return shape == ir::Level::kBlock ? kBlockShape : shape == ir::Level::kWarp ? kWarpShape : kVaryingShape;
  }
  // Only memory that nobody writes while the kernel runs gives every lane the same value.
  bool frozen = inst.attrs.space == ir::Space::kConst || (inst.attrs.flags & ir::kNonCoherent) ||
                (inst.attrs.space == ir::Space::kParam && f_.is_kernel);
  if (inst.op != Opcode::kLoad || !frozen) return kVaryingShape;
  const ValueShape& address = shapes[inst.operands[0].index];
  return address.kind <= Uniformity::kWarp ? ValueShape{address.kind} : kVaryingShape;
}

ValueShape UniformityTransfer::Collective(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const {
  switch (inst.op) {
    case Opcode::kVoteAll:
    case Opcode::kVoteAny:
    case Opcode::kVoteUni:
    case Opcode::kBallot:
    case Opcode::kRedux:
    case Opcode::kElect: {  // one result for all members; members differ when the mask does
      if (inst.op == Opcode::kElect) return kVaryingShape;
      return shapes[inst.operands.back().index].kind <= Uniformity::kWarp ? kWarpShape : kVaryingShape;
    }
    default:
      return kVaryingShape;
  }
}

ValueShape UniformityTransfer::Affine(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const {
  auto shape = [&](size_t n) { return shapes[inst.operands[n].index]; };
  auto constant = [&](size_t n) { return n < inst.operands.size() ? Constant(inst.operands[n]) : nullptr; };
  auto stride = [&](size_t n) { return shape(n).kind == Uniformity::kAffine ? shape(n).stride : 0; };
  auto align = [&](size_t n) -> uint32_t {
    if (shape(n).kind == Uniformity::kAffine) return shape(n).base_align;
    const uint64_t* bits = Constant(inst.operands[n]);
    return bits ? AlignOf(*bits) : 1;
  };
  switch (inst.op) {
    case Opcode::kAdd:
    case Opcode::kSub: {
      if (inst.attrs.flags & ir::kSat) return kVaryingShape;
      int64_t sum = inst.op == Opcode::kAdd ? stride(0) + stride(1) : stride(0) - stride(1);
      return sum == 0 ? kWarpShape : MakeAffine(sum, std::min(align(0), align(1)));
    }
    case Opcode::kMul: {
      size_t affine = shape(0).kind == Uniformity::kAffine ? 0 : 1;
      const uint64_t* factor = constant(1 - affine);
      if (!factor || *factor > (1u << 20)) return kVaryingShape;
      if (*factor == 0) return kBlockShape;
      uint64_t scaled = std::min<uint64_t>(uint64_t{align(affine)} * AlignOf(*factor), kHugeAlign);
      return MakeAffine(stride(affine) * static_cast<int64_t>(*factor), static_cast<uint32_t>(scaled));
    }
    case Opcode::kShl: {
      const uint64_t* amount = constant(1);
      if (!amount || *amount > 20) return kVaryingShape;
      uint64_t scaled = std::min<uint64_t>(uint64_t{align(0)} << *amount, kHugeAlign);
      return MakeAffine(stride(0) * (int64_t{1} << *amount), static_cast<uint32_t>(scaled));
    }
    case Opcode::kShrU:
    case Opcode::kShrS:
    case Opcode::kAnd: {
      // base + lane with 32 | base: the bits above the lane are the base's.
      if (stride(0) != 1 || align(0) < 32 || !constant(1)) return kVaryingShape;
      uint64_t bits = *constant(1);
      if (inst.op != Opcode::kAnd) return bits >= 5 ? kWarpShape : kVaryingShape;
      if ((bits & 31) == 0) return kWarpShape;
      return (bits & 31) == 31 ? MakeAffine(1, bits == 31 ? kHugeAlign : 32) : kVaryingShape;
    }
    default:
      return kVaryingShape;
  }
}

ValueShape UniformityTransfer::Pure(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const {
  switch (inst.op) {
    case Opcode::kSpecialRegister:
      return SpecialRegister(inst);
    case Opcode::kToGeneric:
      if (inst.attrs.space == ir::Space::kLocal) return kVaryingShape;  // every thread has its own window
      break;
    default:
      break;
  }
  Uniformity worst = Uniformity::kBlock;
  for (ir::ValueId operand : inst.operands) worst = std::max(worst, shapes[operand.index].kind);
  if (worst <= Uniformity::kWarp) return {worst};
  return worst == Uniformity::kAffine ? Affine(inst, shapes) : kVaryingShape;
}

ValueShape UniformityTransfer::Result(const ir::Inst& inst, uint32_t, ir::Level level,
                                      const std::vector<ValueShape>& shapes) const {
  if (inst.op == Opcode::kAgree || inst.op == Opcode::kAgreeIndex) {
    return level == ir::Level::kBlock ? kBlockShape : kWarpShape;
  }
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
      return Pure(inst, shapes);
    case ir::Effect::kReads:
    case ir::Effect::kMemory:
    case ir::Effect::kWrites:
      return Memory(inst, shapes);
    case ir::Effect::kBarrier:
      return kBlockShape;  // a reduction is the same for all participants
    case ir::Effect::kCollective:
      return Collective(inst, shapes);
    default:
      return kVaryingShape;
  }
}

}  // namespace ptx2cpu::analysis
