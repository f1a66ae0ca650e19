#include "runtime/check/counted_barriers.h"

#include "runtime/abi/limits.h"

namespace ptx2cpu::rt::check {

// A warp comes as a whole with the first of its threads, however many it has.
void CountedBarriers::Arrive(uint32_t thread, uint32_t ptx_line, uint32_t barrier, uint32_t count,
                             bool waits) {
  Arrivals& arrivals = barriers_[{barrier, count}];
  const uint32_t warp = thread / PTX2CPU_WARP_SIZE;
  if (arrivals.of_threads.size() <= thread) arrivals.of_threads.resize(thread + 1);
  if (arrivals.of_warps.size() <= warp) arrivals.of_warps.resize(warp + 1);
  arrivals.thread = thread;
  arrivals.ptx_line = ptx_line;
  if (++arrivals.of_threads[thread] <= arrivals.of_warps[warp]) return;
  arrivals.of_warps[warp] = arrivals.of_threads[thread];
  arrivals.waits = waits || (arrivals.warps != 0 && arrivals.waits);
  if (++arrivals.warps * PTX2CPU_WARP_SIZE >= count) arrivals.warps = 0;
}

std::optional<CountedBarriers::Short> CountedBarriers::ShortOne() const {
  for (const auto& [barrier, arrivals] : barriers_) {
    const auto [number, count] = barrier;
    if (arrivals.warps != 0 && arrivals.waits)
      return Short{number, count, arrivals.warps * PTX2CPU_WARP_SIZE, arrivals.thread, arrivals.ptx_line};
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::rt::check
