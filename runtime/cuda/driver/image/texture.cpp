#include "runtime/cuda/driver/image/texture.h"

#include <algorithm>

#include "runtime/cuda/driver/image/array.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr size_t kPointerAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
constexpr size_t kPitchAlignment = 32;     // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
constexpr unsigned kKnownFlags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                                 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;

struct Channel {
  ptx2cpu_channel type = PTX2CPU_CHANNEL_U8;
  bool normalized = false;  // the format itself means 0 .. 1 or -1 .. 1
};

Channel ChannelOf(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return {PTX2CPU_CHANNEL_U8};
    case CU_AD_FORMAT_SIGNED_INT8:
      return {PTX2CPU_CHANNEL_S8};
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return {PTX2CPU_CHANNEL_U16};
    case CU_AD_FORMAT_SIGNED_INT16:
      return {PTX2CPU_CHANNEL_S16};
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return {PTX2CPU_CHANNEL_U32};
    case CU_AD_FORMAT_SIGNED_INT32:
      return {PTX2CPU_CHANNEL_S32};
    case CU_AD_FORMAT_HALF:
      return {PTX2CPU_CHANNEL_F16};
    case CU_AD_FORMAT_FLOAT:
      return {PTX2CPU_CHANNEL_F32};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
      return {PTX2CPU_CHANNEL_U8, true};
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return {PTX2CPU_CHANNEL_S8, true};
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
      return {PTX2CPU_CHANNEL_U16, true};
    default:
      return {PTX2CPU_CHANNEL_S16, true};
  }
}

unsigned BytesOf(uint32_t channel) {
  switch (static_cast<ptx2cpu_channel>(channel)) {
    case PTX2CPU_CHANNEL_U8:
    case PTX2CPU_CHANNEL_S8:
      return 1;
    case PTX2CPU_CHANNEL_U16:
    case PTX2CPU_CHANNEL_S16:
    case PTX2CPU_CHANNEL_F16:
      return 2;
    case PTX2CPU_CHANNEL_U32:
    case PTX2CPU_CHANNEL_S32:
    case PTX2CPU_CHANNEL_F32:
      break;
  }
  return 4;
}

void SetFormat(CUarray_format format, unsigned channels, ptx2cpu_image* image, bool* normalized_format) {
  const Channel channel = ChannelOf(format);
  image->channel = channel.type;
  image->channels = channels;
  *normalized_format = channel.normalized;
}

ptx2cpu_image_level LevelOf(const Array& array) {
  const CUDA_ARRAY3D_DESCRIPTOR& d = array.description();
  const bool layers = (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  ptx2cpu_image_level level = {};
  level.base = reinterpret_cast<uint8_t*>(array.data());
  level.width = static_cast<uint32_t>(d.Width);
  level.height = static_cast<uint32_t>(array.rows());
  level.depth = layers ? 1 : static_cast<uint32_t>(array.slices());
  level.pitch = array.row_bytes();
  level.slice = array.slice_bytes();
  return level;
}

ptx2cpu_shape ShapeOf(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) return layered ? PTX2CPU_SHAPE_CUBE_LAYERED : PTX2CPU_SHAPE_CUBE;
  if (layered) return d.Height == 0 ? PTX2CPU_SHAPE_1D_LAYERED : PTX2CPU_SHAPE_2D_LAYERED;
  if (d.Depth != 0) return PTX2CPU_SHAPE_3D;
  return d.Height == 0 ? PTX2CPU_SHAPE_1D : PTX2CPU_SHAPE_2D;
}

void DescribeArray(const CUDA_ARRAY3D_DESCRIPTOR& d, ptx2cpu_image* image, bool* normalized_format) {
  image->shape = ShapeOf(d);
  const bool layers = (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  image->layers = layers ? static_cast<uint32_t>(d.Depth) : 1;
  SetFormat(d.Format, d.NumChannels, image, normalized_format);
}

CUresult DescribeLinear(const CUDA_RESOURCE_DESC& resource, ptx2cpu_image* image, bool* normalized_format) {
  const auto& linear = resource.res.linear;
  const size_t element = ElementBytes(linear.format, linear.numChannels);
  if (linear.devPtr == 0 || linear.devPtr % kPointerAlignment != 0 || element == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const size_t width = linear.sizeInBytes / element;
  image->shape = PTX2CPU_SHAPE_LINEAR, image->layers = image->levels = 1;
  SetFormat(linear.format, linear.numChannels, image, normalized_format);
  ptx2cpu_image_level& level = image->level[0];
  level.base = reinterpret_cast<uint8_t*>(linear.devPtr);
  level.width = width > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(width);
  level.height = level.depth = 1;
  level.pitch = level.slice = linear.sizeInBytes;
  return CUDA_SUCCESS;
}

CUresult DescribePitched(const CUDA_RESOURCE_DESC& resource, ptx2cpu_image* image, bool* normalized_format) {
  const auto& flat = resource.res.pitch2D;
  const bool aligned = flat.devPtr % kPointerAlignment == 0 && flat.pitchInBytes % kPitchAlignment == 0;
  if (flat.devPtr == 0 || !aligned || ElementBytes(flat.format, flat.numChannels) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (flat.width > UINT32_MAX || flat.height > UINT32_MAX) return CUDA_ERROR_INVALID_VALUE;
  image->shape = PTX2CPU_SHAPE_PITCH, image->layers = image->levels = 1;
  SetFormat(flat.format, flat.numChannels, image, normalized_format);
  ptx2cpu_image_level& level = image->level[0];
  level.base = reinterpret_cast<uint8_t*>(flat.devPtr);
  level.width = static_cast<uint32_t>(flat.width), level.height = static_cast<uint32_t>(flat.height),
  level.depth = 1;
  level.pitch = flat.pitchInBytes;
  level.slice = flat.pitchInBytes * flat.height;
  return CUDA_SUCCESS;
}

struct ViewFormat {
  ptx2cpu_channel channel = PTX2CPU_CHANNEL_U8;
  unsigned channels = 0;  // 0: none, or block-compressed
};

// The formats are in groups of 1, 2 and 4 channels.
ViewFormat ViewFormatOf(CUresourceViewFormat format) {
  if (format < CU_RES_VIEW_FORMAT_UINT_1X8 || format > CU_RES_VIEW_FORMAT_FLOAT_4X32) return {};
  constexpr ptx2cpu_channel kGroups[] = {PTX2CPU_CHANNEL_U8,  PTX2CPU_CHANNEL_S8,  PTX2CPU_CHANNEL_U16,
                                         PTX2CPU_CHANNEL_S16, PTX2CPU_CHANNEL_U32, PTX2CPU_CHANNEL_S32,
                                         PTX2CPU_CHANNEL_F16, PTX2CPU_CHANNEL_F32};
  const unsigned index = static_cast<unsigned>(format) - CU_RES_VIEW_FORMAT_UINT_1X8;
  return {kGroups[index / 3], 1u << (index % 3)};
}

}  // namespace

CUresult DescribeImage(const CUDA_RESOURCE_DESC& resource, ptx2cpu_image* image, bool* normalized_format) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *image = {};
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      const Array* array = From<Array>(resource.res.array.hArray);
      if (array == nullptr) return CUDA_ERROR_INVALID_VALUE;
      DescribeArray(array->description(), image, normalized_format);
      image->levels = 1;
      image->level[0] = LevelOf(*array);
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const MipmappedArray* mipmap = From<MipmappedArray>(resource.res.mipmap.hMipmappedArray);
      if (mipmap == nullptr || mipmap->count() > PTX2CPU_MAX_MIP_LEVELS) return CUDA_ERROR_INVALID_VALUE;
      DescribeArray(mipmap->description(), image, normalized_format);
      image->levels = mipmap->count();
      for (unsigned i = 0; i < mipmap->count(); ++i) image->level[i] = LevelOf(*mipmap->level(i));
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_LINEAR:
      return DescribeLinear(resource, image, normalized_format);
    case CU_RESOURCE_TYPE_PITCH2D:
      return DescribePitched(resource, image, normalized_format);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult ApplyView(const CUDA_RESOURCE_VIEW_DESC& view, ptx2cpu_image* image) {
  if (image->shape == PTX2CPU_SHAPE_LINEAR || image->shape == PTX2CPU_SHAPE_PITCH)
    return CUDA_SUCCESS;  // views are of arrays
  const ViewFormat format = ViewFormatOf(view.format);
  if (format.channels * BytesOf(format.channel) != image->channels * BytesOf(image->channel))
    return CUDA_ERROR_INVALID_VALUE;
  const ptx2cpu_image_level& whole = image->level[0];
  const bool flat = image->shape == PTX2CPU_SHAPE_1D || image->shape == PTX2CPU_SHAPE_1D_LAYERED;
  const bool layered = image->shape == PTX2CPU_SHAPE_1D_LAYERED || image->shape == PTX2CPU_SHAPE_2D_LAYERED ||
                       image->shape == PTX2CPU_SHAPE_CUBE_LAYERED;
  const bool cube = image->shape == PTX2CPU_SHAPE_CUBE;
  const size_t depth = image->shape == PTX2CPU_SHAPE_3D ? whole.depth : layered || cube ? image->layers : 0;
  if (view.width != whole.width || view.height != (flat ? 0 : whole.height) || view.depth != depth)
    return CUDA_ERROR_INVALID_VALUE;
  if (view.firstMipmapLevel > view.lastMipmapLevel || view.firstLayer > view.lastLayer)
    return CUDA_ERROR_INVALID_VALUE;
  if (view.firstMipmapLevel >= image->levels || (image->levels == 1 && view.lastMipmapLevel != 0))
    return CUDA_ERROR_INVALID_VALUE;
  if (layered ? view.firstLayer >= image->layers : view.lastLayer != 0) return CUDA_ERROR_INVALID_VALUE;
  image->channel = format.channel;
  image->channels = format.channels;
  // Ends beyond the last level or layer mean the last.
  image->levels = std::min(view.lastMipmapLevel, image->levels - 1) - view.firstMipmapLevel + 1;
  for (unsigned i = 0; i < image->levels; ++i) {
    image->level[i] = image->level[i + view.firstMipmapLevel];
    if (layered) image->level[i].base += view.firstLayer * image->level[i].slice;
  }
  if (layered) image->layers = std::min(view.lastLayer, image->layers - 1) - view.firstLayer + 1;
  return CUDA_SUCCESS;
}

CUresult DescribeSampling(const CUDA_TEXTURE_DESC& d, bool normalized_format, ptx2cpu_texture* texture) {
  for (int i = 0; i < 3; ++i) {
    if (d.addressMode[i] < CU_TR_ADDRESS_MODE_WRAP || d.addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
      return CUDA_ERROR_INVALID_VALUE;
    texture->address[i] = static_cast<uint32_t>(d.addressMode[i]);  // numbered alike
  }
  const auto legal = [](CUfilter_mode mode) {
    return mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR;
  };
  if (!legal(d.filterMode) || !legal(d.mipmapFilterMode) || (d.flags & ~kKnownFlags) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const uint32_t channel = texture->image.channel;
  const bool narrow_integer = channel <= PTX2CPU_CHANNEL_S16;
  texture->linear_filter = d.filterMode == CU_TR_FILTER_MODE_LINEAR;
  texture->linear_mip = d.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
  texture->normalized = (d.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  texture->as_float = narrow_integer && (normalized_format || (d.flags & CU_TRSF_READ_AS_INTEGER) == 0);
  texture->srgb = texture->as_float != 0 && channel == PTX2CPU_CHANNEL_U8 && (d.flags & CU_TRSF_SRGB) != 0;
  texture->seamless = (d.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  if (texture->image.levels > 1) {
    texture->lod_bias = d.mipmapLevelBias;
    texture->min_lod = d.minMipmapLevelClamp;
    texture->max_lod = d.maxMipmapLevelClamp;
  }
  for (int i = 0; i < 4; ++i) texture->border[i] = d.borderColor[i];
  texture->max_anisotropy = d.maxAnisotropy;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
