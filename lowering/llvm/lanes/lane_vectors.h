// Emission of a lane region for all lanes of a warp at once: a value that differs between lanes is a vector,
// lanes that have diverged execute the code one after the other under masks (Allen et al. 1983; Karrenberg
// and Hack 2011).
//
// clang-format off
//   if (x < n) y = p[x];   ->   m = all & (x < n);  if (any(m)) y' = masked load p + x, m;  y = select(m, y', y)
//   while (x < n) x += s;  ->   m = all; do { ...; left |= m & !(x < n); x_out = select(.., x, x_out); m &= x < n; } while (any(m))
// clang-format on
//
// Code that no lane reaches is skipped where it costs or must not run. Code that all of the level's lanes or
// none reach needs no masks. A sequence base + stride * lane exists twice, as vector and as its first lane's
// value, so that consecutive accesses are one access. Instructions that cannot be vectors run lane by lane.
//
// Each part has one responsibility; the parts reach each other through this class (`v`).
#pragma once

#include "lowering/llvm/lanes/access_checks.h"
#include "lowering/llvm/lanes/accesses.h"
#include "lowering/llvm/lanes/atomics.h"
#include "lowering/llvm/lanes/bounds.h"
#include "lowering/llvm/lanes/by_sight.h"
#include "lowering/llvm/lanes/computations.h"
#include "lowering/llvm/lanes/flow.h"
#include "lowering/llvm/lanes/gathers.h"
#include "lowering/llvm/lanes/groups.h"
#include "lowering/llvm/lanes/half_pairs.h"
#include "lowering/llvm/lanes/lane_loops.h"
#include "lowering/llvm/lanes/locals.h"
#include "lowering/llvm/lanes/masks.h"
#include "lowering/llvm/lanes/meets.h"
#include "lowering/llvm/lanes/one_by_one.h"
#include "lowering/llvm/lanes/order_of_memory.h"
#include "lowering/llvm/lanes/partings.h"
#include "lowering/llvm/lanes/prefetch.h"
#include "lowering/llvm/lanes/records.h"
#include "lowering/llvm/lanes/sides.h"
#include "lowering/llvm/lanes/slots.h"
#include "lowering/llvm/lanes/strided.h"
#include "lowering/llvm/lanes/textures.h"
#include "lowering/llvm/lanes/two_runs.h"
#include "lowering/llvm/lanes/whole_trips.h"

namespace ptx2cpu::lowering {

struct LaneVectors {
  LaneVectors(FunctionEmitter& e, const LanePlan& plan);
  // `live` (<W x i1>): the lanes that enter, at least one; null: all. `mixed`: the block to which a step
  // whose lanes diverge at the bounds of the data may branch before it has had any effect; null: there is
  // none.
  Status Run(llvm::Value* live, llvm::BasicBlock* mixed = nullptr);

  FunctionEmitter& e;
  LaneRegion region;
  const unsigned width;
  const bool is_wide;
  LaneFlow flow{*this};
  LaneMasks masks{*this};
  LaneMeets meets{*this};
  LaneBounds bounds{*this};
  LaneSides sides{*this};
  LanePartings partings{*this};
  LaneLoops loops{*this};
  WholeTrips trips{*this};
  LaneComputations computations{*this};
  LaneHalves halves{*this};
  LaneRuns runs{*this};
  LanesBySight by_sight{*this};
  LanesOneByOne one_by_one{*this};
  LaneAccesses accesses{*this};
  LaneGathers gathers{*this};
  LaneStrides strides{*this};
  GroupedAccesses groups{*this};
  LaneRecords records{*this};
  OrderOfMemory order{*this};
  LanePrefetch prefetch{*this};
  LaneAtomics atomics{*this};
  LaneSlots slots{*this};
  LaneLocals locals{*this};
  LaneTextures textures{*this};
  LaneChecks checks{*this};
};

}  // namespace ptx2cpu::lowering
