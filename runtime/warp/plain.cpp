// Warp collectives, lane by lane: the reference, and the form for machines without AVX2.
#include <stdint.h>

#include "runtime/abi/limits.h"

extern "C" {
#define WARP(result, name, parameters, meaning) result name parameters;
#include "runtime/warp/collectives.def"
#undef WARP
}

namespace {

constexpr int kLanes = PTX2CPU_WARP_SIZE;

enum class Mode { kIdx, kUp, kDown, kBfly };

template <Mode mode>
void Shuffle(uint32_t* out, uint8_t* in_range, const uint32_t* value, const uint32_t* lane,
             const uint32_t* clamp) {
  uint32_t result[kLanes];
  for (int self = 0; self < kLanes; ++self) {
    const int b = static_cast<int>(lane[self] & 31), limit = static_cast<int>(clamp[self] & 31);
    const int segment = static_cast<int>(clamp[self] >> 8 & 31);
    const int furthest = (self & segment) | (limit & ~segment);
    int source = (self & segment) | (b & ~segment);
    if (mode == Mode::kUp) source = self - b;
    if (mode == Mode::kDown) source = self + b;
    if (mode == Mode::kBfly) source = self ^ b;
    const bool inside = mode == Mode::kUp ? source >= furthest : source <= furthest;
    in_range[self] = inside;
    result[self] = value[inside ? source & 31 : self];
  }
  for (int self = 0; self < kLanes; ++self) out[self] = result[self];
}

template <typename T>
uint32_t EqualTo(const T* value, T wanted) {
  uint32_t mask = 0;
  for (int lane = 0; lane < kLanes; ++lane) mask |= static_cast<uint32_t>(value[lane] == wanted) << lane;
  return mask;
}

template <typename T>
void MatchAny(uint32_t* out, const T* value, const uint32_t* members, uint32_t active) {
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = EqualTo(value, value[lane]) & members[lane] & active;
}

template <typename T>
void MatchAll(uint32_t* out, uint8_t* all, const T* value, const uint32_t* members, uint32_t active) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t group = members[lane] & active;
    const bool same = (EqualTo(value, value[lane]) & group) == group;
    out[lane] = same ? group : 0;
    all[lane] = same;
  }
}

template <typename Fold>
uint32_t Reduce(const uint32_t* value, uint32_t members, uint32_t identity, Fold fold) {
  uint32_t result = identity;
  for (int lane = 0; lane < kLanes; ++lane)
    result = fold(result, (members >> lane & 1) != 0 ? value[lane] : identity);
  return result;
}

float ReduceFloat(const float* value, uint32_t members, bool absolute, bool propagate_nan, bool maximum) {
  bool have = false, nan = false;
  int32_t best = 0;  // order of floats as integers, -0 below +0
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((members >> lane & 1) == 0) continue;
    int32_t bits = __builtin_bit_cast(int32_t, value[lane]);
    if (absolute) bits &= 0x7FFFFFFF;
    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
      nan = true;
      continue;
    }
    const int32_t key = bits ^ (bits >> 31 & 0x7FFFFFFF);
    if (!have || (maximum ? key > best : key < best)) best = key;
    have = true;
  }
  const int32_t bits = !have || (nan && propagate_nan) ? 0x7FFFFFFF : best ^ (best >> 31 & 0x7FFFFFFF);
  return __builtin_bit_cast(float, bits);
}

}  // namespace

extern "C" {

void ptx2cpu_warp_shuffle_idx(uint32_t* out, uint8_t* in_range, const uint32_t* value, const uint32_t* lane,
                              const uint32_t* clamp) {
  Shuffle<Mode::kIdx>(out, in_range, value, lane, clamp);
}
void ptx2cpu_warp_shuffle_up(uint32_t* out, uint8_t* in_range, const uint32_t* value, const uint32_t* lane,
                             const uint32_t* clamp) {
  Shuffle<Mode::kUp>(out, in_range, value, lane, clamp);
}
void ptx2cpu_warp_shuffle_down(uint32_t* out, uint8_t* in_range, const uint32_t* value, const uint32_t* lane,
                               const uint32_t* clamp) {
  Shuffle<Mode::kDown>(out, in_range, value, lane, clamp);
}
void ptx2cpu_warp_shuffle_bfly(uint32_t* out, uint8_t* in_range, const uint32_t* value, const uint32_t* lane,
                               const uint32_t* clamp) {
  Shuffle<Mode::kBfly>(out, in_range, value, lane, clamp);
}

uint32_t ptx2cpu_warp_ballot(const uint8_t* predicate, uint32_t members, uint32_t active) {
  return ~EqualTo<uint8_t>(predicate, 0) & members & active;
}
void ptx2cpu_warp_ballot_each(uint32_t* out, const uint8_t* predicate, const uint32_t* members,
                              uint32_t active) {
  const uint32_t votes = ~EqualTo<uint8_t>(predicate, 0) & active;
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = votes & members[lane];
}

void ptx2cpu_warp_match_any_b32(uint32_t* out, const uint32_t* value, const uint32_t* members,
                                uint32_t active) {
  MatchAny(out, value, members, active);
}
void ptx2cpu_warp_match_any_b64(uint32_t* out, const uint64_t* value, const uint32_t* members,
                                uint32_t active) {
  MatchAny(out, value, members, active);
}
void ptx2cpu_warp_match_all_b32(uint32_t* out, uint8_t* all, const uint32_t* value, const uint32_t* members,
                                uint32_t active) {
  MatchAll(out, all, value, members, active);
}
void ptx2cpu_warp_match_all_b64(uint32_t* out, uint8_t* all, const uint64_t* value, const uint32_t* members,
                                uint32_t active) {
  MatchAll(out, all, value, members, active);
}

uint32_t ptx2cpu_warp_reduce_add(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](uint32_t a, uint32_t b) { return a + b; });
}
uint32_t ptx2cpu_warp_reduce_min_s(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0x7FFFFFFFu, [](uint32_t a, uint32_t b) {
    return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
  });
}
uint32_t ptx2cpu_warp_reduce_min_u(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, ~0u, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
}
uint32_t ptx2cpu_warp_reduce_max_s(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0x80000000u, [](uint32_t a, uint32_t b) {
    return static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b;
  });
}
uint32_t ptx2cpu_warp_reduce_max_u(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
}
uint32_t ptx2cpu_warp_reduce_and(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, ~0u, [](uint32_t a, uint32_t b) { return a & b; });
}
uint32_t ptx2cpu_warp_reduce_or(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](uint32_t a, uint32_t b) { return a | b; });
}
uint32_t ptx2cpu_warp_reduce_xor(const uint32_t* value, uint32_t members) {
  return Reduce(value, members, 0, [](uint32_t a, uint32_t b) { return a ^ b; });
}
float ptx2cpu_warp_reduce_fmin(const float* value, uint32_t members, uint32_t absolute,
                               uint32_t propagate_nan) {
  return ReduceFloat(value, members, absolute != 0, propagate_nan != 0, false);
}
float ptx2cpu_warp_reduce_fmax(const float* value, uint32_t members, uint32_t absolute,
                               uint32_t propagate_nan) {
  return ReduceFloat(value, members, absolute != 0, propagate_nan != 0, true);
}

}  // extern "C"
