// The control flow graph of a function as plain adjacency: node i is block i, one more node is the virtual
// exit.
//
// Graph algorithms (dominators, loops, control dependence) work on this view, so that each of them can be
// computed for the function as it is, or for the function without some edges (see EdgeFilter).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

inline constexpr uint32_t kNoNode = ~0u;

struct Cfg {
  uint32_t entry = 0;
  uint32_t exit = 0;                              // virtual: every ret, exit, trap and end_* leads here
  std::vector<std::vector<uint32_t>> successors;  // without duplicates, in edge order
  std::vector<std::vector<uint32_t>> predecessors;
  std::vector<uint32_t> order;    // reverse post order of the reachable nodes, exit included
  std::vector<uint32_t> endless;  // nodes given an edge to exit because no path ends there
  uint32_t size() const { return static_cast<uint32_t>(successors.size()); }
  bool reachable(uint32_t node) const { return reached[node]; }
  std::vector<bool> reached;
};

// True keeps edge number `edge` of the terminator of `from`. A block that loses all its edges leads to the
// exit.
using EdgeFilter = std::function<bool(ir::BlockId from, uint32_t edge)>;

// Only reachable blocks have edges. Every reachable node reaches the exit: each endless loop gets one edge to
// it, from a block that satisfies `leaves` if it has one.
Cfg BuildCfg(const ir::Function& f, const EdgeFilter& keep = {},
             const std::function<bool(ir::BlockId)>& leaves = {});
// The graph of the blocks that are reached from `entry`, for example of a region.
Cfg BuildCfgFrom(const ir::Function& f, ir::BlockId entry, const EdgeFilter& keep = {},
                 const std::function<bool(ir::BlockId)>& leaves = {});
// The graph of `blocks`, which are all blocks that the first of them reaches: node i is blocks[i].
Cfg BuildCfgOf(const ir::Function& f, const std::vector<ir::BlockId>& blocks);

}  // namespace ptx2cpu::analysis
