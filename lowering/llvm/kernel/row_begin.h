// Values of a row's first thread, computed where the row begins.
#pragma once

#include <functional>
#include <set>

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

class RowBegin {
 public:
  // `computes`: instructions that may be emitted here too. The current step is the row's first thread.
  RowBegin(FunctionEmitter& e, std::function<bool(const ir::Inst&)> computes)
      : e_(e), computes_(std::move(computes)), sequences_(e.values), values_(e.values) {}
  // Null: it needs more than those instructions.
  llvm::Value* Of(ir::ValueId id);

 private:
  FunctionEmitter& e_;
  const std::function<bool(const ir::Inst&)> computes_;
  ValueMap::LaneRegionScope sequences_;
  ValueMap::Overrides values_;
  std::set<uint32_t> computed_;
};

}  // namespace ptx2cpu::lowering
