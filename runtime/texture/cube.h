// Directions to faces of a cube: the axis of the largest magnitude chooses the face, the others are divided
// by it.
#pragma once

#include <stdint.h>

namespace ptx2cpu::texture {

struct CubePlace {
  uint32_t face;  // +x -x +y -y +z -z
  float s, t;     // 0 .. 1
};
CubePlace FindFace(const float* direction);

// Where a direction meets the plane of the face that `centre` meets, -1 .. 1 on the face; a direction that
// meets a neighbouring face has the place of that face folded into the plane.
struct FacePoint {
  float s, t;
};
FacePoint OnFaceOf(const float* centre, const float* direction);

struct CubeTexel {
  uint32_t face;
  int64_t x, y;
};
// The texel that lies at (x, y) of a face of `size` texels a side, where one of both may be -1 or `size`:
// over that edge.
CubeTexel AcrossEdge(uint32_t face, int64_t x, int64_t y, int64_t size);

}  // namespace ptx2cpu::texture
