// Checks of the accesses of all lanes.
#pragma once

#include <functional>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class AccessCheck;

class LaneChecks : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitCheck(const ir::Inst& inst, const Mask& mask);
  void EmitCheckSync(const ir::Inst& inst, const Mask& mask);

 private:
  void ForEachCall(const Mask& mask, const std::function<void(unsigned from, llvm::Value* lanes)>& call);
  llvm::Value* AllInside(const AccessCheck& check, ir::ValueId address, const Mask& mask);
  void CallChecks(const AccessCheck& check, const ir::Inst& inst, const Mask& mask);
  void CallEach(const AccessCheck& check, llvm::Value* addresses, const Mask& mask);
  void CallRows(const AccessCheck& check, llvm::Value* first, int64_t stride, const Mask& mask);
};

}  // namespace ptx2cpu::lowering
