// Numbers of the lanes of lane_forms.h as values of a type.
#pragma once

#include <algorithm>

#include "ir/function.h"

namespace ptx2cpu::analysis {

inline bool IsWord(ir::Type type) { return type == ir::Type::kI32 || type == ir::Type::kI64; }

// The number as an unsigned one of the type, and as a signed one.
inline uint64_t Low(int64_t number, ir::Type type) {
  const int bits = ir::Bits(type);
  return bits >= 64 ? static_cast<uint64_t>(number) : static_cast<uint64_t>(number) & ((1ull << bits) - 1);
}
inline int64_t Signed(int64_t number, ir::Type type) {
  const int unused = 64 - std::min(ir::Bits(type), 64);
  return static_cast<int64_t>(static_cast<uint64_t>(number) << unused) >> unused;
}

}  // namespace ptx2cpu::analysis
