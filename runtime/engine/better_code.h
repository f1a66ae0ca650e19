// The optimised code of a kernel that still runs the quick tier's code: it decides which thread compiles it,
// and when a launch waits for it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "runtime/launch/later_code.h"

namespace ptx2cpu::rt {

// It is compiled once: by a background thread, or by a launch for which it is due. All functions may be
// called from several threads at once.
class BetterCode final : public LaterCode {
 public:
  using Compile = std::function<void(const std::atomic<bool>& stop)>;

  // `code`: receives the better code; while it is null, other code runs. `expected_nanoseconds`: the
  // approximate time of compiling. `for_many_blocks`: launches of few blocks wait for the better code.
  BetterCode(const std::atomic<const ptx2cpu_kernel*>& code, Compile compile, int64_t expected_nanoseconds,
             bool for_many_blocks = false)
      : code_(code),
        compile_(std::move(compile)),
        expected_(expected_nanoseconds),
        for_many_blocks_(for_many_blocks) {}

  // Compiles, unless another thread has begun.
  void Run(const std::atomic<bool>& stop);
  // Called before any launch: `begin` is called once, when launches have run the quick code for this time.
  void BeginAfter(int64_t nanoseconds, std::function<void()> begin) {
    begin_after_ = nanoseconds;
    begin_ = std::move(begin);
  }

  const ptx2cpu_kernel* Newest(int64_t nanoseconds) override;
  void AddTime(int64_t nanoseconds) override {
    ran_.fetch_add(nanoseconds, std::memory_order_relaxed);
    BeginIfWorth(0);
  }
  // Launches have run the quick code for as long as compiling takes. A launch that compiles then loses at
  // most the same time again, however many launches follow, and gains the quick code's loss in each of them
  // (Karlin et al., 1988, "Competitive snoopy caching": rent until the price is paid). `more`: nanoseconds
  // that a launch has not added yet.
  bool IsDue(int64_t more = 0) const {
    return ran_.load(std::memory_order_relaxed) + more >= expected_ && !over_.load(std::memory_order_acquire);
  }
  bool for_many_blocks() const { return for_many_blocks_; }
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // Compiles on this thread, or waits for the thread that does; not for longer than half a minute.
  void Obtain();

 private:
  void End();
  void BeginIfWorth(int64_t more) {
    if (begin_ != nullptr && ran_.load(std::memory_order_relaxed) + more >= begin_after_ &&
        !has_begun_.exchange(true, std::memory_order_relaxed))
      begin_();
  }

  const std::atomic<const ptx2cpu_kernel*>& code_;
  Compile compile_;
  const int64_t expected_;
  const bool for_many_blocks_;
  std::function<void()> begin_;
  int64_t begin_after_ = 0;  // nanoseconds
  std::atomic<bool> has_begun_ = false;
  std::atomic<int64_t> ran_ = 0;           // launches ran the quick code for so long
  std::atomic<bool> is_obtained_ = false;  // a worker of a launch compiles, or waits
  std::atomic<bool> over_ = false;         // compiled, failed or given up: nothing to wait for
  std::atomic<pid_t> compiler_ = 0;        // the process of the thread that compiles; 0: that was not begun
  std::mutex mutex_;
  std::condition_variable ended_;
};

}  // namespace ptx2cpu::rt
