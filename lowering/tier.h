// Which tier a kernel needs, and why.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {

struct TierReason {
  ir::Resumes needs = ir::Resumes::kNever;
  std::string what;    // "a barrier for part of the block"
  ir::Position at;
};

struct TierChoice {
  ir::Resumes resumes = ir::Resumes::kNever;
  std::vector<TierReason> reasons;  // those of the tier that was chosen first, in program order
};

// For a kernel after split-at-barriers. A forced tier (options.tier) has no reasons.
TierChoice DecideTier(const ir::Module& module, const ir::Function& f, const PassOptions& options);

}  // namespace ptx2cpu::lowering
