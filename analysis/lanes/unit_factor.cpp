#include "analysis/lanes/unit_factor.h"

#include "ir/float_format.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Inst;
using ir::InstId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr int kMaxDepth = 6;  // of bitcasts, and words that are put together and taken apart

bool IsUnit(const ir::Function& f, ValueId factor, Type type, int depth) {
  const InstId def = f.at_value(factor).def;
  if (!def.valid() || depth == 0) return false;
  const Inst& inst = f.at_inst(def);
  const auto is_unit = [&](ValueId value) { return IsUnit(f, value, type, depth - 1); };
  if (inst.op == Opcode::kConst) {
    const ir::FloatFormat& format = ir::FormatOf(type);
    const uint64_t magnitude = inst.attrs.bits & (format.sign_bit - 1);
    return magnitude == 0 || magnitude == static_cast<uint64_t>(format.bias) << format.fraction_bits;
  }
  if (inst.op == Opcode::kBitcast) return is_unit(inst.operands[0]);
  if (inst.op == Opcode::kSelect) return is_unit(inst.operands[1]) && is_unit(inst.operands[2]);
  if (inst.op != Opcode::kUnpack) return false;
  const InstId whole = f.at_value(inst.operands[0]).def;
  if (!whole.valid()) return false;
  const Inst& pack = f.at_inst(whole);
  return pack.op == Opcode::kPack && pack.operands.size() == inst.results.size() &&
         is_unit(pack.operands[f.at_value(factor).number]);
}

}  // namespace

bool IsUnitFactor(const ir::Function& f, ValueId factor) {
  return IsUnit(f, factor, f.type_of(factor), kMaxDepth);
}

}  // namespace ptx2cpu::analysis
