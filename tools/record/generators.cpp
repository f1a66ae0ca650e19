#include "tools/record/generators.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "tools/record/edges.h"
#include "tools/record/small_float.h"

namespace ptx2cpu::rt {
namespace {

std::unexpected<Error> BadGenerator(std::string_view call, std::string_view why) {
  return Fail(ErrorCode::kUsage, "gen(" + std::string(call) + "): " + std::string(why));
}

// The text within gen(...), split and with the common fields read.
struct Call {
  std::string_view text;
  std::vector<std::string_view> fields = {};  // name, count, and the rest
  uint64_t count = 0;

  std::string_view name() const { return fields[0]; }
};

std::optional<uint64_t> Natural(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

void Append(const ScalarType& type, uint64_t bits, std::vector<std::byte>& data) {
  const size_t at = data.size();
  data.resize(at + type.size);
  std::memcpy(data.data() + at, &bits, type.size);
}

// Bits of the double `value` rounded once to the float type.
uint64_t Encode(const ScalarType& type, double value) {
  if (type.size == 8) return std::bit_cast<uint64_t>(value);
  if (type.size == 4) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return EncodeSmallFloat(value, type.exponent_bits == kHalf.exponent_bits ? kHalf : kBfloat16);
}

// A field of an integer generator, as 64 bits (sign-extended for signed types).
Result<uint64_t> IntegerField(const Call& call, size_t index, bool is_signed) {
  static const ScalarType kWide[2] = {*FindScalarType("u64"), *FindScalarType("s64")};
  std::vector<std::byte> bytes;
  TRY_STATUS(AppendValue(kWide[is_signed], call.fields[index], bytes));
  uint64_t value;
  std::memcpy(&value, bytes.data(), 8);
  return value;
}

Result<double> FloatField(const Call& call, size_t index) {
  std::vector<std::byte> bytes;
  TRY_STATUS(AppendValue(*FindScalarType("f64"), call.fields[index], bytes));
  double value;
  std::memcpy(&value, bytes.data(), 8);
  return value;
}

Result<std::vector<std::byte>> UniformIntegers(const ScalarType& type, const Call& call, bool as_offsets) {
  const std::optional<uint64_t> seed = Natural(call.fields[2]);
  if (!seed) return BadGenerator(call.text, "no seed");
  const bool is_signed = type.kind == ScalarKind::kSigned;
  const bool bounded = call.fields.size() == 5;
  const uint64_t low = bounded ? TRY(IntegerField(call, 3, is_signed)) : 0;
  const uint64_t high = bounded ? TRY(IntegerField(call, 4, is_signed)) : 99;
  const uint64_t span = high - low + 1;  // 0 means all 2^64 values
  SplitMix64 random(*seed);
  std::vector<std::byte> data;
  uint64_t offset = 0;
  for (uint64_t i = 0; i < call.count; ++i) {
    if (as_offsets) Append(type, offset, data);
    const uint64_t draw = random.Next();
    const uint64_t value = low + (span == 0 ? draw : draw % span);
    offset += value;
    if (!as_offsets) Append(type, value, data);
  }
  return data;
}

Result<std::vector<std::byte>> UniformFloats(const ScalarType& type, const Call& call) {
  const std::optional<uint64_t> seed = Natural(call.fields[2]);
  if (!seed) return BadGenerator(call.text, "no seed");
  const bool bounded = call.fields.size() == 5;
  const double low = bounded ? TRY(FloatField(call, 3)) : 0.0;
  const double high = bounded ? TRY(FloatField(call, 4)) : 1.0;
  SplitMix64 random(*seed);
  std::vector<std::byte> data;
  for (uint64_t i = 0; i < call.count; ++i) {
    const double fraction = std::ldexp(static_cast<double>(random.Next() >> 11), -53);
    Append(type, Encode(type, std::fma(high - low, fraction, low)), data);
  }
  return data;
}

Result<std::vector<std::byte>> Iota(const ScalarType& type, const Call& call) {
  std::vector<std::byte> data;
  const bool stepped = call.fields.size() == 4;
  if (type.kind == ScalarKind::kFloat) {
    const double start = TRY(FloatField(call, 2));
    const double step = stepped ? TRY(FloatField(call, 3)) : 1.0;
    for (uint64_t i = 0; i < call.count; ++i) Append(type, Encode(type, std::fma(i, step, start)), data);
  } else {
    const uint64_t start = TRY(IntegerField(call, 2, type.kind == ScalarKind::kSigned));
    const uint64_t step = stepped ? TRY(IntegerField(call, 3, type.kind == ScalarKind::kSigned)) : 1;
    for (uint64_t i = 0; i < call.count; ++i) Append(type, start + i * step, data);
  }
  return data;
}

Result<std::vector<std::byte>> Constant(const ScalarType& type, const Call& call) {
  std::vector<std::byte> data;
  for (uint64_t i = 0; i < call.count; ++i) TRY_STATUS(AppendValue(type, call.fields[2], data));
  return data;
}

Result<std::vector<std::byte>> Bits(const ScalarType& type, const Call& call) {
  const std::optional<uint64_t> seed = Natural(call.fields[2]);
  if (!seed) return BadGenerator(call.text, "no seed");
  SplitMix64 random(*seed);
  std::vector<std::byte> data;
  for (uint64_t i = 0; i < call.count; ++i) Append(type, random.Next(), data);
  return data;
}

// Floats of any format with `exponent_bits` that fills the type, by their fields.
Result<std::vector<std::byte>> FloatFields(const ScalarType& type, const Call& call) {
  std::vector<uint64_t> numbers;
  for (size_t i = 2; i < call.fields.size(); ++i) {
    const std::optional<uint64_t> number = Natural(call.fields[i]);
    if (!number) return BadGenerator(call.text, "a field is not a number");
    numbers.push_back(*number);
  }
  const uint64_t bits = uint64_t{type.size} * 8, exponent_bits = numbers[1], low = numbers[2],
                 high = numbers[3];
  if (exponent_bits == 0 || exponent_bits + 2 > bits || low > high || high >> exponent_bits != 0)
    return BadGenerator(call.text, "no such exponent");
  const uint64_t mantissa_bits = bits - 1 - exponent_bits, one = uint64_t{1} << mantissa_bits;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  const uint64_t special[] = {0, 1, one - 1, one, infinity - 1, infinity, infinity | one >> 1, 0};
  SplitMix64 random(numbers[0]);
  std::vector<std::byte> data;
  for (uint64_t i = 0; i < call.count; ++i) {
    const uint64_t draw = random.Next(), choice = random.Next();
    uint64_t value = (draw & (one - 1)) | (low + (choice >> 20) % (high - low + 1)) << mantissa_bits;
    if (numbers.size() == 5 && choice % numbers[4] == 0) value = special[draw & 7];
    Append(type, value | (draw >> 63) << (bits - 1), data);
  }
  return data;
}

Result<std::vector<std::byte>> Permutation(const ScalarType& type, const Call& call) {
  const std::optional<uint64_t> seed = Natural(call.fields[2]);
  if (!seed) return BadGenerator(call.text, "no seed");
  SplitMix64 random(*seed);
  std::vector<uint64_t> order(call.count);
  for (uint64_t i = 0; i < call.count; ++i) order[i] = i;
  for (uint64_t i = call.count; i-- > 1;) std::swap(order[i], order[random.Next() % (i + 1)]);
  std::vector<std::byte> data;
  for (const uint64_t value : order) Append(type, value, data);
  return data;
}

Result<std::vector<std::byte>> Edges(const ScalarType& type, const Call& call, bool few) {
  const std::optional<uint64_t> stride = Natural(call.fields[2]);
  if (!stride || *stride == 0) return BadGenerator(call.text, "no stride");
  const std::span<const uint64_t> edges = EdgeBits(type, few);
  std::vector<std::byte> data;
  for (uint64_t i = 0; i < call.count; ++i) Append(type, edges[i / *stride % edges.size()], data);
  return data;
}

}  // namespace

Result<std::vector<std::byte>> Generate(const ScalarType& type, std::string_view text) {
  Call call{.text = text};
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    call.fields.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  const size_t fields = call.fields.size();
  const std::optional<uint64_t> count = fields >= 3 ? Natural(call.fields[1]) : std::nullopt;
  if (!count) return BadGenerator(text, "write gen(NAME,COUNT,SEED or value,...)");
  if (*count > kMaxBufferBytes / type.size) return BadGenerator(text, "too large");
  call.count = *count;
  const bool is_float = type.kind == ScalarKind::kFloat;
  if (call.name() == "iota" && fields <= 4) return Iota(type, call);
  if (call.name() == "constant" && fields == 3) return Constant(type, call);
  if (call.name() == "bits" && fields == 3) return Bits(type, call);
  if ((call.name() == "edges" || call.name() == "fewedges") && fields == 3)
    return Edges(type, call, call.name() == "fewedges");
  if (call.name() == "uniform" && (fields == 3 || fields == 5)) {
    return is_float ? UniformFloats(type, call) : UniformIntegers(type, call, false);
  }
  if (call.name() == "offsets" && fields == 5 && !is_float) return UniformIntegers(type, call, true);
  if (call.name() == "floats" && (fields == 6 || fields == 7)) return FloatFields(type, call);
  if (call.name() == "permutation" && fields == 3 && !is_float) return Permutation(type, call);
  return BadGenerator(text, "no such generator, or not with so many fields or this type");
}

}  // namespace ptx2cpu::rt
