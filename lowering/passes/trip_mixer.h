// Finds collectives that lanes may reach in different trips of a loop.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/uniformity.h"
#include "ir/function.h"

namespace ptx2cpu::lowering {

// Examines a function in the Simt phase.
class TripMixer {
 public:
  TripMixer(const ir::Function& f, const std::optional<analysis::LaunchShape>& launch);

  // Lanes with masks of their own may be at different executions of the collective; `id` is also an
  // instruction's of the function, or that of a copy that a pass has made.
  bool MayMix(ir::InstId id) const;

 private:
  bool IsBoundary(ir::BlockId block) const;
  std::optional<ir::BlockId> WhereNamed(ir::ValueId mask, int depth) const;
  bool StayTogether(ir::BlockId active, ir::BlockId collective) const;

  const ir::Function& f_;
  std::vector<bool> mixed_;  // by block
  bool any_ = false;
};

}  // namespace ptx2cpu::lowering
