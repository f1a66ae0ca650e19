// The parts of tests that are left out between two edits (tools/test --quick).
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ptx2cpu::test {

inline bool IsQuick() {
  static const bool quick = std::getenv("PTX2CPU_QUICK_TESTS") != nullptr;
  return quick;
}

// The part of a time or of a number of kernels.
template <typename T>
T QuickPart(T whole) {
  return IsQuick() ? whole / 8 : whole;
}

// The settings in nested loops that a quick run takes: each `every`-th, in the order of the calls. With a
// number that is prime to the lengths of the loops, each value of each loop is still among them.
class Sample {
 public:
  explicit Sample(uint32_t every) : every_(IsQuick() ? every : 1) {}
  bool Skips() { return asked_++ % every_ != 0; }

 private:
  uint32_t every_, asked_ = 0;
};

}  // namespace ptx2cpu::test
