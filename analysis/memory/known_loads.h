// Loads whose value the thread already has: it stored or loaded the same bytes before, and no thread can have
// written them since, barriers or not (Polygeist, section IV-B).
#pragma once

#include <vector>

#include "analysis/memory/barrier_intervals.h"

namespace ptx2cpu::analysis {

struct KnownLoad {
  ir::InstId load;
  ir::InstId source;                // a store or load of the same bytes, which dominates it
  std::vector<ir::ValueId> values;  // one per result of the load, of the same width each
};

// In the order of the function's blocks. Only weak accesses are considered, and only if all threads of the
// block are always in the same interval: then what others may write meanwhile is known.
std::vector<KnownLoad> FindKnownLoads(const ir::Function& f, const MemoryEffects& effects,
                                      const BarrierIntervals& intervals);

}  // namespace ptx2cpu::analysis
