#include "ir/parameters.h"

namespace ptx2cpu::ir {

std::optional<uint64_t> DistanceInParameters(const Function& f, ValueId address) {
  uint64_t distance = 0;
  for (;;) {
    const InstId def = f.at_value(address).def;
    if (!def.valid()) return std::nullopt;
    const Inst& inst = f.at_inst(def);
    if (inst.op == Opcode::kParamBase) return distance;
    if (inst.op != Opcode::kAdd) return std::nullopt;
    const InstId number = f.at_value(inst.operands[1]).def;
    if (!number.valid() || f.at_inst(number).op != Opcode::kConst) return std::nullopt;
    distance += f.at_inst(number).attrs.bits;
    address = inst.operands[0];
  }
}

}  // namespace ptx2cpu::ir
