#include "ptx-parser/translate/ssa_builder.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

void SsaBuilder::SetBlock(ir::BlockId block) {
  b.block = block;
  constants_.clear();
}

void SsaBuilder::AddEdges(ir::InstId terminator) {
  for (uint32_t e = 0; e < f.at_inst(terminator).edges.size(); ++e) {
    ssa.AddEdge(terminator, e, f.at_inst(terminator).edges[e].to);
  }
}

ValueId SsaBuilder::Const(Type type, uint64_t bits) {
  if (ir::Bits(type) < 64) bits &= (uint64_t{1} << ir::Bits(type)) - 1;
  uint64_t key = bits * 16 + static_cast<uint64_t>(type);
  bool exact = bits >> 60 == 0;  // others would share keys
  if (exact) {
    if (auto it = constants_.find(key); it != constants_.end()) return it->second;
  }
  ValueId value = b.Const(type, bits);
  if (exact) constants_.emplace(key, value);
  return value;
}

ValueId SsaBuilder::Offset(ValueId address, int64_t offset) {
  if (offset == 0) return address;
  return b.Binary(Opcode::kAdd, Type::kI64, address, Const(Type::kI64, static_cast<uint64_t>(offset)));
}

void SsaBuilder::WriteVariable(Ssa::Variable variable, ValueId value) {
  if (delaying) {
    delayed.push_back({variable, value});
  } else {
    ssa.Write(variable, b.block, value);
  }
}

}  // namespace ptx2cpu::ptx
