#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace ptx2cpu::analysis {

// Bytes that one lane accesses, from a base that all accesses have in common.
struct LaneBytes {
  int64_t from = 0, to = 0;       // one past the last
  uint32_t access = 0, lane = 0;  // access: less than 2^28
};

// Two accesses of which a lane's bytes are another lane's too; `first` is the lower number.
struct LaneMeeting {
  uint32_t first = 0, second = 0;
  std::optional<int32_t> distance;  // from the lane of one to that of the other, where it is always the same
};

// The pairs that meet and that `may_matter`, in order; about `max_pairs` times the lanes of a warp are looked
// at, and none where more than `max_pairs` bytes meet each one on average.
std::vector<LaneMeeting> FindLaneMeetings(std::vector<LaneBytes> all, size_t max_pairs,
                                          const std::function<bool(uint32_t, uint32_t)>& may_matter);

}  // namespace ptx2cpu::analysis
