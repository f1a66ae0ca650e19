// Recorded addresses in this process. All that a replay needs are reserved before anything else is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/result.h"
#include "runtime/recording/launch_record.h"

namespace ptx2cpu::rt::recording {

class ReplayMemory {
 public:
  // kNotFound: this process has something else at one of the addresses. Each process begins with other
  // addresses of its own, so another one can try again.
  static Result<ReplayMemory> Reserve(std::span<const LaunchRecord> launches);
  ReplayMemory(ReplayMemory&& other) noexcept = default;
  ~ReplayMemory();

  // Makes all of it zero and accessible, also around allocations, where programs read beyond the ends as a
  // GPU allows.
  Status Clear();
  static std::span<std::byte> At(const Area& area) {
    return {reinterpret_cast<std::byte*>(area.address), area.bytes};
  }

 private:
  struct Mapping {
    uint64_t begin = 0, end = 0;
  };
  ReplayMemory() = default;
  std::vector<Mapping> mappings_;
};

}  // namespace ptx2cpu::rt::recording
