// The instruction that defines a value, where there is one.
#pragma once

#include <optional>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Null: a parameter of a block.
inline const ir::Inst* DefinitionOf(const ir::Function& f, ir::ValueId value) {
  const ir::InstId def = f.at_value(value).def;
  return def.valid() ? &f.at_inst(def) : nullptr;
}

// The bits of a constant.
inline std::optional<uint64_t> NumberOf(const ir::Function& f, ir::ValueId value) {
  const ir::Inst* inst = DefinitionOf(f, value);
  return inst != nullptr && inst->op == ir::Opcode::kConst ? std::optional(inst->attrs.bits) : std::nullopt;
}

}  // namespace ptx2cpu::analysis
