// Parallel regions (COX section 3.5, on a general control flow graph).
//
// A boundary of a level is a block of that level or a higher one. A region is the code between boundaries:
// it starts at one edge out of a boundary (or at the function's entry) and holds every block reached from
// there without meeting a boundary. Warp-level regions become loops over lanes, block-level ones loops over
// warps.
#pragma once

#include <utility>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

struct BlockEdge {
  ir::BlockId from;   // invalid: the function's entry
  uint32_t edge = 0;  // number of the edge in the terminator
  friend auto operator<=>(const BlockEdge&, const BlockEdge&) = default;
};

struct Region {
  BlockEdge entry;
  ir::BlockId head;
  std::vector<ir::BlockId> blocks;  // in reverse post order
  std::vector<BlockEdge> leaves;    // edges to boundaries
  std::vector<ir::BlockId> next;    // the boundaries they lead to; one at most in the Split phase
  bool ends_threads = false;        // holds a ret or exit
};

inline constexpr uint32_t kNoRegion = ~0u;

struct RegionMap {
  ir::Level level = ir::Level::kWarp;
  std::vector<Region> regions;
  // Per block: its region, or regions.size() + k after shared[k]; kNoRegion for boundaries and unreachable
  // blocks.
  std::vector<uint32_t> region_of;
  // Blocks where paths from several regions meet first (never in the Split phase); they and what only they
  // lead to are in no region.
  std::vector<ir::BlockId> shared;
  // Per shared block: itself and what only it leads to, likewise.
  std::vector<std::vector<ir::BlockId>> led_to;
  std::vector<std::pair<uint32_t, uint32_t>> opened;  // per boundary: regions entered from it, from and to
  uint32_t RegionAt(BlockEdge entry) const;           // kNoRegion when the edge leads to a boundary
};

// Regions between boundaries of `level` (kWarp or kBlock), by the levels that the blocks carry.
RegionMap FindRegions(const ir::Function& f, ir::Level level);

}  // namespace ptx2cpu::analysis
