// Barriers of a block with a count of threads: who has come to each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ptx2cpu::rt::check {

class CountedBarriers {
 public:
  void Begin() { barriers_.clear(); }
  // `waits`: bar.sync, not bar.arrive.
  void Arrive(uint32_t thread, uint32_t ptx_line, uint32_t barrier, uint32_t count, bool waits);

  // One whose last use some threads waited for, and fewer came than it counts: it opened because all others
  // had ended. Where no thread waited, a ring of buffers has ended with one arrival more.
  struct Short {
    uint32_t barrier = 0, count = 0, arrived = 0;  // threads, in whole warps
    uint32_t thread = 0, ptx_line = 0;             // of the last that came
  };
  std::optional<Short> ShortOne() const;

 private:
  struct Arrivals {
    std::vector<uint32_t> of_threads, of_warps;  // times
    uint32_t warps = 0;                          // in the use that has not ended; 0: none has begun
    bool waits = false;                          // in this use, or in the last one
    uint32_t thread = 0, ptx_line = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Arrivals> barriers_;  // by number and count
};

}  // namespace ptx2cpu::rt::check
