#include "analysis/memory/lane_meetings.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {
namespace {

// Two accesses and the distance from the lane of one to that of the other, plus a warp, in one number: there
// are millions, and they are sorted.
using Packed = uint64_t;
constexpr uint32_t kDistanceBits = 8, kAccessBits = 28;
static_assert(2 * kWarpSize <= 1U << kDistanceBits);

Packed Pack(const LaneBytes& a, const LaneBytes& b) {
  const LaneBytes &first = a.access < b.access ? a : b, &second = a.access < b.access ? b : a;
  return (static_cast<uint64_t>(first.access) << kAccessBits | second.access) << kDistanceBits |
         (kWarpSize + second.lane - first.lane);
}

void SortUnique(std::vector<Packed>& all) {
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

std::vector<LaneMeeting> Unpack(const std::vector<Packed>& meetings) {
  std::vector<LaneMeeting> found;
  for (size_t i = 0, end = 0; i < meetings.size(); i = end) {
    while (end < meetings.size() && meetings[end] >> kDistanceBits == meetings[i] >> kDistanceBits) ++end;
    LaneMeeting met{static_cast<uint32_t>(meetings[i] >> (kDistanceBits + kAccessBits)),
                    static_cast<uint32_t>(meetings[i] >> kDistanceBits & ((1U << kAccessBits) - 1)),
                    {}};
    const auto distance = static_cast<int32_t>(meetings[i] & ((1U << kDistanceBits) - 1));
    if (end == i + 1) met.distance = distance - static_cast<int32_t>(kWarpSize);
    found.push_back(met);
  }
  return found;
}

}  // namespace

std::vector<LaneMeeting> FindLaneMeetings(std::vector<LaneBytes> all, size_t max_pairs,
                                          const std::function<bool(uint32_t, uint32_t)>& may_matter) {
  std::ranges::sort(all, {}, [](const LaneBytes& b) { return std::tuple(b.from, b.access, b.lane); });
  const size_t limit = max_pairs * kWarpSize;
  std::vector<Packed> meetings;
  size_t steps = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size() && all[k].from < all[i].to; ++k) {
      if (++steps > max_pairs * all.size()) return {};
      if (all[i].lane == all[k].lane || all[i].access == all[k].access) continue;
      if (may_matter(all[i].access, all[k].access)) meetings.push_back(Pack(all[i], all[k]));
    }
    // Sorted only well beyond the limit: the same pairs meet lane after lane.
    if (meetings.size() < 4 * limit) continue;
    SortUnique(meetings);
    if (meetings.size() >= limit) break;
  }
  SortUnique(meetings);
  return Unpack(meetings);
}

}  // namespace ptx2cpu::analysis
