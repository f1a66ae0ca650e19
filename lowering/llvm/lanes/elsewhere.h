// Computes values of another region, for code that prefetches the data of its accesses.
#pragma once

#include <set>

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// While it lives, values are those of the step's first thread, in its block or in the next one of the grid's
// order. The step is scalar.
class Elsewhere {
 public:
  enum class Block : uint8_t { kThis, kNext };
  Elsewhere(FunctionEmitter& e, Block block) : e_(e), values_(e.values), block_(block) {}

  // Provides a value that is known here, such as the counter of a loop that takes the same trips.
  void Give(ir::ValueId id, llvm::Value* value);
  // Null: it depends on more than the places of thread and block, parameters and provided values.
  llvm::Value* Compute(ir::ValueId id);

 private:
  llvm::Value* Place(const ir::Inst& inst);

  FunctionEmitter& e_;
  ValueMap::Overrides values_;
  const Block block_;
  std::set<uint32_t> known_;
};

}  // namespace ptx2cpu::lowering
