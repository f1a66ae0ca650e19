// A lock for a few dozen instructions. It yields the processor if the holder seems to have lost its own.
#pragma once

#include <atomic>
#include <thread>

namespace ptx2cpu::rt {

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

class SpinLock {
 public:
  void lock() {
    for (int spins = 0; taken_.exchange(true, std::memory_order_acquire);) {
      while (taken_.load(std::memory_order_relaxed)) {
        if (++spins % kSpinsBeforeYield == 0) {
          std::this_thread::yield();
        } else {
          Pause();
        }
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpinsBeforeYield = 64;
  std::atomic<bool> taken_{false};
};

}  // namespace ptx2cpu::rt
