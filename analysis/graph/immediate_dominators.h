// The immediate dominator of each node (Lengauer and Tarjan 1979, by Boost.Graph).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ptx2cpu::analysis {

// `edges`: from, to. ~0 for the root and for nodes that it does not reach.
std::vector<uint32_t> ImmediateDominators(uint32_t nodes,
                                          const std::vector<std::pair<uint32_t, uint32_t>>& edges,
                                          uint32_t root);

}  // namespace ptx2cpu::analysis
