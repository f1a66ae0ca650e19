// Warp collectives over xsimd registers (see collectives.def for their meaning). Compiled once for AVX-512
// and once for AVX2; PTX2CPU_WARP_SUFFIX keeps native copies apart in tests, the bitcode copies have none.
#include "runtime/warp/lanes.h"

#if defined(PTX2CPU_WARP_SUFFIX)
#define PTX2CPU_JOIN2(a, b) a##b
#define PTX2CPU_JOIN(a, b) PTX2CPU_JOIN2(a, b)
#define NAME(name) PTX2CPU_JOIN(name, PTX2CPU_WARP_SUFFIX)
#else
#define NAME(name) name
#endif

namespace {

using namespace ptx2cpu::rt::warp;

enum class Shuffle { kIdx, kUp, kDown, kBfly };

template <Shuffle mode>
void DoShuffle(uint32_t* out, uint8_t* in_range, const uint32_t* value, const uint32_t* lane,
               const uint32_t* clamp) {
  const Lanes values = Lanes::Load(value);
  uint32_t valid = 0;
  for (int i = 0; i < kBatches; ++i) {
    const BatchU self = Iota(static_cast<uint32_t>(i * kWidth));
    const BatchU b = BatchU::load_aligned(lane + i * kWidth) & BatchU(31);
    const BatchU c = BatchU::load_aligned(clamp + i * kWidth);
    const BatchU segment = (c >> 8) & BatchU(31);
    const BatchU limit = (self & segment) | (c & BatchU(31) & ~segment);
    const BatchU source = mode == Shuffle::kUp     ? self - b
                          : mode == Shuffle::kDown ? self + b
                          : mode == Shuffle::kBfly ? self ^ b
                                                   : (self & segment) | (b & ~segment);
    const BatchS j = xsimd::bitwise_cast<BatchS>(source);
    const BatchS most = xsimd::bitwise_cast<BatchS>(limit);
    const uint32_t ok = mode == Shuffle::kUp ? Mask(j >= most) : Mask(j <= most);
    values.Permute(Select(ok, source, self) & BatchU(31)).store_aligned(out + i * kWidth);
    valid |= ok << (i * kWidth);
  }
  BytesOfMask(in_range, valid);
}

// Bit per lane whose 64-bit value equals `wanted`.
uint32_t EqualTo64(const uint64_t* value, uint64_t wanted) {
  uint32_t mask = 0;
#if defined(PTX2CPU_WARP_AVX512)
  for (int i = 0; i < 4; ++i) {
    mask |= static_cast<uint32_t>(_mm512_cmpeq_epi64_mask(_mm512_load_si512(value + i * 8),
                                                          _mm512_set1_epi64(static_cast<long long>(wanted))))
            << (i * 8);
  }
#else
  for (int i = 0; i < 8; ++i) {
    const __m256i equal =
        _mm256_cmpeq_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(value + i * 4)),
                           _mm256_set1_epi64x(static_cast<long long>(wanted)));
    mask |= static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(equal))) << (i * 4);
  }
#endif
  return mask;
}

// Folds the members' values; others count as `identity`.
template <typename Fold>
uint32_t Reduce(const uint32_t* value, uint32_t members, uint32_t identity, Fold fold) {
  const Lanes values = Lanes::Load(value);
  BatchU folded = Select(members, values.part[0], BatchU(identity));
  for (int i = 1; i < kBatches; ++i)
    folded = fold(folded, Select(members >> (i * kWidth), values.part[i], BatchU(identity)));
  // The remaining register folds onto itself, half by half; the compiler turns the copies into shuffles.
  alignas(64) uint32_t rest[kWidth];
  for (int half = kWidth / 2; half > 0; half /= 2) {
    alignas(64) uint32_t upper[kWidth];
    folded.store_aligned(rest);
    for (int i = 0; i < kWidth; ++i) upper[i] = rest[(i + half) % kWidth];
    folded = fold(folded, BatchU::load_aligned(upper));
  }
  folded.store_aligned(rest);
  return rest[0];
}

BatchU MinSigned(BatchU a, BatchU b) {
  return xsimd::bitwise_cast<BatchU>(
      xsimd::min(xsimd::bitwise_cast<BatchS>(a), xsimd::bitwise_cast<BatchS>(b)));
}
BatchU MaxSigned(BatchU a, BatchU b) {
  return xsimd::bitwise_cast<BatchU>(
      xsimd::max(xsimd::bitwise_cast<BatchS>(a), xsimd::bitwise_cast<BatchS>(b)));
}

// Orders floats so that -0 < +0; NaNs are handled by the caller.
float ReduceFloat(const float* value, uint32_t members, bool absolute, bool propagate_nan, bool want_max) {
  float best = __builtin_nanf("");
  bool have = false, nan = false;
  for (int lane = 0; lane < 32; ++lane) {
    if ((members >> lane & 1) == 0) continue;
    const float x = absolute ? __builtin_fabsf(value[lane]) : value[lane];
    if (x != x) {
      nan = true;
      continue;
    }
    const bool zeros = have && x == 0 && best == 0;
    const bool better = !have || (zeros ? (__builtin_signbit(x) != 0) != want_max &&
                                              (__builtin_signbit(best) != 0) == want_max
                                        : (want_max ? x > best : x < best));
    if (better) best = x;
    have = true;
  }
  const uint32_t canonical = 0x7fffffff;
  float quiet;
  __builtin_memcpy(&quiet, &canonical, sizeof quiet);
  return !have || (nan && propagate_nan) ? quiet : best;
}

}  // namespace

extern "C" {

#define WARP(result, name, parameters, meaning) result NAME(name) parameters;
#include "runtime/warp/collectives.def"
#undef WARP

void NAME(ptx2cpu_warp_shuffle_idx)(uint32_t* out, uint8_t* in_range, const uint32_t* value,
                                    const uint32_t* lane, const uint32_t* clamp) {
  DoShuffle<Shuffle::kIdx>(out, in_range, value, lane, clamp);
}
void NAME(ptx2cpu_warp_shuffle_up)(uint32_t* out, uint8_t* in_range, const uint32_t* value,
                                   const uint32_t* lane, const uint32_t* clamp) {
  DoShuffle<Shuffle::kUp>(out, in_range, value, lane, clamp);
}
void NAME(ptx2cpu_warp_shuffle_down)(uint32_t* out, uint8_t* in_range, const uint32_t* value,
                                     const uint32_t* lane, const uint32_t* clamp) {
  DoShuffle<Shuffle::kDown>(out, in_range, value, lane, clamp);
}
void NAME(ptx2cpu_warp_shuffle_bfly)(uint32_t* out, uint8_t* in_range, const uint32_t* value,
                                     const uint32_t* lane, const uint32_t* clamp) {
  DoShuffle<Shuffle::kBfly>(out, in_range, value, lane, clamp);
}

uint32_t NAME(ptx2cpu_warp_ballot)(const uint8_t* predicate, uint32_t members, uint32_t active) {
  return MaskOfBytes(predicate) & members & active;
}
void NAME(ptx2cpu_warp_ballot_each)(uint32_t* out, const uint8_t* predicate, const uint32_t* members,
                                    uint32_t active) {
  const BatchU votes(MaskOfBytes(predicate) & active);
  for (int i = 0; i < kBatches; ++i)
    (BatchU::load_aligned(members + i * kWidth) & votes).store_aligned(out + i * kWidth);
}

// A turn for each value that occurs, not for each lane.
void NAME(ptx2cpu_warp_match_any_b32)(uint32_t* out, const uint32_t* value, const uint32_t* members,
                                      uint32_t active) {
  // Each group takes a step that waits for the one before; where there are more than a few, each lane asks
  // for itself.
  constexpr int kFewGroups = 4;
  const Lanes values = Lanes::Load(value), masks = Lanes::Load(members);
  Lanes equal{};
  uint32_t rest = active;
  for (int group = 0; group < kFewGroups && rest != 0; ++group) {
    const uint32_t same = values.EqualTo(value[__builtin_ctz(rest)]);
    for (int i = 0; i < kBatches; ++i)
      equal.part[i] = Select(same >> (i * kWidth), BatchU(same & active), equal.part[i]);
    rest &= ~same;
  }
  if (rest != 0) {
    alignas(64) uint32_t same[32];
    for (int lane = 0; lane < 32; ++lane) same[lane] = values.EqualTo(value[lane]) & active;
    equal = Lanes::Load(same);
  }
  for (int i = 0; i < kBatches; ++i) (equal.part[i] & masks.part[i]).store_aligned(out + i * kWidth);
}
void NAME(ptx2cpu_warp_match_any_b64)(uint32_t* out, const uint64_t* value, const uint32_t* members,
                                      uint32_t active) {
  for (int lane = 0; lane < 32; ++lane) out[lane] = EqualTo64(value, value[lane]) & members[lane] & active;
}
void NAME(ptx2cpu_warp_match_all_b32)(uint32_t* out, uint8_t* all, const uint32_t* value,
                                      const uint32_t* members, uint32_t active) {
  const Lanes values = Lanes::Load(value);
  uint32_t same = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const uint32_t group = members[lane] & active;
    const bool equal = (values.EqualTo(value[lane]) & group) == group;
    out[lane] = equal ? group : 0;
    same |= static_cast<uint32_t>(equal) << lane;
  }
  BytesOfMask(all, same);
}
void NAME(ptx2cpu_warp_match_all_b64)(uint32_t* out, uint8_t* all, const uint64_t* value,
                                      const uint32_t* members, uint32_t active) {
  uint32_t same = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const uint32_t group = members[lane] & active;
    const bool equal = (EqualTo64(value, value[lane]) & group) == group;
    out[lane] = equal ? group : 0;
    same |= static_cast<uint32_t>(equal) << lane;
  }
  BytesOfMask(all, same);
}

uint32_t NAME(ptx2cpu_warp_reduce_add)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](BatchU a, BatchU b) { return a + b; });
}
uint32_t NAME(ptx2cpu_warp_reduce_min_s)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0x7fffffffu, MinSigned);
}
uint32_t NAME(ptx2cpu_warp_reduce_min_u)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, ~0u, [](BatchU a, BatchU b) { return xsimd::min(a, b); });
}
uint32_t NAME(ptx2cpu_warp_reduce_max_s)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0x80000000u, MaxSigned);
}
uint32_t NAME(ptx2cpu_warp_reduce_max_u)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](BatchU a, BatchU b) { return xsimd::max(a, b); });
}
uint32_t NAME(ptx2cpu_warp_reduce_and)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, ~0u, [](BatchU a, BatchU b) { return a & b; });
}
uint32_t NAME(ptx2cpu_warp_reduce_or)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](BatchU a, BatchU b) { return a | b; });
}
uint32_t NAME(ptx2cpu_warp_reduce_xor)(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](BatchU a, BatchU b) { return a ^ b; });
}
float NAME(ptx2cpu_warp_reduce_fmin)(const float* value, uint32_t members, uint32_t absolute,
                                     uint32_t propagate_nan) {
  return ReduceFloat(value, members, absolute != 0, propagate_nan != 0, false);
}
float NAME(ptx2cpu_warp_reduce_fmax)(const float* value, uint32_t members, uint32_t absolute,
                                     uint32_t propagate_nan) {
  return ReduceFloat(value, members, absolute != 0, propagate_nan != 0, true);
}

}  // extern "C"
