// The edge values of each type, for instruction vectors: zeros of both signs, denormals, infinities, quiet
// and signalling NaN, integer extremes, shift amounts and field positions beyond the width.
#pragma once

#include <cstdint>
#include <span>

#include "tools/record/spec.h"

namespace ptx2cpu::rt {

// Bits of the edge values; `few`: at most eight of them, for instructions with three or more inputs.
std::span<const uint64_t> EdgeBits(const ScalarType& type, bool few);

}  // namespace ptx2cpu::rt
