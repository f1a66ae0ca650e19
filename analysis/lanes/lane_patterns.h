// Addresses that are not a sequence over the lanes, but differ from the first lane's address by known
// numbers: a few threads read each record together, as in
//
//   p = records + 34 * (lane / 4) + 8 * (lane % 4)
//   p = tile + 4 * (tid ^ 2)
//
// Where the first lane's number is a multiple of the number of lanes, a pattern in its low bits is certain.
// Elsewhere the pattern, and that no sum wraps around, is an assumption, which the code that uses the pattern
// tests on the values that it is computed from. Reads IR only.
#pragma once

#include <functional>
#include <optional>

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

// Fills region.patterns for the addresses of loads and stores that vary, and for all that they are sums and
// multiples of.
void FindLanePatterns(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region);

// What the address of an access is made of, as far as the code before the access computes it for all lanes,
// also in other blocks of its loop that `always_runs` names: values with patterns of their own, uniform ones
// aside, and the widened sums among what lies between. Where each part's lanes differ by its pattern and no
// lane's sum wraps around when it is widened, the address has its pattern. Numbers that parts are multiplied
// by are not among them.
struct PatternParts {
  std::vector<ir::ValueId> parts;
  std::vector<ir::InstId> widened;  // zext and sext of 32-bit values
};
PatternParts PartsOfPattern(const ir::Function& f, const LaneRegion& region, const ir::Inst& access,
                            const std::function<bool(ir::BlockId)>& always_runs);

// How an access with such an address is made of accesses of some lanes each: of `bytes`, from `begin[n]`
// bytes after the first lane's element on. Lane l has its elements in group of_lane[l].
struct LaneGroups {
  std::vector<unsigned> of_lane;
  int64_t bytes = 0;
  std::vector<int64_t> begin;
};
// Groups of neighbouring lanes; `any_lanes`: also of lanes anywhere, where few accesses have all elements.
// Nothing where that is no gain, where each lane's element follows the one before, or where an access could
// touch a page that no lane's element is on.
std::optional<LaneGroups> GroupsOf(const std::vector<int64_t>& pattern, int64_t element_bytes,
                                   int64_t elements, bool any_lanes);
// By element of a group's access: which of the vector's lanes has it first, -1 where none has; each lane has
// `elements`.
std::vector<int> LanesOfGroup(const std::vector<int64_t>& pattern, const LaneGroups& groups, size_t group,
                              int64_t element_bytes, int64_t elements);
// No two lanes share a byte.
bool IsInjective(const std::vector<int64_t>& pattern, int64_t bytes);

}  // namespace ptx2cpu::analysis
