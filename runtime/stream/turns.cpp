#include "runtime/stream/turns.h"

#include <atomic>

namespace ptx2cpu::rt {

namespace {
std::atomic<bool> one_at_a_time{false};
constinit std::mutex turn;  // not a variable of a function: a fork may leave its guard held
}  // namespace

bool OneAtATime() { return one_at_a_time.load(std::memory_order_relaxed); }

void RunOneAtATime() { one_at_a_time.store(true, std::memory_order_relaxed); }

std::unique_lock<std::mutex> TakeTurn() {
  return OneAtATime() ? std::unique_lock(turn) : std::unique_lock<std::mutex>();
}

}  // namespace ptx2cpu::rt
