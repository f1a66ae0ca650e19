#include "tests/random/sequences/inputs.h"

#include <algorithm>
#include <iterator>

#include "tools/record/edges.h"

namespace ptx2cpu::random_sequences {

using ptx::PtxType;
using ptx::TypeKind;
using random_kernels::RandomWords;

namespace {

constexpr uint32_t kEntries = 128;  // of a section

struct FloatFormat {
  uint32_t bits, mantissa, bias;
};
constexpr FloatFormat kHalf{16, 10, 15}, kBrain{16, 7, 127}, kSingle{32, 23, 127}, kDouble{64, 52, 1023};

enum class Kind : uint8_t {
  kBits,
  kInteger,
  kSmall,
  kHalf,
  kBrain,
  kSingle,
  kNearSingle,
  kDouble,
  kNearDouble
};

struct Width {
  uint8_t bits;
  std::vector<Kind> sections;
};
const Width kWidths[] = {
    {16, {Kind::kBits, Kind::kInteger, Kind::kSmall, Kind::kHalf, Kind::kBrain}},
    {32,
     {Kind::kBits, Kind::kInteger, Kind::kSmall, Kind::kHalf, Kind::kBrain, Kind::kSingle,
      Kind::kNearSingle}},
    {64, {Kind::kBits, Kind::kInteger, Kind::kSingle, Kind::kNearSingle, Kind::kDouble, Kind::kNearDouble}}};

uint64_t Bits(RandomWords& random) { return uint64_t{random.Word()} << 32 | random.Word(); }

uint64_t Edge(RandomWords& random, const char* type) {
  const auto edges = rt::EdgeBits(*rt::FindScalarType(type), false);
  return edges[random.Below(edges.size())];
}

// Factors, dividends and divisors whose results lie next to the least normal number: that itself, numbers
// next to 1 and to its root.
uint64_t NearLeastNormal(RandomWords& random, const FloatFormat& format) {
  const uint64_t sign = uint64_t{random.Chance(2)} << (format.bits - 1);
  const uint64_t exponents[] = {1, format.bias, (format.bias + 1) / 2};
  return (sign | exponents[random.Below(3)] << format.mantissa) + random.Below(7) - 3;
}

// Numbers of everyday size, many with few bits: where sums and products round, tie, and become integers.
uint64_t Near(RandomWords& random, const FloatFormat& format) {
  if (random.Chance(8)) return NearLeastNormal(random, format);
  const uint64_t sign = uint64_t{random.Chance(2)} << (format.bits - 1);
  const uint32_t reach = std::min(format.bias - 2, random.Chance(3) ? 40u : 6u);
  const uint64_t exponent = format.bias - reach + random.Below(2 * reach + 1);
  uint64_t mantissa = Bits(random) & ((uint64_t{1} << format.mantissa) - 1);
  if (random.Chance(2)) mantissa &= ~uint64_t{0} << random.Below(format.mantissa + 1);
  return sign | exponent << format.mantissa | mantissa;
}

uint64_t Float(RandomWords& random, const FloatFormat& format, const char* type) {
  if (random.Chance(6)) return Bits(random);
  return random.Chance(2) ? Edge(random, type) : Near(random, format);
}

uint64_t Integer(RandomWords& random, uint32_t bits) {
  if (random.Chance(3)) return Bits(random) >> random.Below(64);
  const uint64_t edge = Edge(random, bits == 16 ? "b16" : bits == 32 ? "b32" : "b64");
  return random.Chance(4) ? edge + random.Below(5) - 2 : edge;
}

// One element of a section, of at most `bits`.
uint64_t Value(RandomWords& random, Kind kind, uint32_t bits) {
  switch (kind) {
    case Kind::kBits:
      return Bits(random);
    case Kind::kInteger:
      return Integer(random, bits);
    case Kind::kSmall:
      return random.Below(random.Chance(4) ? 300 : 67);
    case Kind::kHalf:
      return Float(random, kHalf, "f16");
    case Kind::kBrain:
      return Float(random, kBrain, "bf16");
    case Kind::kSingle:
      return Float(random, kSingle, "f32");
    case Kind::kNearSingle:
      return Near(random, kSingle);
    case Kind::kDouble:
      return Float(random, kDouble, "f64");
    case Kind::kNearDouble:
      return Near(random, kDouble);
  }
  return 0;
}

uint32_t OwnBits(Kind kind, uint32_t width) {
  if (kind == Kind::kHalf || kind == Kind::kBrain) return 16;
  return kind == Kind::kSingle || kind == Kind::kNearSingle ? 32 : width;
}

const Width& WidthOf(uint8_t bits) {
  return *std::find_if(std::begin(kWidths), std::end(kWidths),
                       [&](const Width& width) { return width.bits == bits; });
}

// Kinds that suit a type.
std::vector<Kind> KindsOf(PtxType type) {
  const ptx::TypeInfo& info = ptx::Info(type);
  switch (info.kind) {
    case TypeKind::kFloat:
      if (info.element_bits == 16) return {Kind::kHalf};
      if (info.element_bits == 32) return {Kind::kSingle, Kind::kNearSingle};
      return {Kind::kDouble, Kind::kNearDouble};
    case TypeKind::kBrainFloat:
      return {Kind::kBrain};
    case TypeKind::kUnsigned:
    case TypeKind::kSigned:
      return {Kind::kInteger, Kind::kBits, Kind::kSmall};
    case TypeKind::kNone:
    case TypeKind::kPredicate:
    case TypeKind::kBits:
    case TypeKind::kNarrow:
    case TypeKind::kOpaque:
      break;
  }
  return {};
}

}  // namespace

uint32_t TableOffset(uint8_t bits) {
  uint32_t offset = 0;
  for (const Width& width : kWidths) {
    if (width.bits == bits) break;
    offset += static_cast<uint32_t>(width.sections.size()) * kEntries * width.bits / 8;
  }
  return offset;
}

std::vector<uint32_t> MakeTable(uint64_t seed) {
  RandomWords random(seed * 0xD1B54A32D192ED03u + 0x7AB1E);  // far from those of the sequences
  std::vector<uint32_t> words;
  for (const Width& width : kWidths) {
    for (const Kind kind : width.sections) {
      const uint32_t bits = OwnBits(kind, width.bits);
      for (uint32_t at = 0; at < kEntries * width.bits; at += bits) {
        const uint64_t value = Value(random, kind, bits);
        const uint32_t shift = at % 32;
        if (shift == 0) words.push_back(0);
        words.back() |= static_cast<uint32_t>(bits == 16 ? value & 0xFFFF : value) << shift;
        if (bits == 64) words.push_back(static_cast<uint32_t>(value >> 32));
      }
    }
  }
  return words;
}

uint32_t DrawElement(RandomWords& random, PtxType type, uint8_t bits) {
  const std::vector<Kind>& sections = WidthOf(bits).sections;
  const std::vector<Kind> kinds = KindsOf(type);
  size_t section = random.Below(sections.size());
  if (!kinds.empty() && !random.Chance(8)) {
    const Kind kind = kinds[random.Below(kinds.size())];
    const auto found = std::find(sections.begin(), sections.end(), kind);
    if (found != sections.end()) section = static_cast<size_t>(found - sections.begin());
  }
  return static_cast<uint32_t>(section) * kEntries + random.Below(kEntries - kMaxThreads + 1);
}

uint64_t DrawConstant(RandomWords& random, PtxType type) {
  const ptx::TypeInfo& info = ptx::Info(type);
  const auto width = static_cast<uint8_t>(info.bits());
  const std::vector<Kind> kinds = KindsOf(type);
  const Kind kind = kinds.empty() ? Kind::kInteger : kinds[random.Below(kinds.size())];
  const uint64_t value = Value(random, kind, width);
  return width >= 64 ? value : value & ((uint64_t{1} << width) - 1);
}

}  // namespace ptx2cpu::random_sequences
