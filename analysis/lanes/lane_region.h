// The code that the lanes of a warp run between two boundaries, seen as all lanes run it at once: the nesting
// of its loops, which lanes reach which block, and which values differ between lanes. Reads IR only.
//
// Blocks are put into an order in which a loop's blocks are together after its head and every edge except
// those back to a head leads forward (Bourdoncle's weak topological order), so that lanes that have diverged
// can execute the code one after the other, each instruction under the mask of those that reach it.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/lanes/region_table.h"
#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

struct EdgeRef {
  ir::BlockId from;
  uint32_t number = 0;
  friend auto operator<=>(const EdgeRef&, const EdgeRef&) = default;
};

struct LaneRegion {
  static constexpr uint32_t kNone = ~0u;

  // A block or a loop, in the order of its level. The first of a level has all the level's lanes.
  struct Item {
    ir::BlockId block;  // of a loop: its head
    uint32_t loop = kNone;
    std::vector<EdgeRef> in, out;  // edges of this level that lead there; edges that leave it
    bool ends = false;             // a lane's run may end inside
    uint32_t same_as = kNone;      // an earlier item that has exactly the same lanes
    bool together = true;          // all the level's lanes reach it, or none
  };
  struct Level {
    std::vector<Item> items;
    uint32_t parent = kNone;
    // For a loop:
    std::vector<EdgeRef> latches, exits;
    std::vector<ir::ValueId> live_out;  // made inside, read outside
    bool leaves_together = true;        // all lanes leave in the same trip
    bool turns_together = true;         // ... and until then all take every trip
    uint32_t item = kNone;              // its place among its parent's items
    // Where it begins and ends when the nest is walked: a level inside begins in between.
    uint32_t begin = 0, end = 0;
  };
  std::vector<Level> levels;         // [0]: the region
  RegionTable<uint32_t> level_of;    // by block
  RegionTable<uint32_t> item_of;     // by block: its place among that level's items
  std::vector<bool> used_elsewhere;  // by value: read in another block, or handed over by an edge
  RegionTable<ThreadShape> shapes;   // by value, where it is made
  std::vector<bool> meets;        // by value: lanes bring it from several places: supposed to be a sequence
  std::vector<bool> from_memory;  // by value: see values_from_memory.h
  // By value: how far each lane's is from the first lane's: see lane_patterns.h.
  struct Pattern {
    std::vector<int64_t> distances;
    bool is_certain = false;  // where the operands have theirs; else supposed, and to be tested
  };
  std::unordered_map<uint32_t, Pattern> patterns;
  std::vector<ir::BlockId> blocks;

  bool Contains(uint32_t level, ir::BlockId block) const {
    const uint32_t at = level_of[block.index];
    return at != kNone && levels[level].begin <= levels[at].begin && levels[at].begin < levels[level].end;
  }
};

struct LaneRegionOptions {
  bool private_shared = false;
  // The lanes are consecutive threads of a block of any shape, of one of shape (n, 1, 1), or of one row: same
  // tid.y and tid.z, consecutive tid.x, but any lane numbers.
  enum class Threads : uint8_t { kAnyShape, kOneDimensional, kRow } threads = Threads::kAnyShape;
  // How many, a power of two. The first one's number in its warp, or of a row its tid.x, is a multiple of
  // this. More than a vector can hold: shapes only, no patterns.
  static constexpr unsigned kMaxVector = 64;
  unsigned width = 32;
  std::function<bool(ir::ValueId)> varies_outside;  // of values made above lane level
  // For a row: tid.x of the first thread may be any number.
  bool begins_anywhere = false;
  std::vector<ir::ValueId> in_one_row = {};  // of divisions whose quotient all lanes share (row_quotients.h)
};

// Nothing for code that has a loop with two entries.
std::optional<LaneRegion> FindLaneRegion(const ir::Function& f, ir::BlockId entry,
                                         const LaneRegionOptions& options);

}  // namespace ptx2cpu::analysis
