// Writes the decisions about loops over threads into the report, where one is wanted. Internal to this
// folder.
#pragma once

#include <string>

#include "lowering/llvm/lanes/lane_plan.h"

namespace ptx2cpu::lowering {

// The reason why a region has no vectors.
struct Obstacle {
  std::string what;
  uint32_t ptx_line = 0;
};

void ReportVectors(const FunctionEmitter& e, const LanePlan& plan);
void ReportScalar(const FunctionEmitter& e, ir::BlockId entry, const Obstacle& why);

}  // namespace ptx2cpu::lowering
