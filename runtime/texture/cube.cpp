#include "runtime/texture/cube.h"

#include "runtime/texture/coordinates.h"

namespace ptx2cpu::texture {

namespace {

// For each face: the coordinate of a direction that is its major axis, and the coordinates, with signs, that
// run along s and t.
struct FaceAxes {
  int major, s, t;
  int major_sign, s_sign, t_sign;
};
constexpr FaceAxes kFaces[6] = {
    {0, 2, 1, 1, -1, -1}, {0, 2, 1, -1, 1, -1},   // +x -x
    {1, 0, 2, 1, 1, 1},   {1, 0, 2, -1, 1, -1},   // +y -y
    {2, 0, 1, 1, 1, -1},  {2, 0, 1, -1, -1, -1},  // +z -z
};

template <typename T>
T Magnitude(T x) {
  return x < 0 ? -x : x;
}

// Ties go to z, then to y.
template <typename T>
uint32_t FaceOf(const T* direction) {
  const T x = Magnitude(direction[0]), y = Magnitude(direction[1]), z = Magnitude(direction[2]);
  const uint32_t axis = z >= x && z >= y ? 2 : y >= x ? 1 : 0;
  return 2 * axis + (direction[axis] < 0 ? 1 : 0);
}

}  // namespace

CubePlace FindFace(const float* direction) {
  const uint32_t face = FaceOf(direction);
  const FaceAxes& axes = kFaces[face];
  const float major = Magnitude(direction[axes.major]);
  if (major == 0) return {face, 0.5f, 0.5f};
  const float s = direction[axes.s] * static_cast<float>(axes.s_sign);
  const float t = direction[axes.t] * static_cast<float>(axes.t_sign);
  return {face, (s / major + 1) * 0.5f, (t / major + 1) * 0.5f};
}

FacePoint OnFaceOf(const float* centre, const float* direction) {
  const uint32_t face = FaceOf(centre), other = FaceOf(direction);
  const FaceAxes& axes = kFaces[face];
  const float s = direction[axes.s], t = direction[axes.t];
  const float major = direction[axes.major] * static_cast<float>(axes.major_sign);
  const int other_axis = kFaces[other].major;
  if (other_axis == axes.major || direction[other_axis] == 0) {
    const float depth = Magnitude(major);
    return depth == 0 ? FacePoint{0, 0} : FacePoint{s / depth, t / depth};
  }
  const float depth = Magnitude(direction[other_axis]), beyond = 2 - major / depth;
  if (other_axis == axes.s) return {s < 0 ? -beyond : beyond, t / depth};
  return {s / depth, t < 0 ? -beyond : beyond};
}

// Centres of texels are odd numbers between -size and size.
CubeTexel AcrossEdge(uint32_t face, int64_t x, int64_t y, int64_t size) {
  if (x >= 0 && x < size && y >= 0 && y < size) return {face, x, y};
  const FaceAxes& from = kFaces[face];
  int64_t direction[3];
  direction[from.major] = from.major_sign * size;
  direction[from.s] = from.s_sign * (2 * x + 1 - size);
  direction[from.t] = from.t_sign * (2 * y + 1 - size);
  const uint32_t other = FaceOf(direction);
  const FaceAxes& to = kFaces[other];
  const auto index = [&](int64_t at) { return Clamped((at + size - 1) / 2, 0, size - 1); };
  return {other, index(to.s_sign * direction[to.s]), index(to.t_sign * direction[to.t])};
}

}  // namespace ptx2cpu::texture
