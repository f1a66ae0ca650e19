// Branches of a kernel that resumes lanes at which the lanes of a warp may diverge, and the same kernel for
// warps whose lanes do not diverge: see partings.cpp.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "lowering/passes.h"

namespace ptx2cpu::lowering {

// Where lanes may part: a block with nothing but the branch; they continue there, each for itself.
struct Parting {
  ir::BlockId branch;
  uint32_t point = 0;  // resume point
  struct Kept {
    uint32_t slot = 0;
    ir::Type type = ir::Type::kVoid;
    ir::ValueId value;  // none: 0
  };
  std::vector<Kept> slots;  // what those of the function hold for a lane that continues there
};

// Whether kernels that resume lanes may have such code: not where the caller has chosen a tier or an order of
// lanes.
bool TriesTogether(const PassOptions& options);

// Divides the blocks of those branches that regions need lanes to take together. The error names what keeps
// the kernel from having such code.
std::expected<std::vector<Parting>, TierReason> DivideAtPartings(const ir::Module& module, ir::Function& f,
                                                                 const PassOptions& options);

// Makes a copy of that function the code of warps whose lanes are together: it asks at each of the branches
// whether they agree, and leaves where they do not. It resumes warps where it has barriers, or loops that may
// wait for another thread.
Status RunTogether(ir::Module& module, ir::Function& copy, const std::vector<Parting>& partings);

// Loops that may wait let other warps run (defer_waits.cpp).
Status DeferWaitsOfWarps(ir::Module& module, ir::Function& f);

}  // namespace ptx2cpu::lowering
