// Choosing mip levels. Levels of detail are fixed-point numbers with 8 bits after the point.
#pragma once

#include <stdint.h>

#include "runtime/abi/texture.h"
#include "runtime/texture/coordinates.h"

namespace ptx2cpu::texture {

struct LevelChoice {
  uint32_t fine;
  int weight;  // of level fine + 1, in 1/256
};

// Toward zero; NaN counts as 0.
inline int64_t FixedLevel(float level) {
  constexpr float kLimit = 1024.0f;
  if (!(level > -kLimit)) level = level <= -kLimit ? -kLimit : 0;
  return static_cast<int64_t>((level < kLimit ? level : kLimit) * static_cast<float>(kWeightOne));
}

inline LevelChoice ChooseLevels(const ptx2cpu_texture& t, int64_t level) {
  const int64_t last = static_cast<int64_t>(t.image.levels) - 1;
  if (last == 0) return {0, 0};
  level = level < FixedLevel(t.min_lod) ? FixedLevel(t.min_lod) : level;
  level = level > FixedLevel(t.max_lod) ? FixedLevel(t.max_lod) : level;
  level = Clamped(level, 0, last * kWeightOne);
  if (t.linear_mip == 0)
    return {static_cast<uint32_t>(Clamped((level + kWeightOne / 2) >> kWeightBits, 0, last)), 0};
  return {static_cast<uint32_t>(level >> kWeightBits), static_cast<int>(level & (kWeightOne - 1))};
}

// The level at which the longer of two gradients, given in coordinates, spans a texel.
int64_t LevelOfGradients(const ptx2cpu_image_level& base, uint32_t dimensions, const uint32_t* words);
int64_t LevelOfCubeGradients(const ptx2cpu_image_level& base, const float* direction, const uint32_t* words);

}  // namespace ptx2cpu::texture
