#include "analysis/memory/lane_overlaps.h"

#include <algorithm>
#include <tuple>

#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {
namespace {

void SortUnique(std::vector<LaneMeeting>& all) {
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

std::vector<LaneMeeting> FindMeetings(
    std::vector<LaneBytes> all, size_t most,
    const std::function<bool(const LaneBytes& a, const LaneBytes& b)>& never) {
  std::ranges::sort(all, {}, [](const LaneBytes& b) { return std::tuple(b.from, b.access, b.lane); });
  std::vector<LaneMeeting> meetings;
  size_t steps = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size() && all[k].from < all[i].to; ++k) {
      if (++steps > most * all.size()) return {};
      const bool in_order = all[i].access < all[k].access;
      const LaneBytes &a = in_order ? all[i] : all[k], &b = in_order ? all[k] : all[i];
      if (a.lane == b.lane || a.access == b.access || (!a.writes && !b.writes) || never(a, b)) continue;
      meetings.push_back({a.access, b.access, static_cast<int32_t>(b.lane - a.lane)});
    }
    if (meetings.size() < most * kWarpSize) continue;
    SortUnique(meetings);
    if (meetings.size() >= most * kWarpSize) break;
  }
  SortUnique(meetings);
  return meetings;
}

}  // namespace ptx2cpu::analysis
