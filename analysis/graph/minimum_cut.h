// Minimum cut of nodes with prices in a directed graph, by maximum flow (Boost.Graph).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ptx2cpu::analysis {

struct CutGraph {
  std::vector<uint64_t> prices;                      // per node
  std::vector<std::pair<uint32_t, uint32_t>> edges;  // from, to
  std::vector<uint32_t> sources, sinks;              // a node may be both: it is cut then
};

// Returns the cheapest set of nodes that every path from a source to a sink meets; of several such sets, the
// one nearest to the sinks. Equal graphs have equal results.
std::vector<bool> MinimumCut(const CutGraph& graph);

}  // namespace ptx2cpu::analysis
