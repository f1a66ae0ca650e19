// How much memory the simulated devices have: the machine's, or the control group's where that is less.
#pragma once

#include <atomic>
#include <cstddef>

namespace ptx2cpu::driver {

class MemoryLimits {
 public:
  static MemoryLimits& Get();
  // `total` and `free` in bytes as found at the start. For tests; the process has Get().
  MemoryLimits(size_t total, size_t free);

  size_t total() const { return total_; }
  // The free memory at the start less the taken memory. It falls by an allocation's size at once, although
  // untouched pages cost nothing yet: programs compute with that difference.
  size_t free() const;
  // Takes `bytes` out of the budget; false, and nothing taken, where more than the machine's memory would be
  // taken.
  bool Take(size_t bytes);
  void GiveBack(size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const size_t total_, free_at_start_;
  std::atomic<size_t> taken_{0};
};

}  // namespace ptx2cpu::driver
