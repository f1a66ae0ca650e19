// txq, suq and istypep.
#include <stdint.h>

#include "runtime/abi/abi.h"
#include "runtime/texture/texel.h"

namespace ptx2cpu::texture {

namespace {

uint32_t FormatNumber(uint32_t channel) {  // CUarray_format
  constexpr uint8_t kFormats[] = {0x01, 0x08, 0x02, 0x09, 0x03, 0x0A, 0x10, 0x20};
  return kFormats[channel];
}

// The size of a dimension; 0 where the shape does not have it. Layers of lines count as height, layers of
// planes and cubes as depth.
uint32_t SizeOf(const ptx2cpu_image& image, uint32_t dimension, uint32_t level) {
  if (level >= image.levels) return 0;
  const ptx2cpu_image_level& at = image.level[level];
  if (dimension == 0) return at.width;
  switch (static_cast<ptx2cpu_shape>(image.shape)) {
    case PTX2CPU_SHAPE_LINEAR:
      return 0;
    case PTX2CPU_SHAPE_1D_LAYERED:
      return dimension == 1 ? image.layers : 0;
    case PTX2CPU_SHAPE_2D_LAYERED:
      return dimension == 1 ? at.height : image.layers;
    case PTX2CPU_SHAPE_CUBE_LAYERED:
      return dimension == 1 ? at.height : image.layers / 6;
    case PTX2CPU_SHAPE_3D:
      return dimension == 1 ? at.height : at.depth;
    case PTX2CPU_SHAPE_PITCH:
    case PTX2CPU_SHAPE_1D:
    case PTX2CPU_SHAPE_2D:
    case PTX2CPU_SHAPE_CUBE:
      break;
  }
  return dimension == 1 ? at.height : 0;
}

uint32_t LayersOf(const ptx2cpu_image& image) {
  if (image.shape == PTX2CPU_SHAPE_CUBE_LAYERED) return image.layers / 6;
  return image.shape == PTX2CPU_SHAPE_1D_LAYERED || image.shape == PTX2CPU_SHAPE_2D_LAYERED ? image.layers
                                                                                            : 0;
}

// What has no answer is 0, as on a GPU.
uint32_t ImageQuery(const ptx2cpu_image& image, uint32_t query, uint32_t level) {
  switch (static_cast<ptx2cpu_query>(query)) {
    case PTX2CPU_QUERY_WIDTH:
    case PTX2CPU_QUERY_HEIGHT:
    case PTX2CPU_QUERY_DEPTH:
      return SizeOf(image, query - PTX2CPU_QUERY_WIDTH, level);
    case PTX2CPU_QUERY_CHANNEL_DATA_TYPE:
      return FormatNumber(image.channel);
    case PTX2CPU_QUERY_CHANNEL_ORDER:
      return image.channels;
    case PTX2CPU_QUERY_ARRAY_SIZE:
      return LayersOf(image);
    case PTX2CPU_QUERY_LEVELS:
      return image.levels > 1 ? image.levels : 0;
    case PTX2CPU_QUERY_MEMORY_LAYOUT:
      return image.shape <= PTX2CPU_SHAPE_PITCH;
    case PTX2CPU_QUERY_IS_SIGNED:
      return image.channel == PTX2CPU_CHANNEL_S8 || image.channel == PTX2CPU_CHANNEL_S16 ||
             image.channel == PTX2CPU_CHANNEL_S32;
    case PTX2CPU_QUERY_NORMALIZED:
    case PTX2CPU_QUERY_SAMPLES:
    case PTX2CPU_QUERY_FORCE_UNNORMALIZED:
    case PTX2CPU_QUERY_FILTER:
    case PTX2CPU_QUERY_ADDRESS_X:
    case PTX2CPU_QUERY_ADDRESS_Y:
    case PTX2CPU_QUERY_ADDRESS_Z:
    case PTX2CPU_QUERY_KIND:
      break;
  }
  return 0;
}

// To surfaces a line has no height, and cubes are layers.
uint32_t SurfaceQuery(const ptx2cpu_image& image, uint32_t query) {
  const bool is_cube = image.shape == PTX2CPU_SHAPE_CUBE || image.shape == PTX2CPU_SHAPE_CUBE_LAYERED;
  if (query == PTX2CPU_QUERY_HEIGHT && image.shape == PTX2CPU_SHAPE_1D) return 0;
  if (query == PTX2CPU_QUERY_DEPTH && is_cube) return image.layers;
  return ImageQuery(image, query, 0);
}

uint32_t AddressNumber(uint32_t mode) {  // enum { wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border }
  constexpr uint8_t kNumbers[] = {0, 3, 1, 4};
  return kNumbers[mode & 3];
}

bool IsAddressQuery(uint32_t query) {
  return query >= PTX2CPU_QUERY_ADDRESS_X && query <= PTX2CPU_QUERY_ADDRESS_Z;
}

uint32_t TextureQuery(const ptx2cpu_texture& t, uint32_t query, uint32_t level) {
  if (query == PTX2CPU_QUERY_NORMALIZED) return t.normalized;
  if (query == PTX2CPU_QUERY_FILTER) return t.linear_filter;
  if (IsAddressQuery(query)) return AddressNumber(t.address[query - PTX2CPU_QUERY_ADDRESS_X]);
  return ImageQuery(t.image, query, level);
}

// The result of a query on the bits of a .samplerref.
uint32_t SamplerQuery(uint64_t sampler, uint32_t query) {
  if (query == PTX2CPU_QUERY_FORCE_UNNORMALIZED) return (sampler & PTX2CPU_SAMPLER_UNNORMALIZED) != 0;
  if (query == PTX2CPU_QUERY_FILTER) return (sampler & PTX2CPU_SAMPLER_LINEAR) != 0;
  if (!IsAddressQuery(query)) return 0;
  const uint32_t shift = PTX2CPU_SAMPLER_ADDRESS_SHIFT + 4 * (query - PTX2CPU_QUERY_ADDRESS_X);
  return AddressNumber(static_cast<uint32_t>(sampler >> shift & 15));
}

}  // namespace

}  // namespace ptx2cpu::texture

// A sampler's bits are odd, the address of a struct is even.
extern "C" uint32_t ptx2cpu_image_query(uint64_t handle, uint32_t query, uint32_t level) {
  using namespace ptx2cpu::texture;
  if (handle == 0) return 0;
  if ((handle & PTX2CPU_SAMPLER_PRESENT) != 0) return SamplerQuery(handle, query);
  const auto kind = *reinterpret_cast<const uint32_t*>(handle);
  if (query == PTX2CPU_QUERY_KIND) return kind;
  if (kind == PTX2CPU_KIND_TEXTURE_OBJECT || kind == PTX2CPU_KIND_TEXTURE_REFERENCE)
    return TextureQuery(*reinterpret_cast<const ptx2cpu_texture*>(handle), query, level);
  return SurfaceQuery(reinterpret_cast<const ptx2cpu_surface*>(handle)->image, query);
}
