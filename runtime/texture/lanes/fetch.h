// ptx2cpu_texture_fetch for the lanes of a warp: layouts of `words` and `result` are those of
// ptx2cpu_texture_fetch_lanes.
#pragma once

#include <stdint.h>

#include "runtime/abi/texture.h"
#include "runtime/texture/weighted_sum.h"

namespace ptx2cpu::texture {

// `lanes` is not 0. Results of other lanes may be anything.
using FetchOfLanes = void(const ptx2cpu_texture& texture, uint32_t fetch, uint32_t lanes,
                          const uint32_t* words, uint32_t* result);
namespace plain {
FetchOfLanes FetchLanes;
}
namespace avx512 {
FetchOfLanes FetchLanes;
}

// The rules of ../texel.h for a texture without sRGB. Functions, not inline ones: code for AVX-512
// must not be linked into the rest.
struct TexelRules {
  FilterFormat format;
  bool gives_floats;
  uint32_t channel_bytes;
};
TexelRules RulesOf(const ptx2cpu_texture& t);
struct BorderValues {
  uint32_t read[4], filtered[4];
};
void FindBorders(const ptx2cpu_texture& t, BorderValues& to);

}  // namespace ptx2cpu::texture
