#include "runtime/check/counted_barriers.h"

#include <algorithm>

#include "runtime/abi/limits.h"

namespace ptx2cpu::rt::check {

void CountedBarriers::Arrive(uint32_t thread, uint32_t ptx_line, uint32_t barrier, uint32_t count) {
  Arrivals& arrivals = barriers_[{barrier, count}];
  if (arrivals.times.size() <= thread) arrivals.times.resize(thread + 1);
  ++arrivals.times[thread];
  arrivals.thread = thread;
  arrivals.ptx_line = ptx_line;
}

// A warp counts as a whole, however many threads it has.
std::optional<CountedBarriers::Short> CountedBarriers::ShortOne() const {
  for (const auto& [barrier, arrivals] : barriers_) {
    uint64_t warps = 0;
    for (size_t first = 0; first < arrivals.times.size(); first += PTX2CPU_WARP_SIZE) {
      const size_t end = std::min<size_t>(first + PTX2CPU_WARP_SIZE, arrivals.times.size());
      warps += *std::max_element(arrivals.times.begin() + static_cast<ptrdiff_t>(first),
                                 arrivals.times.begin() + static_cast<ptrdiff_t>(end));
    }
    const auto [number, count] = barrier;
    const auto arrived = static_cast<uint32_t>(warps * PTX2CPU_WARP_SIZE % count);
    if (arrived != 0) return Short{number, count, arrived, arrivals.thread, arrivals.ptx_line};
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::rt::check
