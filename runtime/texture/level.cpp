#include "runtime/texture/level.h"

#include "runtime/texture/cube.h"

namespace ptx2cpu::texture {

namespace {

// 256 log2(1 + k / 256) as an H200 has it, k being the first eight bits of a fraction.
constexpr uint8_t kLogarithms[256] = {
    0,   2,   4,   5,   6,   8,   9,   11,  12,  13,  15,  16,  18,  19,  20,  22,  23,  24,  26,  27,
    28,  30,  31,  32,  34,  35,  36,  38,  39,  40,  42,  43,  44,  45,  47,  48,  49,  50,  52,  53,
    54,  55,  57,  58,  59,  60,  62,  63,  64,  65,  66,  68,  69,  70,  71,  72,  74,  75,  76,  77,
    78,  79,  81,  82,  83,  84,  85,  86,  88,  89,  90,  91,  92,  93,  94,  95,  97,  98,  99,  100,
    101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121,
    122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136, 137, 137, 138, 139, 140, 141,
    142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161,
    162, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179,
    180, 181, 181, 182, 183, 184, 185, 186, 187, 188, 188, 189, 190, 191, 192, 193, 194, 195, 195, 196,
    197, 198, 199, 200, 200, 201, 202, 203, 204, 205, 205, 206, 207, 208, 209, 210, 210, 211, 212, 213,
    214, 214, 215, 216, 217, 218, 218, 219, 220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229,
    229, 230, 231, 232, 233, 233, 234, 235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244,
    245, 245, 246, 247, 248, 248, 249, 250, 251, 251, 252, 253, 253, 254, 255, 255,
};

float Magnitude(float x) { return FloatOf(BitsOf(x) & kMagnitude); }

// Keeps nine bits of the fraction.
float Short(float x) { return FloatOf(BitsOf(x) & 0xFFFFC000); }

// About the length of a vector: the largest part, 11/32 of the next and 1/4 of the last.
float Length(const float* parts) {
  float large = 0, middle = 0, small = 0;
  for (uint32_t d = 0; d < 3; ++d) {
    float part = Magnitude(Short(parts[d]));
    if (part > large) {
      const float other = large;
      large = part;
      part = other;
    }
    if (part > middle) {
      const float other = middle;
      middle = part;
      part = other;
    }
    if (part > small) small = part;
  }
  return large + middle * 0.34375f + small * 0.25f;
}

int64_t Logarithm(float x) {
  const uint32_t bits = BitsOf(x);
  return (static_cast<int64_t>(bits >> 23) - 127) * kWeightOne + kLogarithms[bits >> 15 & 255];
}

// The level for gradients in texels: from the longest of the two gradients and of 11/16 of their sum and
// their difference, all with shortened lengths.
int64_t LevelOf(const float (&x)[3], const float (&y)[3]) {
  float sum[3], difference[3];
  for (uint32_t d = 0; d < 3; ++d) {
    sum[d] = Short(x[d]) + Short(y[d]);
    difference[d] = Short(x[d]) - Short(y[d]);
  }
  const float lengths[] = {Length(x), Length(y), Length(sum) * 0.6875f, Length(difference) * 0.6875f};
  float longest = 0;
  for (float length : lengths) longest = length > longest ? length : longest;
  return Logarithm(longest);
}

}  // namespace

int64_t LevelOfGradients(const ptx2cpu_image_level& base, uint32_t dimensions, const uint32_t* words) {
  const float size[3] = {static_cast<float>(base.width), static_cast<float>(base.height),
                         static_cast<float>(base.depth)};
  float x[3] = {}, y[3] = {};
  for (uint32_t d = 0; d < dimensions; ++d) {
    x[d] = FloatOf(words[d]) * size[d];
    y[d] = FloatOf(words[dimensions + d]) * size[d];
  }
  return LevelOf(x, y);
}

int64_t LevelOfCubeGradients(const ptx2cpu_image_level& base, const float* direction, const uint32_t* words) {
  const float half = static_cast<float>(base.width) * 0.5f;
  float to[2][3] = {};
  const FacePoint here = OnFaceOf(direction, direction);
  for (uint32_t side = 0; side < 2; ++side) {
    float other[3];
    for (uint32_t d = 0; d < 3; ++d) other[d] = direction[d] + FloatOf(words[3 * side + d]);
    const FacePoint there = OnFaceOf(direction, other);
    to[side][0] = (there.s - here.s) * half;
    to[side][1] = (there.t - here.t) * half;
  }
  return LevelOf(to[0], to[1]);
}

}  // namespace ptx2cpu::texture
