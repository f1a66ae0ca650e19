// The blocks to which threads that wait for another thread's store go, so that they delay no thread that
// could continue.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/regions/spin_loops.h"
#include "ir/function.h"

namespace ptx2cpu::lowering {

struct Waiting {
  analysis::SpinLoop loop;
  ir::BlockId target;                       // of the back edge
  ir::Level level = ir::Level::kBlock;      // that yields
  std::optional<ir::BlockId> barrier = {};  // before which threads gather; none: the back edge yields
};

// Simt, where barriers and collectives are alone in their blocks.
class WaitingPlaces {
 public:
  explicit WaitingPlaces(const ir::Function& f) : f_(f), predecessors_(ir::Predecessors(f)) {}

  // Nothing: no place is known where all threads of a level meet after the loop.
  std::optional<Waiting> Of(const analysis::SpinLoop& loop) const;

 private:
  std::optional<ir::Level> LevelOfBoundaries(ir::BlockId latch, ir::BlockId head) const;
  std::vector<ir::BlockId> BoundariesAfter(ir::BlockId from) const;
  std::optional<ir::Level> LevelOfMeeting(ir::BlockId boundary) const;

  const ir::Function& f_;
  const std::vector<std::vector<ir::BlockId>> predecessors_;
};

bool IsBoundary(const ir::Function& f, ir::BlockId block);

// The target of the back edge.
ir::BlockId TargetOf(const ir::Function& f, const analysis::SpinLoop& loop);

// The blocks to which control comes from these, not beyond those that `end` it.
std::vector<ir::BlockId> ReachedFrom(const ir::Function& f, const std::vector<ir::BlockId>& starts,
                                     const std::function<bool(ir::BlockId)>& end);

}  // namespace ptx2cpu::lowering
