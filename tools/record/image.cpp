#include "tools/record/image.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace ptx2cpu::rt {
namespace {

std::unexpected<Error> BadOption(std::string_view option) {
  return Fail(Error{.code = ErrorCode::kUsage,
                    .message = "no image option: '" + std::string(option) + "'",
                    .hint = "the head of tools/record/image.h lists them"});
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename T>
bool Number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
struct Named {
  std::string_view word;
  T value;
};
constexpr Named<ImageShape> kShapes[] = {
    {"linear", ImageShape::kLinear}, {"pitch", ImageShape::kPitch}, {"1d", ImageShape::k1d},
    {"2d", ImageShape::k2d},         {"3d", ImageShape::k3d},       {"a1d", ImageShape::k1dLayered},
    {"a2d", ImageShape::k2dLayered}, {"cube", ImageShape::kCube},   {"acube", ImageShape::kCubeLayered},
};
constexpr Named<ImageAddress> kAddresses[] = {
    {"wrap", ImageAddress::kWrap},
    {"clamp", ImageAddress::kClamp},
    {"mirror", ImageAddress::kMirror},
    {"border", ImageAddress::kBorder},
};
constexpr Named<bool ImageSpec::*> kSwitches[] = {
    {"linearfilter", &ImageSpec::linear_filter},
    {"linearmip", &ImageSpec::linear_mip},
    {"normalized", &ImageSpec::normalized},
    {"integer", &ImageSpec::integer},
    {"srgb", &ImageSpec::srgb},
    {"seamless", &ImageSpec::seamless},
    {"gather", &ImageSpec::gather},
};
constexpr Named<float ImageSpec::*> kFloats[] = {
    {"bias", &ImageSpec::bias}, {"minlod", &ImageSpec::min_lod}, {"maxlod", &ImageSpec::max_lod}};
constexpr Named<uint32_t ImageSpec::*> kCounts[] = {{"channels", &ImageSpec::channels},
                                                    {"levels", &ImageSpec::levels}};

template <typename T, size_t N>
std::optional<T> Find(const Named<T> (&table)[N], std::string_view word) {
  for (const Named<T>& row : table)
    if (row.word == word) return row.value;
  return std::nullopt;
}

bool ReadAddress(std::string_view value, ImageSpec& spec) {
  const std::vector<std::string_view> words = Split(value, '/');
  for (size_t i = 0; i < spec.address.size(); ++i) {
    const auto mode = Find(kAddresses, words[std::min(i, words.size() - 1)]);
    if (!mode) return false;
    spec.address[i] = *mode;
  }
  return words.size() <= spec.address.size();
}

bool ReadBorder(std::string_view value, ImageSpec& spec) {
  const std::vector<std::string_view> words = Split(value, '/');
  bool good = words.size() == spec.border.size();
  for (size_t i = 0; good && i < words.size(); ++i) good = Number(words[i], spec.border[i]);
  return good;
}

bool ReadValue(std::string_view key, std::string_view value, ImageSpec& spec, std::vector<uint32_t>& size) {
  if (key == "address") return ReadAddress(value, spec);
  if (key == "border") return ReadBorder(value, spec);
  if (key == "name") return spec.name = value, !value.empty();
  if (const auto field = Find(kFloats, key)) return Number(value, spec.*(*field));
  if (const auto field = Find(kCounts, key)) return Number(value, spec.*(*field)) && spec.*(*field) != 0;
  if (key != "size") return false;
  for (std::string_view number : Split(value, 'x')) {
    size.emplace_back();
    if (!Number(number, size.back()) || size.back() == 0) return false;
  }
  return size.size() <= 3;
}

size_t Dimensions(ImageShape shape) {
  switch (shape) {
    case ImageShape::kLinear:
    case ImageShape::k1d:
      return 1;
    case ImageShape::k3d:
    case ImageShape::k2dLayered:
    case ImageShape::kCubeLayered:
      return 3;
    case ImageShape::kPitch:
    case ImageShape::k2d:
    case ImageShape::k1dLayered:
    case ImageShape::kCube:
      break;
  }
  return 2;
}

}  // namespace

ImageSpec::Extent ImageSpec::Level(uint32_t level) const {
  const auto at = [&](uint32_t size) { return std::max(size >> level, 1u); };
  return {at(width), at(height), shape == ImageShape::k3d ? at(slices) : slices};
}

uint64_t ImageSpec::Texels() const {
  uint64_t texels = 0;
  for (uint32_t level = 0; level < levels; ++level) texels += Level(level).texels();
  return texels;
}

Result<ImageSpec> ParseImageOptions(std::string_view options) {
  ImageSpec spec;
  std::vector<uint32_t> size;
  bool has_max_lod = false;
  for (std::string_view option : Split(options, ',')) {
    const size_t equals = option.find('=');
    if (equals != std::string_view::npos) {
      if (!ReadValue(option.substr(0, equals), option.substr(equals + 1), spec, size))
        return BadOption(option);
      has_max_lod |= option.starts_with("maxlod");
    } else if (const auto shape = Find(kShapes, option)) {
      spec.shape = *shape;
    } else if (const auto field = Find(kSwitches, option)) {
      spec.*(*field) = true;
    } else {
      return BadOption(option);
    }
  }
  if (spec.channels == 3 || spec.channels > 4) return BadOption("channels=" + std::to_string(spec.channels));
  if (size.size() != Dimensions(spec.shape)) return BadOption("size, which has another number of dimensions");
  spec.width = size[0];
  if (spec.shape == ImageShape::k1dLayered) {
    spec.slices = size[1];
  } else {
    if (size.size() > 1) spec.height = size[1];
    if (size.size() > 2) spec.slices = size[2];
  }
  if (spec.shape == ImageShape::kCube) spec.slices = 6;
  if (!has_max_lod) spec.max_lod = static_cast<float>(spec.levels - 1);
  return spec;
}

}  // namespace ptx2cpu::rt
