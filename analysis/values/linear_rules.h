// Integer operations that keep the form base + strides, one function each.
#pragma once

#include <span>

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

struct LinearSite {
  const ir::Function& f;
  const ThreadGroup& group;
  const ir::Inst& inst;
  std::span<const ThreadShape> operands;  // none of them unknown or without a form
  bool in_address = false;                // an address is computed from the result, and its form is tested
};
// The result's shape, or kVaryingShape if the rule has nothing better. The kind is not filled.
using LinearRule = ThreadShape (*)(const LinearSite& site);
LinearRule LinearRuleOf(ir::Opcode op);  // null: the operation keeps no form

}  // namespace ptx2cpu::analysis
