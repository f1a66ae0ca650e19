// The words that a thread passes to the scheduler when it suspends at a block barrier.
#pragma once

#include <vector>

#include "ir/build.h"

namespace ptx2cpu::lowering {

// Barrier number, count (0: all threads) and, for reductions, the predicate; a barrier of the cluster has
// none.
inline std::vector<ir::ValueId> BarrierWords(ir::Builder& b, const ir::Inst& inst) {
  if (ir::IsClusterBarrier(inst.op)) return {};
  const bool reduces = !inst.results.empty();
  const size_t number = reduces ? 1 : 0;
  std::vector<ir::ValueId> words{inst.operands[number]};
  words.push_back(inst.operands.size() > number + 1 ? inst.operands[number + 1] : b.Const(ir::Type::kI32, 0));
  if (reduces) words.push_back(b.Convert(ir::Opcode::kZext, ir::Type::kI32, inst.operands[0]));
  return words;
}

}  // namespace ptx2cpu::lowering
