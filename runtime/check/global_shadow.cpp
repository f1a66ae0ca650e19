#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {
// The stretches that this thread used last.
struct Recent {
  uint64_t number = ~uint64_t{0};
  GlobalShadow::Stretch* stretch = nullptr;
};
constexpr size_t kRecent = 64;
thread_local Recent recent[kRecent];
}  // namespace

GlobalShadow& GlobalShadow::Get() {
  static GlobalShadow* const shadow = new GlobalShadow;  // workers may use it while the process ends
  return *shadow;
}

GlobalShadow::Stretch& GlobalShadow::StretchOf(uint64_t address) {
  const uint64_t number = address / kStretchBytes;
  Recent& place = recent[number % kRecent];
  if (place.number == number) return *place.stretch;
  std::lock_guard lock(mutex_);
  std::unique_ptr<Stretch>& stretch = stretches_[number];
  if (stretch == nullptr) {
    stretch = std::make_unique<Stretch>();
    stretch->lines.Resize(kStretchBytes / 4);
  }
  place = {number, stretch.get()};
  return *stretch;
}

}  // namespace ptx2cpu::rt::check
