// The options by which a caller chooses the form of the code. This header includes nothing of the IR, for
// code that only passes the options on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ptx2cpu::lowering {

enum class CollapseForm : uint8_t {
  kAuto,          // flat when the kernel has no warp collective and reads no texture, else hierarchical
  kFlat,          // one loop over the block's threads; an error for a kernel with warp collectives
  kHierarchical,  // a loop over warps around loops over lanes
};

// How a block of threads runs on one core; ptx2cpu explain prints which one a kernel needs and why.
enum class Tier : uint8_t {
  kAuto,       // the cheapest one that is sure to run every legal launch
  kFlat,       // T0: one loop over the block's threads
  kWarp,       // T1: loops over warps and lanes
  kResumable,  // T2: a warp suspends at block barriers
  kLanes,      // T3: each lane suspends on its own
};

// How products of f16, bf16 and tf32 are summed: with the bits that an H100 has, as recorded, or by chains of
// multiply-adds, which are faster (README.md).
enum class MatrixSums : uint8_t { kRecorded, kChained };
// kChained with PTX2CPU_MATRIX_SUMS=chained.
inline MatrixSums MatrixSumsWanted() {
  const char* value = std::getenv("PTX2CPU_MATRIX_SUMS");
  return value != nullptr && std::string_view(value) == "chained" ? MatrixSums::kChained
                                                                  : MatrixSums::kRecorded;
}

// Passes that are left out, so that their gain can be measured: names with commas between them
// (PTX2CPU_OMIT). Passes that code needs are not left out (Translator::OptionalPasses).
inline std::string PassesToOmit() {
  const char* value = std::getenv("PTX2CPU_OMIT");
  return value == nullptr ? "" : value;
}
inline bool IsOmitted(std::string_view omit, std::string_view pass) {
  while (!omit.empty()) {
    const size_t comma = std::min(omit.find(','), omit.size());
    if (omit.substr(0, comma) == pass) return true;
    omit.remove_prefix(std::min(comma + 1, omit.size()));
  }
  return false;
}

}  // namespace ptx2cpu::lowering
