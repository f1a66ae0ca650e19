// Choosing mip levels. Levels of detail have 8 bits behind the point.
#pragma once

#include <math.h>
#include <stdint.h>

#include "runtime/abi/texture.h"
#include "runtime/texture/coordinates.h"

namespace ptx2cpu::texture {

struct LevelChoice {
  uint32_t fine;
  int weight;  // of level fine + 1, in 1/256
};

inline LevelChoice ChooseLevels(const ptx2cpu_texture& t, float level) {
  const int64_t last = static_cast<int64_t>(t.image.levels) - 1;
  if (last == 0) return {0, 0};
  if (level < t.min_lod) level = t.min_lod;
  if (level > t.max_lod) level = t.max_lod;
  const int64_t fixed = Clamped(FloorScaled(level, kWeightBits), 0, last * kWeightOne);
  if (t.linear_mip == 0) return {static_cast<uint32_t>(Clamped((fixed + kWeightOne / 2) >> kWeightBits, 0, last)), 0};
  return {static_cast<uint32_t>(fixed >> kWeightBits), static_cast<int>(fixed & (kWeightOne - 1))};
}

// log2 of the longer of two gradients, in texels of the base level.
inline float LevelOfGradients(const ptx2cpu_image_level& base, uint32_t dimensions, const uint32_t* words) {
  const float size[3] = {static_cast<float>(base.width), static_cast<float>(base.height), static_cast<float>(base.depth)};
  float longest = 0;
  for (uint32_t side = 0; side < 2; ++side) {
    float length = 0;
    for (uint32_t d = 0; d < dimensions; ++d) {
      const float part = FloatOf(words[side * dimensions + d]) * size[d];
      length += part * part;
    }
    if (length > longest) longest = length;
  }
  return 0.5f * log2f(longest);
}

}  // namespace ptx2cpu::texture
