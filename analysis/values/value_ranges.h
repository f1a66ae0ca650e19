// Bounds of integers, as unsigned numbers of their width, from the block's shape and constants.
//
// One walk in reverse post order: a parameter of a loop's header has no bounds. So they hold whatever a loop
// does, and in every thread. Reads IR only.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

struct ValueRange {
  uint64_t low = 0, high = 0;  // both belong to it

  bool exact() const { return low == high; }
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// Finds ranges in blocks of this shape, by value. Nothing for types other than integers of at most 64 bits
// and i1, and where no bound is known.
std::vector<std::optional<ValueRange>> FindValueRanges(const ir::Function& f, const LaunchShape& block);

// The result of the comparison for all values of these ranges, as integers of `bits` bits; nothing where it
// differs.
std::optional<bool> Decided(ir::Compare compare, const ValueRange& a, const ValueRange& b, unsigned bits);

}  // namespace ptx2cpu::analysis
