#include "tools/harness/images.h"

#include <algorithm>
#include <cstring>

namespace ptx2cpu::harness {

namespace {

// Rows and slices are further apart than they need be, so that code that forgets a pitch is seen.
constexpr size_t kRowGap = 64, kSliceGap = 128;

uint32_t ChannelOf(const rt::ScalarType& type) {
  if (type.kind == rt::ScalarKind::kFloat) return type.size == 2 ? PTX2CPU_CHANNEL_F16 : PTX2CPU_CHANNEL_F32;
  const uint32_t size = type.size == 1 ? 0 : type.size == 2 ? 1 : 2;
  return 2 * size + (type.kind == rt::ScalarKind::kSigned ? 1 : 0);
}

uint32_t LayersOf(const rt::ImageSpec& spec) { return spec.shape == rt::ImageShape::k3d ? 1 : spec.slices; }

// Between the gaps of an image and the data of an argument.
template <typename Copy>
void ForEachRow(const rt::Argument& argument, const ptx2cpu_image& image, const Copy& copy) {
  const rt::ImageSpec& spec = *argument.image;
  size_t at = 0;
  for (uint32_t number = 0; number < spec.levels; ++number) {
    const rt::ImageSpec::Extent extent = spec.Level(number);
    const ptx2cpu_image_level& level = image.level[number];
    const size_t row = size_t{extent.width} * spec.channels * argument.type->size;
    for (uint32_t z = 0; z < extent.slices; ++z) {
      for (uint32_t y = 0; y < extent.height; ++y, at += row)
        copy(level.base + z * level.slice + y * level.pitch, at, row);
    }
  }
}

}  // namespace

ptx2cpu_image Images::Describe(const rt::Argument& argument, Image& image) {
  const rt::ImageSpec& spec = *argument.image;
  ptx2cpu_image description{};
  description.shape = static_cast<uint32_t>(spec.shape);
  description.channel = ChannelOf(*argument.type);
  description.channels = spec.channels;
  description.layers = LayersOf(spec);
  description.levels = spec.levels;
  for (uint32_t number = 0; number < spec.levels; ++number) {
    const rt::ImageSpec::Extent extent = spec.Level(number);
    ptx2cpu_image_level& level = description.level[number];
    level.width = extent.width;
    level.height = extent.height;
    level.depth = spec.shape == rt::ImageShape::k3d ? extent.slices : 1;
    level.pitch = (size_t{extent.width} * spec.channels * argument.type->size + kRowGap) / 16 * 16;
    level.slice = level.pitch * extent.height + kSliceGap;
    image.levels.emplace_back(level.slice * extent.slices);
    level.base = reinterpret_cast<uint8_t*>(image.levels.back().data());
  }
  ForEachRow(argument, description, [&](uint8_t* row, size_t at, size_t bytes) {
    std::memcpy(row, argument.data.data() + at, bytes);
  });
  return description;
}

// As cuTensorMapEncode* does.
void Images::DescribeTensor(const rt::Argument& argument, Image& image) {
  constexpr uint8_t kElements[] = {PTX2CPU_TENSOR_U8,      PTX2CPU_TENSOR_U16,     PTX2CPU_TENSOR_U32,
                                   PTX2CPU_TENSOR_S32,     PTX2CPU_TENSOR_U64,     PTX2CPU_TENSOR_S64,
                                   PTX2CPU_TENSOR_F16,     PTX2CPU_TENSOR_F32,     PTX2CPU_TENSOR_F64,
                                   PTX2CPU_TENSOR_BF16,    PTX2CPU_TENSOR_F32_FTZ, PTX2CPU_TENSOR_TF32,
                                   PTX2CPU_TENSOR_TF32_FTZ};
  const rt::TensorSpec& spec = *argument.image->tensor;
  image.levels.push_back(argument.data);
  ptx2cpu_tensor_map& map = image.map;
  map.address = reinterpret_cast<uint64_t>(image.levels[0].data());
  map.rank = static_cast<uint8_t>(spec.rank - 1);
  map.element = kElements[static_cast<size_t>(spec.type)];
  map.swizzle = static_cast<uint8_t>(spec.swizzle);
  map.fill = spec.nan ? 1 : 0;
  for (size_t n = 0; n < spec.rank; ++n) {
    map.sizes[n] = static_cast<uint32_t>(spec.sizes[n]);
    map.box[n] = static_cast<uint16_t>(spec.box[n]);
    map.element_strides[n] = static_cast<uint8_t>(spec.steps[n]);
  }
  std::copy(spec.strides.begin(), spec.strides.end(), map.strides);
  for (size_t n = 0; n < 3; ++n) {
    map.lower[n] = static_cast<int16_t>(spec.lower[n]);
    map.upper[n] = static_cast<int16_t>(spec.upper[n]);
  }
  map.channels = spec.channels;
  map.pixels = spec.pixels;
}

Images::Images(const std::vector<rt::Argument>& arguments)
    : image_of_(arguments.size()), handles_(arguments.size()) {
  static_assert(static_cast<uint32_t>(rt::ImageShape::kCubeLayered) == PTX2CPU_SHAPE_CUBE_LAYERED);
  static_assert(static_cast<uint32_t>(rt::ImageAddress::kBorder) == PTX2CPU_ADDRESS_BORDER);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].IsImage()) continue;
    const rt::ImageSpec& spec = *arguments[i].image;
    Image& image = images_.emplace_back();
    image_of_[i] = &image;
    if (arguments[i].IsTensor()) {
      DescribeTensor(arguments[i], image);
      handles_[i] = reinterpret_cast<uint64_t>(&image.map);
      continue;
    }
    if (arguments[i].role == rt::ArgumentRole::kSurface) {
      image.surface.kind = spec.name.empty() ? PTX2CPU_KIND_SURFACE_OBJECT : PTX2CPU_KIND_SURFACE_REFERENCE;
      image.surface.image = Describe(arguments[i], image);
      handles_[i] = reinterpret_cast<uint64_t>(&image.surface);
      continue;
    }
    ptx2cpu_texture& texture = image.texture;
    texture.kind = spec.name.empty() ? PTX2CPU_KIND_TEXTURE_OBJECT : PTX2CPU_KIND_TEXTURE_REFERENCE;
    for (size_t d = 0; d < 3; ++d) texture.address[d] = static_cast<uint32_t>(spec.address[d]);
    texture.linear_filter = spec.linear_filter;
    texture.linear_mip = spec.linear_mip;
    texture.normalized = spec.normalized;
    texture.as_float = !spec.integer;
    texture.srgb = spec.srgb;
    texture.seamless = spec.seamless;
    texture.lod_bias = spec.bias;
    texture.min_lod = spec.min_lod;
    texture.max_lod = spec.max_lod;
    std::copy(spec.border.begin(), spec.border.end(), texture.border);
    texture.image = Describe(arguments[i], image);
    handles_[i] = reinterpret_cast<uint64_t>(&texture);
  }
}

void Images::Leave(std::vector<rt::Argument>& arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].IsTensor()) {
      const std::vector<std::byte>& memory = image_of_[i]->levels[0];
      std::copy_n(memory.begin(), arguments[i].data.size(), arguments[i].data.begin());
    }
    if (arguments[i].role != rt::ArgumentRole::kSurface) continue;
    ForEachRow(arguments[i], image_of_[i]->surface.image, [&](uint8_t* row, size_t at, size_t bytes) {
      std::memcpy(arguments[i].data.data() + at, row, bytes);
    });
  }
}

std::vector<std::span<std::byte>> Images::Memory() {
  std::vector<std::span<std::byte>> memory;
  for (Image& image : images_) {
    memory.push_back(std::as_writable_bytes(std::span(&image.texture, 1)));
    memory.push_back(std::as_writable_bytes(std::span(&image.surface, 1)));
    memory.push_back(std::as_writable_bytes(std::span(&image.map, 1)));
    for (std::vector<std::byte>& level : image.levels) memory.emplace_back(level);
  }
  return memory;
}

}  // namespace ptx2cpu::harness
