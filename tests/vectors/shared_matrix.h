// Where a matrix lies in shared memory: the canonical layouts of PTX ISA 9.7.16.3.3, written for the tests.
#pragma once

#include <cstdint>

namespace ptx2cpu::vectors_test {

enum class Swizzle : uint8_t { kNone = 0, k128Atom32 = 1, k128 = 2, k64 = 4, k32 = 6 };

struct Placed {
  uint32_t leading, stride, bytes;
};
// `lines` rows or columns of `depth` elements; leading and stride as the layout needs them.
inline Placed SizesOf(Swizzle swizzle, bool transposed, uint32_t lines, uint32_t depth, uint32_t bits) {
  const uint32_t along = (transposed ? lines : depth) * bits / 8, across = transposed ? depth : lines;
  const uint32_t span = swizzle == Swizzle::kNone ? 16
                        : swizzle == Swizzle::k32 ? 32
                        : swizzle == Swizzle::k64 ? 64
                                                  : 128;
  const uint32_t parts = (along + span - 1) / span, tile = swizzle == Swizzle::k128Atom32 ? 4 : 8;
  const uint32_t tiles = (across + tile - 1) / tile;
  if (!transposed && swizzle == Swizzle::kNone) return {128, parts * 128, tiles * parts * 128};
  if (!transposed) return {16, tile * span, tiles * tile * span};
  if (swizzle == Swizzle::kNone) return {parts * 128, 128, tiles * parts * 128};
  return {tile * span, parts * tile * span, tiles * parts * tile * span};
}
inline uint32_t OffsetOf(Swizzle swizzle, bool transposed, const Placed& placed, uint32_t line, uint32_t k,
                         uint32_t bits) {
  const uint32_t byte = (transposed ? line : k) * bits / 8, across = transposed ? k : line;
  uint32_t offset = 0;
  switch (swizzle) {
    case Swizzle::kNone:
      offset = across % 8 * 16 + byte % 16;
      return transposed ? offset + byte / 16 * placed.stride + across / 8 * placed.leading
                        : offset + byte / 16 * placed.leading + across / 8 * placed.stride;
    case Swizzle::k128Atom32:
      offset = byte % 128 + byte / 128 * placed.leading + across % 4 * 128 + across / 4 * placed.stride;
      return offset ^ (offset >> 7 & 3) << 5;
    case Swizzle::k128:
    case Swizzle::k64:
    case Swizzle::k32:
      break;
  }
  const uint32_t span = swizzle == Swizzle::k128 ? 128 : swizzle == Swizzle::k64 ? 64 : 32;
  offset = byte % span + byte / span * placed.leading + across % 8 * span + across / 8 * placed.stride;
  return offset ^ (offset >> 7 & (span / 16 - 1)) << 4;
}

}  // namespace ptx2cpu::vectors_test
