#include "runtime/engine/ahead.h"

namespace ptx2cpu::rt {

std::optional<size_t> Ahead::AfterUse(size_t kernel, double milliseconds) {
  std::lock_guard lock(mutex_);
  if (kernel >= states_.size()) return std::nullopt;
  if (states_[kernel] == State::kAhead) --unused_;
  if (states_[kernel] != State::kUsed && last_) is_reverse_ = kernel < *last_;
  states_[kernel] = State::kUsed;
  last_ = kernel;
  if (milliseconds > long_from_) ++long_ones_;
  if (long_ones_ < kFirst || unused_ >= kMaxUnused) return std::nullopt;
  const auto next = Next(kernel);
  if (!next) return std::nullopt;
  states_[*next] = State::kAhead;
  ++unused_;
  return next;
}

void Ahead::GiveUp(size_t kernel) {
  std::lock_guard lock(mutex_);
  if (kernel >= states_.size() || states_[kernel] != State::kAhead) return;  // a launch used it meanwhile
  states_[kernel] = State::kGivenUp;
  --unused_;
}

// The first from here on, around the ends, about which nothing is known.
std::optional<size_t> Ahead::Next(size_t kernel) const {
  const size_t count = states_.size();
  for (size_t step = 1; step < count; ++step) {
    const size_t at = (kernel + (is_reverse_ ? count - step : step)) % count;
    if (states_[at] == State::kUnknown) return at;
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::rt
