#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

Lines& GlobalShadow::StretchOf(uint64_t address) {
  const uint64_t number = address / kStretchBytes;
  Recent& place = recent_[number % recent_.size()];
  if (place.number == number) return *place.lines;
  std::unique_ptr<Lines>& lines = stretches_[number];
  if (lines == nullptr) {
    lines = std::make_unique<Lines>();
    lines->Resize(kStretchBytes);
  }
  place = {number, lines.get()};
  return *lines;
}

}  // namespace ptx2cpu::rt::check
