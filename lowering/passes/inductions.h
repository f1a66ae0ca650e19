// How a variable of a loop grows from trip to trip.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

struct InductionStep {
  ir::Opcode op;  // kAdd or kSub
  ir::ValueId by;
};

// What is added to `param` on the way to `value`, first step first; every step satisfies `is_uniform`.
// Nothing where something else is done to it, or more than a few steps are taken.
std::optional<std::vector<InductionStep>> StepsTo(const ir::Function& f, ir::ValueId value, ir::ValueId param,
                                                  const std::function<bool(ir::ValueId)>& is_uniform);

}  // namespace ptx2cpu::lowering
