// Chooses the values that get a slot when regions become loops: the cheapest set from which every value that
// another region needs can be rebuilt there (Polygeist, section III-B1).
//
// Every value is a node of a graph. To cut a node is to keep the value in a slot, and its price is the slot's
// bytes for a warp. Flow enters at values that cannot be rebuilt (loads, parameters of blocks, results of
// collectives, divisions) and leaves at values that are needed in another place than their own; a minimum cut
// between them is the set of slots. Of several minimum cuts, the one nearest to the needed values rebuilds
// least and is taken. A value that would still take more than a few operations to rebuild counts as one that
// cannot be rebuilt.
#pragma once

#include "analysis/regions/regions.h"
#include "analysis/values/uniformity.h"

namespace ptx2cpu::analysis {

// Operations that it takes to rebuild the result of an instruction from its operands.
inline constexpr uint32_t kNeverRebuilt = 1000;
uint32_t RebuildOperations(const ir::Inst& inst);
// What a lane may spend to rebuild a value instead of loading it, and what a warp or block may (once).
inline constexpr uint32_t kLaneBudget = 5;
inline constexpr uint32_t kScalarBudget = 16;
// What a lane may spend where the value is linear in the thread's coordinates (linear_in_thread.h): most of
// it is done once for a vector of lanes, and the slot would hide the form.
inline constexpr uint32_t kLinearBudget = 32;

struct CrossingValues {
  std::vector<bool> stored;  // per value: has a slot, where it is needed
  uint32_t needed = 0;       // values that are needed in another place than their own
  uint32_t slots = 0;
  uint64_t slot_bytes = 0;  // for a warp
};

// In the Split phase. `lanes`: the regions between boundaries of warp level. `flat`: one loop over the
// block's threads, so what is uniform in a warp only counts as different.
CrossingValues ChooseStoredValues(const ir::Function& f, const RegionMap& lanes,
                                  const UniformityResult& uniformity, bool flat);

}  // namespace ptx2cpu::analysis
