// Counts the running launches, and lets one of them run alone (runtime/abi/lone_launches.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace ptx2cpu::rt {

// One launch at a time may be alone. Another launch that begins asks it to give that up, and waits until it
// has.
class RunningLaunches {
 public:
  // A launch while it runs, on the thread that owns it.
  class Scope {
   public:
    Scope(RunningLaunches& launches, bool may_be_alone)
        : launches_(launches), alone_(launches.Begin(may_be_alone)) {}
    ~Scope() { launches_.End(alone_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Whether it is still alone; called between blocks.
    bool StaysAlone() {
      if (alone_ && launches_.IsAsked()) EndAlone();
      return alone_;
    }
    // Other threads are about to help.
    void EndAlone() {
      if (alone_) launches_.EndAlone();
      alone_ = false;
    }

   private:
    RunningLaunches& launches_;
    bool alone_;
  };

  // From now on other processes share memory with this one. Their kernels are not counted, so no launch is
  // alone again.
  void ShareMemory() {
    if (!shares_.exchange(true)) Join();
  }

 private:
  static constexpr uint32_t kAlone = 1, kAsked = 2, kOne = 4;  // of state_: bits, and a launch

  bool Begin(bool may_be_alone) {
    uint32_t none = 0;
    if (may_be_alone && state_.compare_exchange_strong(none, kOne | kAlone)) return true;
    Join();
    return false;
  }
  void Join();
  void End(bool alone);
  void EndAlone();
  bool IsAsked() const { return (state_.load(std::memory_order_relaxed) & kAsked) != 0; }

  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<bool> shares_{false};
};

}  // namespace ptx2cpu::rt
