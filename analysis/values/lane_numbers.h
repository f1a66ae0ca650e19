// Numbers of lanes as values of a type, and the results of operations on them.
#pragma once

#include <algorithm>
#include <optional>

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

// The result of an operation that does not saturate on two numbers, of which the type's low bits count;
// nothing where the operation is not followed.
std::optional<int64_t> OfNumbers(ir::Opcode op, ir::Type type, int64_t a, int64_t b);
// Whether a comparison of two numbers of the type is true.
bool Holds(ir::Compare compare, ir::Type type, int64_t a, int64_t b);

}  // namespace ptx2cpu::analysis
