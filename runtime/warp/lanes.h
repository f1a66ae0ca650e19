// Thirty-two 32-bit lanes as xsimd batches, and the few operations that xsimd 8 lacks, as one type.
//
// xsimd supplies registers, arithmetic and comparisons; masks as integers, permutation by a run-time index
// and masked selection come from the instruction set directly. PTX2CPU_WARP_AVX512 selects two 512-bit
// registers, else four 256-bit ones.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#include <xsimd/xsimd.hpp>

namespace ptx2cpu::rt::warp {

#if defined(PTX2CPU_WARP_AVX512)
using Arch = xsimd::avx512bw;
#else
using Arch = xsimd::avx2;
#endif

using BatchU = xsimd::batch<uint32_t, Arch>;
using BatchS = xsimd::batch<int32_t, Arch>;
inline constexpr int kWidth = static_cast<int>(BatchU::size);
inline constexpr int kBatches = 32 / kWidth;

inline uint32_t Mask(xsimd::batch_bool<uint32_t, Arch> m) {
#if defined(PTX2CPU_WARP_AVX512)
  return m.data;
#else
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(m.data)));
#endif
}
inline uint32_t Mask(xsimd::batch_bool<int32_t, Arch> m) {
#if defined(PTX2CPU_WARP_AVX512)
  return m.data;
#else
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(m.data)));
#endif
}

// Lane numbers first .. first + kWidth - 1.
inline BatchU Iota(uint32_t first) {
  alignas(64) uint32_t numbers[kWidth];
  for (int i = 0; i < kWidth; ++i) numbers[i] = first + static_cast<uint32_t>(i);
  return BatchU::load_aligned(numbers);
}

// Lane-wise mask bit ? a : b; bit i of `mask` belongs to lane i.
inline BatchU Select(uint32_t mask, BatchU a, BatchU b) {
#if defined(PTX2CPU_WARP_AVX512)
  return BatchU(_mm512_mask_blend_epi32(static_cast<__mmask16>(mask), b, a));
#else
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i wanted =
      _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bits), bits);
  return BatchU(_mm256_blendv_epi8(b, a, wanted));
#endif
}

struct Lanes {
  BatchU part[kBatches];

  static Lanes Load(const uint32_t* values) {
    Lanes lanes;
    for (int i = 0; i < kBatches; ++i) lanes.part[i] = BatchU::load_aligned(values + i * kWidth);
    return lanes;
  }
  void Store(uint32_t* out) const {
    for (int i = 0; i < kBatches; ++i) part[i].store_aligned(out + i * kWidth);
  }
  // Bit per lane that equals `value`.
  uint32_t EqualTo(uint32_t value) const {
    uint32_t mask = 0;
    for (int i = 0; i < kBatches; ++i) mask |= Mask(part[i] == BatchU(value)) << (i * kWidth);
    return mask;
  }
  // Lanes picked by index 0..31.
  BatchU Permute(BatchU index) const {
#if defined(PTX2CPU_WARP_AVX512)
    return BatchU(_mm512_permutex2var_epi32(part[0], index, part[1]));
#else
    const __m256i which = _mm256_srli_epi32(index, 3);
    __m256i result = _mm256_permutevar8x32_epi32(part[0], index);
    for (int i = 1; i < kBatches; ++i) {
      const __m256i mine = _mm256_cmpeq_epi32(which, _mm256_set1_epi32(i));
      result = _mm256_blendv_epi8(result, _mm256_permutevar8x32_epi32(part[i], index), mine);
    }
    return BatchU(result);
#endif
  }
};

// Predicates travel as bytes 0 or 1.
inline uint32_t MaskOfBytes(const uint8_t* bytes) {
  const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
  return ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256())));
}
inline void BytesOfMask(uint8_t* bytes, uint32_t mask) {
  const __m256i spread = _mm256_shuffle_epi8(
      _mm256_set1_epi32(static_cast<int>(mask)),
      _mm256_setr_epi64x(0x0000000000000000, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  _mm256_store_si256(reinterpret_cast<__m256i*>(bytes), _mm256_and_si256(set, _mm256_set1_epi8(1)));
}

}  // namespace ptx2cpu::rt::warp
