#include "analysis/memory/lane_overlaps.h"

#include <algorithm>
#include <tuple>

#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {
namespace {

// Two accesses and the distance from the lane of one to that of the other, plus a warp, in one number, since
// millions of them are sorted.
using Packed = uint64_t;
constexpr uint32_t kDistanceBits = 8, kAccessBits = 28;
static_assert(2 * kWarpSize <= 1U << kDistanceBits);

Packed Pack(const LaneBytes& a, const LaneBytes& b) {
  return (static_cast<uint64_t>(a.access) << kAccessBits | b.access) << kDistanceBits |
         (kWarpSize + b.lane - a.lane);
}

LaneMeeting Unpack(Packed packed) {
  const auto distance = static_cast<int32_t>(packed & ((1U << kDistanceBits) - 1));
  return {static_cast<uint32_t>(packed >> (kDistanceBits + kAccessBits)),
          static_cast<uint32_t>(packed >> kDistanceBits & ((1U << kAccessBits) - 1)),
          distance - static_cast<int32_t>(kWarpSize)};
}

void SortUnique(std::vector<Packed>& all) {
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

std::vector<LaneMeeting> FindMeetings(
    std::vector<LaneBytes> all, size_t most,
    const std::function<bool(const LaneBytes& a, const LaneBytes& b)>& never) {
  std::ranges::sort(all, {}, [](const LaneBytes& b) { return std::tuple(b.from, b.access, b.lane); });
  const size_t limit = most * kWarpSize;
  std::vector<Packed> meetings;
  size_t steps = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size() && all[k].from < all[i].to; ++k) {
      if (++steps > most * all.size()) return {};
      const bool in_order = all[i].access < all[k].access;
      const LaneBytes &a = in_order ? all[i] : all[k], &b = in_order ? all[k] : all[i];
      if (a.lane == b.lane || a.access == b.access || (!a.writes && !b.writes) || never(a, b)) continue;
      meetings.push_back(Pack(a, b));
    }
    // Sorted only well beyond the limit: the same pairs meet lane after lane.
    if (meetings.size() < 4 * limit) continue;
    SortUnique(meetings);
    if (meetings.size() >= limit) break;
  }
  SortUnique(meetings);
  std::vector<LaneMeeting> found;
  for (const Packed packed : meetings) found.push_back(Unpack(packed));
  return found;
}

}  // namespace ptx2cpu::analysis
