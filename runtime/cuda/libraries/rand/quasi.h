// Sobol sequences in cuRAND's order: the share of a call's numbers of each dimension, one dimension after the
// other, each in the order of the Gray code: I. Sobol (1967), I. Antonov and V. Saleev (1979).
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/cuda/libraries/rand/sequences.h"

namespace ptx2cpu::libraries {

// The number of dimensions with direction numbers here; cuRAND has 20,000.
inline constexpr uint32_t kSobolDimensions = 21;

// `bits`: 32 or 64. From the place `offset` of each dimension on; at most kSobolDimensions. Counts are
// multiples of the dimensions.
std::unique_ptr<RandomSequences> MakeSobol(int bits, uint32_t dimensions, uint64_t offset);

// Writes a dimension's 32 or 64 direction numbers.
void FillDirections(uint32_t dimension, uint32_t* to);
void FillDirections(uint32_t dimension, uint64_t* to);

}  // namespace ptx2cpu::libraries
