// Finds lanes whose accesses have bytes in common.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ptx2cpu::analysis {

struct LaneBytes {
  int64_t from, to;       // from a base that all have in common
  uint32_t access, lane;  // numbers, that of an access below 2^28
  bool writes;
};
struct LaneMeeting {
  uint32_t a, b;     // accesses, a below b
  int32_t distance;  // from the lane of one to that of the other
  friend auto operator<=>(const LaneMeeting&, const LaneMeeting&) = default;
};

// Finds overlaps of different accesses in different lanes, one of which writes, except those that `never`
// names. They are in order, each once; if there are more than a multiple of `most`, only some or none.
std::vector<LaneMeeting> FindMeetings(
    std::vector<LaneBytes> all, size_t most,
    const std::function<bool(const LaneBytes& a, const LaneBytes& b)>& never);

}  // namespace ptx2cpu::analysis
