// Addresses that are no sequence over the lanes and yet differ from the first lane's by numbers that are
// known: threads that take a record together, a few of them each, as in
//
//   p = records + 34 * (lane / 4) + 8 * (lane % 4)
//
// That the first lane's number is a multiple of what is divided by, and that nothing wraps around, is
// supposed: the code that uses a pattern tests it on the values that it is made of. Reads IR only.
#pragma once

#include <functional>
#include <optional>

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

// Fills region.patterns for the addresses of loads that vary, and for all that they are sums and multiples
// of.
void FindLanePatterns(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region);

// What the address of a load is a sum of, in the load's block and in other blocks of its loop that
// `always_runs` names: uniform values aside, each with a pattern of its own; numbers that it is multiplied by
// are not among them. Where each lane's value is the first lane's and its pattern, so is the address.
std::vector<ir::ValueId> PartsOfPattern(const ir::Function& f, const LaneRegion& region, const ir::Inst& load,
                                        const std::function<bool(ir::BlockId)>& always_runs);

// How a load with such an address is made of accesses of `lanes` neighbouring lanes each: of `bytes`, from
// `begin[n]` bytes after the first lane's element on.
struct LaneGroups {
  unsigned lanes = 0;
  int64_t bytes = 0;
  std::vector<int64_t> begin;
};
// Nothing where that is no gain, where each lane's element follows the one before, or where an access could
// touch a page that no lane's element is on.
std::optional<LaneGroups> GroupsOf(const std::vector<int64_t>& pattern, int64_t element_bytes,
                                   int64_t elements);

}  // namespace ptx2cpu::analysis
