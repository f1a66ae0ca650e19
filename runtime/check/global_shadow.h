// Shadow of global memory, by stretches of 16 MiB, of which only what is used takes memory. Launches that run
// at the same time have shadows of their own, so that none forgets what another has done, and each report is
// the same again; what a launch knows of a line is forgotten by the next one that uses it: launches are
// ordered by their streams. One worker runs a launch, so there is no lock.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "runtime/check/line.h"

namespace ptx2cpu::rt::check {

class GlobalShadow {
 public:
  static constexpr uint64_t kStretchBytes = uint64_t{1} << 24;
  // The lines of the stretch that begins at this address, a multiple of its size. Never removed.
  Lines& StretchOf(uint64_t address);

 private:
  struct Recent {
    uint64_t number = ~uint64_t{0};
    Lines* lines = nullptr;
  };
  std::array<Recent, 64> recent_;  // those used last
  std::unordered_map<uint64_t, std::unique_ptr<Lines>> stretches_;
};

}  // namespace ptx2cpu::rt::check
