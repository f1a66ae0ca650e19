// Textures and surfaces in the SPEC language, as arguments of a kernel: the 64-bit handle is what it gets.
//
//   texture:OPTION,OPTION,...:TYPE:LIST      image with a sampler
//   surface:OPTION,OPTION,...:TYPE:LIST      image that may be written; its contents afterwards are a result
//
// TYPE is the channel's: u8 s8 u16 s16 u32 s32 f16 f32. LIST holds all levels, each as slices (depth, layers,
// faces) of rows of texels of channels, without gaps.
// clang-format off
//   linear | pitch | 1d | 2d | 3d | a1d | a2d | cube | acube      shape: 1D memory, 2D memory with a pitch, the others arrays
//   size=W[xH[xD]]      texels; the last number is layers for a1d and a2d, faces for acube (cube: 6 of themselves)
//   channels=N          1, 2 or 4
//   levels=N            mip levels
//   address=A[/A[/A]]   wrap, clamp, mirror, border, for x, y, z; the last one given holds for the rest
//   linearfilter, linearmip, normalized, integer (no promotion to normalised floats), srgb, seamless, gather
//   bias=F, minlod=F, maxlod=F, border=F/F/F/F
//   name=NAME           bound to the module's .texref or .surfref NAME instead of being a parameter; after all of them
// clang-format on
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/result.h"
#include "tools/record/tensor.h"

namespace ptx2cpu::rt {

enum class ImageShape : uint8_t {
  kLinear,
  kPitch,
  k1d,
  k2d,
  k3d,
  k1dLayered,
  k2dLayered,
  kCube,
  kCubeLayered
};
enum class ImageAddress : uint8_t { kWrap, kClamp, kMirror, kBorder };  // numbered as CUaddress_mode

struct ImageSpec {
  ImageShape shape = ImageShape::k2d;
  uint32_t width = 1, height = 1;
  uint32_t slices = 1;  // depth, layers or faces
  uint32_t channels = 1, levels = 1;
  std::array<ImageAddress, 3> address{ImageAddress::kClamp, ImageAddress::kClamp, ImageAddress::kClamp};
  bool linear_filter = false, linear_mip = false, normalized = false, integer = false, srgb = false;
  bool seamless = false, gather = false;
  float bias = 0, min_lod = 0, max_lod = 0;
  std::array<float, 4> border{};
  std::string name;
  std::optional<TensorSpec> tensor;  // then nothing above counts

  struct Extent {
    uint32_t width, height, slices;
    uint64_t texels() const { return uint64_t{width} * height * slices; }
  };
  Extent Level(uint32_t level) const;
  uint64_t Texels() const;  // of all levels
  bool IsLayered() const {
    return shape == ImageShape::k1dLayered || shape == ImageShape::k2dLayered ||
           shape == ImageShape::kCubeLayered;
  }
  bool IsCube() const { return shape == ImageShape::kCube || shape == ImageShape::kCubeLayered; }
  bool IsMemory() const { return shape == ImageShape::kLinear || shape == ImageShape::kPitch; }
};

// The options between `texture:` and the type.
Result<ImageSpec> ParseImageOptions(std::string_view options);

}  // namespace ptx2cpu::rt
