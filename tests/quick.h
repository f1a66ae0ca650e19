// What tests do less of between two edits (tools/test --quick).
#pragma once

#include <cstdlib>

namespace ptx2cpu::test {

inline bool IsQuick() {
  static const bool quick = std::getenv("PTX2CPU_QUICK_TESTS") != nullptr;
  return quick;
}

// Of a time or a number of kernels.
template <typename T>
T QuickPart(T whole) {
  return IsQuick() ? whole / 4 : whole;
}

}  // namespace ptx2cpu::test
