#include "tools/record/tensor.h"

#include <charconv>
#include <string>

namespace ptx2cpu::rt {

namespace {

struct NamedType {
  std::string_view name;
  TensorType type;
};
constexpr NamedType kTypes[] = {
    {"u8", TensorType::kU8},     {"b8", TensorType::kU8},           {"u16", TensorType::kU16},
    {"b16", TensorType::kU16},   {"u32", TensorType::kU32},         {"b32", TensorType::kU32},
    {"s32", TensorType::kS32},   {"u64", TensorType::kU64},         {"b64", TensorType::kU64},
    {"s64", TensorType::kS64},   {"f16", TensorType::kF16},         {"f32", TensorType::kF32},
    {"f64", TensorType::kF64},   {"bf16", TensorType::kBF16},       {"f32ftz", TensorType::kF32Ftz},
    {"tf32", TensorType::kTF32}, {"tf32ftz", TensorType::kTF32Ftz},
};

std::unexpected<Error> BadOption(std::string_view option) {
  return Fail(Error{.code = ErrorCode::kUsage,
                    .message = "no tensor option: '" + std::string(option) + "'",
                    .hint = "the head of tools/record/tensor.h lists them"});
}

// Reads numbers with separators between them. Returns their count, 0 where one is invalid or there are too
// many.
template <typename T, size_t most>
uint32_t Numbers(std::string_view text, char separator, std::array<T, most>& values) {
  uint32_t count = 0;
  const char *at = text.data(), *end = at + text.size();
  while (count < most) {
    const auto [next, error] = std::from_chars(at, end, values[count]);
    if (error != std::errc()) return 0;
    ++count;
    if (next == end) return count;
    if (*next != separator) return 0;
    at = next + 1;
  }
  return 0;
}

bool TakeNumbers(std::string_view name, std::string_view value, TensorSpec& spec) {
  std::array<uint32_t, 1> one{};
  if (name == "size") return (spec.rank = Numbers(value, 'x', spec.sizes)) != 0;
  if (name == "strides") return Numbers(value, 'x', spec.strides) != 0;
  if (name == "box") return Numbers(value, 'x', spec.box) != 0;
  if (name == "step") return Numbers(value, 'x', spec.steps) != 0;
  if (name == "lower") return Numbers(value, '/', spec.lower) != 0;
  if (name == "upper") return Numbers(value, '/', spec.upper) != 0;
  if (Numbers(value, ',', one) == 0) return false;
  if (name == "channels") spec.channels = one[0];
  if (name == "pixels") spec.pixels = one[0];
  if (name == "swizzle") spec.swizzle = one[0] == 32 ? 1 : one[0] == 64 ? 2 : one[0] == 128 ? 3 : 0;
  spec.is_im2col |= name == "pixels";
  return name == "channels" || name == "pixels" || (name == "swizzle" && spec.swizzle != 0);
}

}  // namespace

Result<TensorSpec> ParseTensorOptions(std::string_view options, std::string_view type, uint32_t bytes) {
  TensorSpec spec;
  std::string_view type_name = type, rest = options;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view option = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    const size_t equals = option.find('=');
    if (option == "nan") {
      spec.nan = true;
    } else if (equals == std::string_view::npos) {
      return BadOption(option);
    } else if (option.starts_with("type=")) {
      type_name = option.substr(equals + 1);
    } else if (!TakeNumbers(option.substr(0, equals), option.substr(equals + 1), spec)) {
      return BadOption(option);
    }
  }
  bool is_known = false;
  for (const NamedType& row : kTypes) {
    if (row.name != type_name) continue;
    spec.type = row.type;
    is_known = true;
  }
  if (!is_known || spec.rank == 0) return BadOption(options);
  uint64_t stride = bytes;
  for (uint32_t n = 0; n + 1 < spec.rank; ++n) {
    stride *= spec.sizes[n];
    if (spec.strides[n] == 0) spec.strides[n] = stride;
    stride = spec.strides[n];
  }
  return spec;
}

}  // namespace ptx2cpu::rt
