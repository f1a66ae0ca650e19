// Contraction: a product and the sums that use it become fused multiply-adds where the text leaves it open.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::ptx {

// A product, sum or difference of floats that was written without a rounding modifier.
struct Unrounded {
  ir::InstId inst;
  uint32_t statement_block;  // of control_graph.h
};

// The rules are those of ptxas 13 (recorded in tests/ptx/contraction.gpu): a product is contracted if each of
// its uses, negated or not, is a sum or difference without a stated rounding, in the same statement block and
// with the same .ftz. Where two products meet in a sum, the first operand is contracted. Products that are
// clamped (.sat) or doubled (t + t) stay.
void Contract(ir::Function& f, const std::vector<Unrounded>& unrounded, bool keeps_registers);

}  // namespace ptx2cpu::ptx
