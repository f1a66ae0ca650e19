// Elements of collectives: their sizes, and reductions over ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/cuda/abi/nccl_types.h"

namespace ptx2cpu::nccl {

// Bytes of an element; 0: not a type.
size_t SizeOf(cuda::ncclDataType_t type);

// ncclSum ... ncclAvg, or the sum of products with a factor of each rank.
enum class Reduction : uint32_t { kSum, kProduct, kMaximum, kMinimum, kAverage, kScaledSum };

// to[i] = the reduction of sources[0][i] ... sources[n - 1][i], in this order, for `count` elements from
// `begin` on in each source (`to` begins at 0). `to` may be one of the sources' ranges. Elements of 16 and 8
// bits are added as floats and rounded once; integers wrap around. kAverage multiplies floats with 1 / n
// first, and divides the sum of integers, rounding towards zero. `factors`, of kScaledSum: one for each
// source, in the type of the elements.
void Reduce(cuda::ncclDataType_t type, Reduction reduction, std::span<const std::byte* const> sources,
            size_t begin, size_t count, std::span<const uint64_t> factors, std::byte* to);

}  // namespace ptx2cpu::nccl
