// Shadow of global memory, by stretches of 16 MiB, of which only what is used takes memory. What a launch
// knows of a page is forgotten by the next one that uses it: launches are ordered by their streams.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/check/line.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt::check {

class GlobalShadow {
 public:
  static GlobalShadow& Get();
  static constexpr uint64_t kStretchBytes = uint64_t{1} << 24;
  struct Stretch {
    SpinLock lock;
    Lines lines;
  };
  // Never removed; may be used without a lock of the table. There is one shadow a process.
  Stretch& StretchOf(uint64_t address);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Stretch>> stretches_;
};

}  // namespace ptx2cpu::rt::check
