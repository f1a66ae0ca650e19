#include "analysis/lanes/numbers.h"

#include <algorithm>

#include "analysis/lanes/greatest_solution.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;

bool IsMinMax(const ir::Inst& inst) { return inst.op == Opcode::kFMin || inst.op == Opcode::kFMax; }

bool IsNumber(uint64_t bits, int width) {
  const uint64_t magnitude = bits << (64 - width) << 1;  // from the highest bit on
  const uint64_t infinity = width == 32 ? uint64_t{0xff} << 56 : uint64_t{0x7ff} << 53;
  return magnitude <= infinity;
}

struct NeverNan {
  using Element = bool;
  static constexpr bool kStrongest = true, kWeakest = false;

  bool Of(const ir::Function& f, const ir::Inst& inst, size_t number, const auto& operand, const auto& slot,
          bool /*before*/) const {
    const int width = ir::Bits(f.type_of(inst.results[number]));
    if (width != 32 && width != 64) return false;
    if (IsMinMax(inst))
      return (inst.attrs.flags & ir::kPropagateNan) != 0 ? operand(0) && operand(1)
                                                         : operand(0) || operand(1);
    if (inst.op == Opcode::kConst) return IsNumber(inst.attrs.bits, width);
    if (inst.op == Opcode::kSelect) return operand(1) && operand(2);
    if (inst.op == Opcode::kBitcast) return ir::Bits(f.type_of(inst.operands[0])) == width && operand(0);
    // A shuffle gives another lane's value, the lane's own or 0.
    if (inst.op == Opcode::kShuffle) return number == 0 && operand(0);
    if (inst.op == Opcode::kFAbs || inst.op == Opcode::kFNeg) return operand(0);
    if (inst.op == Opcode::kSlotLoad) return slot(inst.attrs.index);
    return inst.op == Opcode::kUndef;
  }
};

}  // namespace

std::vector<bool> FindNumbers(const ir::Function& f) {
  const bool any =
      std::ranges::any_of(f.insts, [](const ir::Inst& inst) { return inst.block.valid() && IsMinMax(inst); });
  return any ? GreatestSolution<NeverNan>(f).Solve() : std::vector<bool>();
}

std::vector<bool> FindOnlyCompared(const ir::Function& f) {
  std::vector<bool> only;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid() || !IsMinMax(inst) || ir::Bits(inst.type) < 32) continue;
    only.resize(f.values.size());
    only[inst.results[0].index] = true;
  }
  if (only.empty()) return only;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    // The sign of a NaN is in the result where signs are combined.
    const bool compares = IsMinMax(inst) && (inst.attrs.flags & ir::kXorSign) == 0;
    for (ir::ValueId operand : inst.operands) only[operand.index] = only[operand.index] && compares;
    for (const ir::Edge& edge : inst.edges) {
      for (ir::ValueId arg : edge.args) only[arg.index] = false;
    }
  }
  return only;
}

}  // namespace ptx2cpu::analysis
