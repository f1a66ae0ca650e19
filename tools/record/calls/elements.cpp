#include "tools/record/calls/elements.h"

#include <cstdio>
#include <cstring>

#include "tools/record/generators.h"
#include "tools/record/small_float.h"

namespace ptx2cpu::calls {

namespace {

struct Named {
  char letter;
  ElementType type;
};
constexpr Named kTypes[] = {
    {'S', {'S', 1, 4, true, 0x1p-23}}, {'D', {'D', 1, 8, true, 0x1p-52}}, {'C', {'S', 2, 4, true, 0x1p-23}},
    {'Z', {'D', 2, 8, true, 0x1p-52}}, {'H', {'H', 1, 2, true, 0x1p-10}}, {'B', {'B', 1, 2, true, 0x1p-7}},
    {'K', {'H', 2, 2, true, 0x1p-10}}, {'L', {'B', 2, 2, true, 0x1p-7}},  {'I', {'I', 1, 4, false, 0}},
    {'J', {'J', 1, 8, false, 0}},      {'Y', {'Y', 1, 1, false, 0}},      {'U', {'U', 1, 1, false, 0}},
    {'W', {'W', 1, 4, false, 0}},      {'X', {'X', 1, 8, false, 0}},      {'E', {'E', 1, 1, false, 0}},
    {'F', {'F', 1, 1, false, 0}},
};
constexpr rt::FloatFormat kE4M3{4, 3}, kE5M2{5, 2};

template <typename T>
double Read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}
template <typename T>
void Write(double value, std::byte* to) {
  const T stored = static_cast<T>(value);
  std::memcpy(to, &stored, sizeof stored);
}
const rt::FloatFormat* SmallFormat(const ElementType& type) {
  switch (type.component) {
    case 'H':
      return &rt::kHalf;
    case 'B':
      return &rt::kBfloat16;
    case 'E':
      return &kE4M3;
    case 'F':
      return &kE5M2;
    default:
      return nullptr;
  }
}

}  // namespace

const ElementType* FindElementType(const std::string& letter) {
  for (const Named& named : kTypes)
    if (letter.size() == 1 && named.letter == letter[0]) return &named.type;
  return nullptr;
}

uint64_t ComponentBits(const ElementType& type, const std::byte* from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, type.bytes);
  return bits;
}

double ReadComponent(const ElementType& type, const std::byte* from) {
  if (const rt::FloatFormat* format = SmallFormat(type); format != nullptr)
    return rt::DecodeSmallFloat(static_cast<uint32_t>(ComponentBits(type, from)), *format);
  switch (type.component) {
    case 'S':
      return Read<float>(from);
    case 'D':
      return Read<double>(from);
    case 'I':
      return Read<int32_t>(from);
    case 'J':
      return Read<int64_t>(from);
    case 'Y':
      return Read<int8_t>(from);
    case 'U':
      return Read<uint8_t>(from);
    case 'W':
      return Read<uint32_t>(from);
    default:
      return Read<uint64_t>(from);
  }
}

void WriteComponent(const ElementType& type, double value, std::byte* to) {
  if (const rt::FloatFormat* format = SmallFormat(type); format != nullptr) {
    const uint32_t bits = rt::EncodeSmallFloat(value, *format);
    std::memcpy(to, &bits, type.bytes);
    return;
  }
  switch (type.component) {
    case 'S':
      return Write<float>(value, to);
    case 'D':
      return Write<double>(value, to);
    case 'I':
      return Write<int32_t>(value, to);
    case 'J':
      return Write<int64_t>(value, to);
    case 'Y':
      return Write<int8_t>(value, to);
    case 'U':
      return Write<uint8_t>(value, to);
    case 'W':
      return Write<uint32_t>(value, to);
    default:
      return Write<uint64_t>(value, to);
  }
}

std::string ComponentText(const ElementType& type, const std::byte* from) {
  const uint64_t bits = ComponentBits(type, from);
  if (type.component == 'W' || type.component == 'X' || type.bytes == 1) return std::to_string(bits);
  if (type.component == 'I') return std::to_string(static_cast<int32_t>(bits));
  if (type.component == 'J') return std::to_string(static_cast<int64_t>(bits));
  char text[20];
  std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(2 * type.bytes),
                static_cast<unsigned long long>(bits));
  std::string digits(text);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return digits;
}

void ReadComponentText(const ElementType& type, const std::string& text, std::byte* to) {
  uint64_t bits;
  if (!type.is_float) {
    bits = text[0] == '-' ? static_cast<uint64_t>(std::stoll(text)) : std::stoull(text);
  } else {
    bits = std::stoull(text + std::string(2 * type.bytes - text.size(), '0'), nullptr, 16);
  }
  std::memcpy(to, &bits, type.bytes);
}

void FillComponents(const ElementType& type, Fill fill, uint64_t seed, int limit,
                    std::vector<std::byte>& to) {
  rt::SplitMix64 draws(seed);
  for (size_t at = 0; at < to.size(); at += type.bytes) {
    const uint64_t draw = draws.Next();
    double value;
    if (fill == Fill::kIntegers) {
      const int lowest = type.component == 'U' || type.component == 'W' || type.component == 'X' ? 0 : -limit;
      value = lowest + static_cast<double>(draw % static_cast<uint64_t>(limit - lowest + 1));
    } else {
      value = static_cast<double>(static_cast<int64_t>(draw) >> 40) * 0x1p-23;
    }
    WriteComponent(type, value, &to[at]);
  }
}

}  // namespace ptx2cpu::calls
