// Elements of f16, bf16 and tf32 in the words of fragments, as floats: those in low halves and in high ones
// apart.
#pragma once

#include "runtime/warp/matrix_quads.h"

namespace ptx2cpu::rt::matrix {

enum class Format { kF16, kBF16, kTF32, kF32 };  // the last: of accumulators

// The number of elements in a word: 2 of f16 and bf16, 1 of tf32.
constexpr int PlanesOf(Format format) { return format == Format::kTF32 ? 1 : 2; }
// Registers of eight rows along k.
constexpr int TilesOf(Format format, int depth) { return depth / (kQuads * PlanesOf(format)); }

// f16 is a float of smaller exponents: the multiplication is exact, and normalises. `all_finite`: no element
// is infinite or NaN.
template <Format format, bool all_finite>
inline F32x16 Value(U32x16 word, int plane) {
  if constexpr (format == Format::kTF32) return Bits<F32x16>(word & 0xffffe000u);
  if constexpr (format == Format::kBF16) return Bits<F32x16>(plane == 0 ? word << 16 : word & 0xffff0000u);
  const auto at_top = Bits<I32x16>(plane == 0 ? word << 16 : word);
  const U32x16 moved = Bits<U32x16>(at_top >> 3) & 0x8fffe000u;
  const auto value = Bits<U32x16>(Bits<F32x16>(moved) * 0x1p112f);
  if constexpr (all_finite) return Bits<F32x16>(value);
  constexpr uint32_t kTop = 0x0f800000;
  return Bits<F32x16>(value | (Bits<U32x16>((moved & kTop) == kTop) & 0x7f800000u));
}

}  // namespace ptx2cpu::rt::matrix
