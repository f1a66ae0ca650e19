// Options of the emitter for its callers. No LLVM type appears here.
#pragma once

#include <cstdint>

namespace ptx2cpu::lowering {

// How thread indices are known.
enum class ThreadIds : uint8_t {
  kAnyShape,        // from the block's table: blocks of one to three dimensions
  kOneDimensional,  // tid.x is the thread's number: right for blocks (n, 1, 1) only
  kBoth,            // both versions when the kernel reads %tid; the block's shape decides at run time
};

// How misaligned accesses are found, which are faults. Accesses of atomics, of called functions and of lanes
// that run one by one are always checked in place.
enum class AlignmentChecks : uint8_t {
  kNone,
  kNoted,     // found when the region is through: what costs little
  kAssumed,   // the same, but parameters are taken to be aligned as accesses need them:
              // KernelLayout::alignments
  kAtAccess,  // found at the access, with its thread; loops over lanes do not become vectors
};

// Lanes of a vector of a region: any of these, or 0 for what suits the target and the region.
constexpr bool IsLaneWidth(uint32_t width) {
  return width <= 1 || (width >= 4 && width <= 64 && (width & (width - 1)) == 0);
}

}  // namespace ptx2cpu::lowering
