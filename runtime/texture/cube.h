// Directions to faces of a cube: the axis of the largest magnitude chooses the face, the others are divided by it.
#pragma once

#include <stdint.h>

#include "runtime/texture/weighted_sum.h"

namespace ptx2cpu::texture {

struct CubePlace {
  uint32_t face;  // +x -x +y -y +z -z
  float s, t;     // 0 .. 1
};

inline CubePlace FindFace(const float* direction) {
  const float x = direction[0], y = direction[1], z = direction[2];
  const float ax = FloatOf(BitsOf(x) & kMagnitude), ay = FloatOf(BitsOf(y) & kMagnitude), az = FloatOf(BitsOf(z) & kMagnitude);
  float s, t, major;
  uint32_t face;
  if (az >= ax && az >= ay) {
    face = z < 0 ? 5 : 4;
    s = face == 4 ? x : -x;
    t = -y;
    major = az;
  } else if (ay >= ax) {
    face = y < 0 ? 3 : 2;
    s = x;
    t = face == 2 ? z : -z;
    major = ay;
  } else {
    face = x < 0 ? 1 : 0;
    s = face == 0 ? -z : z;
    t = -y;
    major = ax;
  }
  if (major == 0) return {face, 0.5f, 0.5f};
  return {face, (s / major + 1) * 0.5f, (t / major + 1) * 0.5f};
}

}  // namespace ptx2cpu::texture
