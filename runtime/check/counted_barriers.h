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
  void Arrive(uint32_t thread, uint32_t ptx_line, uint32_t barrier, uint32_t count);

  // One that was waited at when the block ended: it was opened because all others had ended.
  struct Short {
    uint32_t barrier = 0, count = 0, arrived = 0;  // threads, in whole warps
    uint32_t thread = 0, ptx_line = 0;             // of the last that came
  };
  std::optional<Short> ShortOne() const;

 private:
  struct Arrivals {
    std::vector<uint32_t> times;  // by thread
    uint32_t thread = 0, ptx_line = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Arrivals> barriers_;  // by number and count
};

}  // namespace ptx2cpu::rt::check
