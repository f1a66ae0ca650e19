// What tests do less of between two edits (tools/test --quick).
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ptx2cpu::test {

inline bool IsQuick() {
  static const bool quick = std::getenv("PTX2CPU_QUICK_TESTS") != nullptr;
  return quick;
}

// Of a time or a number of kernels.
template <typename T>
T QuickPart(T whole) {
  return IsQuick() ? whole / 8 : whole;
}

// Which of the settings in nested loops a quick run takes: each `every`-th, in the order in which they are
// asked about. With a number that is prime to the lengths of the loops, each value of each loop is still
// among them.
class Sample {
 public:
  explicit Sample(uint32_t every) : every_(IsQuick() ? every : 1) {}
  bool Skips() { return asked_++ % every_ != 0; }

 private:
  uint32_t every_, asked_ = 0;
};

}  // namespace ptx2cpu::test
