// ptx2cpu_texture_fetch_lanes: a texture instruction for the lanes of a warp, by the vectors that the
// processor has.
#include <stdint.h>

#include "runtime/abi/abi.h"
#include "runtime/texture/lanes/fetch.h"
#include "runtime/texture/texel.h"

namespace ptx2cpu::texture {

TexelRules RulesOf(const ptx2cpu_texture& t) {
  return {FilterFormatOf(t, 0), GivesFloats(t), ChannelBytes(t.image.channel)};
}

void FindBorders(const ptx2cpu_texture& t, BorderValues& to) {
  for (uint32_t c = 0; c < 4; ++c) {
    to.read[c] = BorderChannel(t, c);
    to.filtered[c] = GivesFloats(t) ? FilterBorder(t, c) : 0;
  }
}

namespace {

FetchOfLanes* Choose() {
#if defined(PTX2CPU_LANES_X86)
  const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512cd");
  if (has) return avx512::FetchLanes;
#endif
  return plain::FetchLanes;
}

}  // namespace

}  // namespace ptx2cpu::texture

using namespace ptx2cpu::texture;

extern "C" void ptx2cpu_texture_fetch_lanes(const ptx2cpu_texture* texture, uint64_t sampler, uint32_t fetch,
                                            uint32_t lanes, const uint32_t* words, uint32_t* result) {
  static FetchOfLanes* const fetch_lanes = Choose();
  if (texture == nullptr || lanes == 0) {
    __builtin_memset(result, 0, 4 * 32 * sizeof *result);
    return;
  }
  if (sampler == 0) return fetch_lanes(*texture, fetch, lanes, words, result);
  fetch_lanes(WithSampler(*texture, sampler), fetch, lanes, words, result);
}

extern "C" void ptx2cpu_texture_fetch_each(const uint64_t* textures, uint64_t sampler, uint32_t fetch,
                                           uint32_t lanes, const uint32_t* words, uint32_t* result) {
  for (uint32_t rest = lanes; rest != 0;) {
    const uint64_t handle = textures[__builtin_ctz(rest)];
    uint32_t same = 0;
    for (int i = 0; i < 32; ++i) same |= (textures[i] == handle ? 1u : 0u) << i;
    same &= rest;
    rest &= ~same;
    alignas(64) uint32_t part[4 * 32];
    ptx2cpu_texture_fetch_lanes(reinterpret_cast<const ptx2cpu_texture*>(handle), sampler, fetch, same, words,
                                part);
    for (int i = 0; i < 4 * 32; ++i) result[i] = (same >> (i & 31) & 1) != 0 ? part[i] : result[i];
  }
}
