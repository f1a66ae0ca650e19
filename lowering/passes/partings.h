// Branches of a kernel that resumes lanes at which the lanes of a warp may part, and the same kernel for
// warps whose lanes do not: see partings.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lowering/passes.h"

namespace ptx2cpu::lowering {

// Where lanes may part: a block with nothing but the branch; they continue there, each for itself.
struct Parting {
  ir::BlockId branch;
  uint32_t point = 0;  // resume point
  // What slots of the function hold for a lane that continues there.
  std::vector<std::pair<uint32_t, ir::ValueId>> slots;
};

// Divides the blocks of those branches that regions need lanes to take together. Nothing: there are none, or
// that would not be enough.
std::optional<std::vector<Parting>> DivideAtPartings(const ir::Module& module, ir::Function& f,
                                                     const PassOptions& options);

// What its code for warps whose lanes are together resumes: warps where it has barriers.
ir::Resumes ResumesOfTogether(const ir::Function& f);

// Makes a copy of that function the code of warps whose lanes are together: it asks at each of the branches
// whether they agree, and leaves where they do not.
void LeaveWhereLanesPart(ir::Function& copy, const std::vector<Parting>& partings);

}  // namespace ptx2cpu::lowering
