// The 32 lanes of a warp as vectors of the compiler, one element a lane. Everything in this folder is
// compiled once for each kind of machine, in a namespace of its own, so that no function of one is linked
// into another.
#pragma once

#include <stdint.h>

#include "runtime/abi/limits.h"

#if defined(PTX2CPU_LANES_AVX512)
#include <immintrin.h>
#define PTX2CPU_LANES avx512
#else
#define PTX2CPU_LANES plain
#endif

namespace ptx2cpu::texture::PTX2CPU_LANES {

constexpr int kLanes = PTX2CPU_WARP_SIZE;
using Floats [[gnu::vector_size(4 * kLanes)]] = float;
using Ints [[gnu::vector_size(4 * kLanes)]] = int32_t;
using Words [[gnu::vector_size(4 * kLanes)]] = uint32_t;
using Doubles [[gnu::vector_size(8 * kLanes)]] = double;
using Longs [[gnu::vector_size(8 * kLanes)]] = int64_t;

#define PTX2CPU_INLINE [[gnu::always_inline]] static inline

template <typename To, typename From>
PTX2CPU_INLINE To Convert(const From& from) {
  return __builtin_convertvector(from, To);
}

// The same bits.
template <typename To, typename From>
PTX2CPU_INLINE To As(const From& from) {
  return __builtin_bit_cast(To, from);
}

template <typename V>
PTX2CPU_INLINE V Load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <typename V>
PTX2CPU_INLINE void Store(const V& v, void* to) {
  __builtin_memcpy(to, &v, sizeof v);
}

PTX2CPU_INLINE Ints Each(int32_t x) { return Ints{} + x; }
PTX2CPU_INLINE Floats Each(float x) { return Floats{} + x; }

template <typename V>
PTX2CPU_INLINE V Least(const V& a, const V& b) {
  return a < b ? a : b;
}
template <typename V>
PTX2CPU_INLINE V Most(const V& a, const V& b) {
  return a > b ? a : b;
}

// Masks have all bits of an element or none.
PTX2CPU_INLINE Ints MaskOf(uint32_t lanes) {
  constexpr Words kNumbers = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                              16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  return ((Words{} + lanes) >> kNumbers & 1u) != 0u;
}

PTX2CPU_INLINE uint32_t BitsOf(const Ints& mask) {
#if defined(PTX2CPU_LANES_AVX512)
  const auto* half = reinterpret_cast<const __m512i*>(&mask);
  return static_cast<uint32_t>(_mm512_movepi32_mask(half[0])) |
         static_cast<uint32_t>(_mm512_movepi32_mask(half[1])) << 16;
#else
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= (mask[i] < 0 ? 1u : 0u) << i;
  return bits;
#endif
}

// 32 bits at each lane's offset.
PTX2CPU_INLINE Words Gather(const uint8_t* base, const Ints& offsets) {
#if defined(PTX2CPU_LANES_AVX512)
  const auto* half = reinterpret_cast<const __m512i*>(&offsets);
  Words result;
  auto* to = reinterpret_cast<__m512i*>(&result);
  to[0] = _mm512_i32gather_epi32(half[0], base, 1);
  to[1] = _mm512_i32gather_epi32(half[1], base, 1);
  return result;
#else
  Words result;
  for (int i = 0; i < kLanes; ++i) {
    uint32_t word;
    __builtin_memcpy(&word, base + offsets[i], sizeof word);
    result[i] = word;
  }
  return result;
#endif
}

// One or two bytes there, in the low bits; `offsets` are multiples of `bytes`, as is the base.
PTX2CPU_INLINE Words GatherNarrow(const uint8_t* base, const Ints& offsets, uint32_t bytes) {
#if defined(PTX2CPU_LANES_AVX512)
  // The aligned word around it is read, which is in the same page.
  const auto low = static_cast<int32_t>(reinterpret_cast<uintptr_t>(base) & 3);
  const Ints at = offsets + low;
  const Words word = Gather(base - low, at & ~3);
  return word >> ((As<Words>(at) & 3u) << 3) & (bytes == 1 ? 0xFFu : 0xFFFFu);
#else
  Words result;
  for (int i = 0; i < kLanes; ++i) {
    const uint8_t* at = base + offsets[i];
    result[i] = bytes == 1 ? at[0] : static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8;
  }
  return result;
#endif
}

}  // namespace ptx2cpu::texture::PTX2CPU_LANES
