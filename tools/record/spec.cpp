#include "tools/record/spec.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>

#include "tools/record/generators.h"
#include "tools/record/small_float.h"

namespace ptx2cpu::rt {
namespace {

constexpr std::array<ScalarType, 16> kScalarTypes = {{
    {"u8", ScalarKind::kUnsigned, 1, 0},
    {"s8", ScalarKind::kSigned, 1, 0},
    {"b8", ScalarKind::kBits, 1, 0},
    {"u16", ScalarKind::kUnsigned, 2, 0},
    {"s16", ScalarKind::kSigned, 2, 0},
    {"b16", ScalarKind::kBits, 2, 0},
    {"u32", ScalarKind::kUnsigned, 4, 0},
    {"s32", ScalarKind::kSigned, 4, 0},
    {"b32", ScalarKind::kBits, 4, 0},
    {"u64", ScalarKind::kUnsigned, 8, 0},
    {"s64", ScalarKind::kSigned, 8, 0},
    {"b64", ScalarKind::kBits, 8, 0},
    {"f16", ScalarKind::kFloat, 2, 5},
    {"bf16", ScalarKind::kFloat, 2, 8},
    {"f32", ScalarKind::kFloat, 4, 8},
    {"f64", ScalarKind::kFloat, 8, 11},
}};
static_assert(std::endian::native == std::endian::little, "SPEC data is little-endian");

constexpr std::string_view kTypeHint =
    "types are u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64 b8 b16 b32 b64";

std::unexpected<Error> BadSpec(std::string message, std::string_view hint = {}) {
  return Fail(Error{.code = ErrorCode::kUsage, .message = std::move(message), .hint = std::string(hint)});
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

void AppendBits(uint64_t bits, size_t size, std::vector<std::byte>& data) {
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &bits, 8);
  data.insert(data.end(), bytes.begin(), bytes.begin() + size);
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

template <typename T>
std::optional<T> ParseFloat(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {  // too large or too small: strtod returns the rounded value
    const std::string copy(text);
    if constexpr (sizeof(T) == 4) return std::strtof(copy.c_str(), nullptr);
    return static_cast<T>(std::strtod(copy.c_str(), nullptr));
  }
  return value;
}

std::optional<uint64_t> FloatBits(const ScalarType& type, std::string_view text) {
  if (type.size == 2) {
    const std::optional<double> value = ParseFloat<double>(text);
    if (!value) return std::nullopt;
    return EncodeSmallFloat(*value, type.exponent_bits == kHalf.exponent_bits ? kHalf : kBfloat16);
  }
  if (type.size == 4) {
    const std::optional<float> value = ParseFloat<float>(text);
    if (!value) return std::nullopt;
    return std::isnan(*value) ? 0x7fffffffu : std::bit_cast<uint32_t>(*value);
  }
  const std::optional<double> value = ParseFloat<double>(text);
  if (!value) return std::nullopt;
  return std::isnan(*value) ? 0x7ff8000000000000u : std::bit_cast<uint64_t>(*value);
}

std::optional<uint64_t> IntegerBits(const ScalarType& type, std::string_view text) {
  const int width = type.size * 8;
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (text.starts_with('-')) {
    if (type.kind == ScalarKind::kUnsigned) return std::nullopt;
    const std::optional<int64_t> value = ParseNumber<int64_t>(text);
    if (!value || *value < -static_cast<int64_t>(mask / 2) - 1) return std::nullopt;
    return static_cast<uint64_t>(*value) & mask;
  }
  const std::optional<uint64_t> value = ParseNumber<uint64_t>(text);
  if (!value || *value > (type.kind == ScalarKind::kSigned ? mask / 2 : mask)) return std::nullopt;
  return *value;
}

Result<std::vector<std::byte>> ReadBytes(std::string_view name, const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / std::filesystem::path(name);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) return Fail(ErrorCode::kFile, "cannot read " + Quoted(path.string()));
  if (static_cast<uint64_t>(size) > kMaxBufferBytes)
    return BadSpec("file " + Quoted(path.string()) + " is too large");
  std::vector<std::byte> data(static_cast<size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(data.data()), size)) {
    return Fail(ErrorCode::kFile, "cannot read " + Quoted(path.string()));
  }
  return data;
}

Result<std::vector<std::byte>> ParseList(const ScalarType& type, std::string_view list) {
  std::vector<std::byte> data;
  list.remove_prefix(1);
  list.remove_suffix(1);
  while (!list.empty()) {
    const size_t comma = list.find(',');
    TRY_STATUS(AppendValue(type, list.substr(0, comma), data));
    if (comma == std::string_view::npos) return data;
    list.remove_prefix(comma + 1);
    if (list.empty()) return BadSpec("a list ends in a comma");
  }
  return data;
}

Result<std::vector<std::byte>> ParseContents(const ScalarType& type, std::string_view text,
                                             const std::filesystem::path& directory) {
  if (text.starts_with('@')) {
    std::vector<std::byte> data = TRY(ReadBytes(text.substr(1), directory));
    if (data.size() % type.size != 0) {
      return BadSpec("the size of " + Quoted(text.substr(1)) + " is not a multiple of " +
                     std::string(type.name));
    }
    return data;
  }
  if (text.starts_with('[') && text.ends_with(']')) return ParseList(type, text);
  if (text.starts_with("gen(") && text.ends_with(')')) return Generate(type, text.substr(4, text.size() - 5));
  return BadSpec("no buffer contents: " + Quoted(text), "write [v,v,...], @FILE or gen(NAME,COUNT,...)");
}

Result<Argument> ParseBytes(std::string_view text, const std::filesystem::path& directory) {
  Argument argument{.role = ArgumentRole::kBytes};
  if (text.starts_with('@')) {
    argument.data = TRY(ReadBytes(text.substr(1), directory));
    return argument;
  }
  if (!text.starts_with("hex(") || !text.ends_with(')')) {
    return BadSpec("no struct value: " + Quoted(text), "write bytes:@FILE or bytes:hex(DIGITS)");
  }
  text = text.substr(4, text.size() - 5);
  if (text.size() % 2 != 0) return BadSpec("bytes:hex() has an odd number of digits");
  for (size_t i = 0; i < text.size(); i += 2) {
    const std::optional<uint8_t> byte = ParseNumber<uint8_t>(text.substr(i, 2), 16);
    if (!byte) return BadSpec("no hex digits: " + Quoted(text.substr(i, 2)));
    argument.data.push_back(std::byte{*byte});
  }
  return argument;
}

Result<Argument> ParseBuffer(ArgumentRole role, std::string_view text,
                             const std::filesystem::path& directory) {
  const size_t colon = text.find(':');
  const ScalarType* type = FindScalarType(text.substr(0, colon));
  if (!type) return BadSpec("unknown type " + Quoted(text.substr(0, colon)), kTypeHint);
  if (colon == std::string_view::npos) return BadSpec("nothing after the type in " + Quoted(text));
  text.remove_prefix(colon + 1);
  Argument argument{.role = role, .type = type};
  if (role != ArgumentRole::kOut) {
    argument.data = TRY(ParseContents(*type, text, directory));
    return argument;
  }
  const std::optional<uint64_t> count = ParseNumber<uint64_t>(text);
  if (!count) return BadSpec("no element count: " + Quoted(text), "write out:TYPE:COUNT");
  if (*count > kMaxBufferBytes / type->size)
    return BadSpec("buffer of " + Quoted(text) + " elements is too large");
  argument.data.resize(*count * type->size);
  return argument;
}

Result<Argument> ParseImage(ArgumentRole role, std::string_view text,
                            const std::filesystem::path& directory) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return BadSpec("nothing after the options in " + Quoted(text));
  auto image = std::make_shared<ImageSpec>(TRY(ParseImageOptions(text.substr(0, colon))));
  Argument argument = TRY(ParseBuffer(ArgumentRole::kInOut, text.substr(colon + 1), directory));
  argument.role = role;
  if (argument.type->size == 8)
    return BadSpec("an image has no channels of type " + std::string(argument.type->name));
  if (argument.count() != image->Texels() * image->channels) {
    return BadSpec("the image has " + std::to_string(image->Texels() * image->channels) +
                   " values, the list " + std::to_string(argument.count()));
  }
  argument.image = std::move(image);
  return argument;
}

Result<Argument> ParseTensor(std::string_view text, const std::filesystem::path& directory) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return BadSpec("nothing after the options in " + Quoted(text));
  Argument argument = TRY(ParseBuffer(ArgumentRole::kInOut, text.substr(colon + 1), directory));
  argument.role = ArgumentRole::kTensor;
  auto image = std::make_shared<ImageSpec>();
  image->tensor = TRY(ParseTensorOptions(text.substr(0, colon), argument.type->name, argument.type->size));
  argument.image = std::move(image);
  return argument;
}

}  // namespace

const ScalarType* FindScalarType(std::string_view name) {
  for (const ScalarType& type : kScalarTypes)
    if (type.name == name) return &type;
  return nullptr;
}

Status AppendValue(const ScalarType& type, std::string_view text, std::vector<std::byte>& data) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  std::optional<uint64_t> bits;
  if (hex) {
    bits = ParseNumber<uint64_t>(text.substr(2), 16);
    if (bits && type.size < 8 && *bits >> (type.size * 8) != 0) bits.reset();
  } else {
    bits = type.kind == ScalarKind::kFloat ? FloatBits(type, text) : IntegerBits(type, text);
  }
  if (!bits) return BadSpec(Quoted(text) + " is not a value of type " + std::string(type.name));
  AppendBits(*bits, type.size, data);
  return {};
}

Result<Argument> ParseSpec(std::string_view spec, const std::filesystem::path& directory) {
  const size_t colon = spec.find(':');
  if (colon == std::string_view::npos) {
    return BadSpec("no argument: " + Quoted(spec),
                   "write TYPE:VALUE, in:TYPE:..., out:TYPE:COUNT, inout:TYPE:..., bytes:..., texture:..., "
                   "surface:... or tensor:...");
  }
  const std::string_view head = spec.substr(0, colon), rest = spec.substr(colon + 1);
  if (head == "in") return ParseBuffer(ArgumentRole::kIn, rest, directory);
  if (head == "out") return ParseBuffer(ArgumentRole::kOut, rest, directory);
  if (head == "inout") return ParseBuffer(ArgumentRole::kInOut, rest, directory);
  if (head == "bytes") return ParseBytes(rest, directory);
  if (head == "texture") return ParseImage(ArgumentRole::kTexture, rest, directory);
  if (head == "surface") return ParseImage(ArgumentRole::kSurface, rest, directory);
  if (head == "tensor") return ParseTensor(rest, directory);
  const ScalarType* type = FindScalarType(head);
  if (!type) return BadSpec("unknown type " + Quoted(head), kTypeHint);
  Argument argument{.role = ArgumentRole::kScalar, .type = type};
  TRY_STATUS(AppendValue(*type, rest, argument.data));
  return argument;
}

std::string FormatValue(const ScalarType& type, const std::byte* bytes, bool bits) {
  uint64_t raw = 0;
  std::memcpy(&raw, bytes, type.size);
  char text[64];
  if (bits) {
    std::snprintf(text, sizeof text, "\"0x%0*llx\"", type.size * 2, static_cast<unsigned long long>(raw));
    return text;
  }
  if (type.kind == ScalarKind::kSigned) {
    const int shift = 64 - type.size * 8;
    return std::to_string(static_cast<int64_t>(raw << shift) >> shift);
  }
  if (type.kind != ScalarKind::kFloat) return std::to_string(raw);
  double value;
  if (type.size == 2) {
    value = DecodeSmallFloat(static_cast<uint32_t>(raw),
                             type.exponent_bits == kHalf.exponent_bits ? kHalf : kBfloat16);
  } else if (type.size == 4) {
    value = std::bit_cast<float>(static_cast<uint32_t>(raw));
  } else {
    value = std::bit_cast<double>(raw);
  }
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  std::snprintf(text, sizeof text, "%.*g", type.size == 8 ? 17 : 9, value);
  return text;
}

std::string FormatJsonLine(size_t index, const ScalarType& type, const std::vector<std::byte>& data,
                           bool bits) {
  std::string line =
      "{\"arg\": " + std::to_string(index) + ", \"type\": \"" + std::string(type.name) + "\", \"values\": [";
  for (size_t at = 0; at + type.size <= data.size(); at += type.size) {
    if (at != 0) line += ", ";
    line += FormatValue(type, data.data() + at, bits);
  }
  return line + "]}";
}

}  // namespace ptx2cpu::rt
