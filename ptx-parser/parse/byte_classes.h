// What kind of text a byte of PTX may belong to.
#pragma once

#include <array>
#include <cstdint>

namespace ptx2cpu::ptx {

// Classes of bytes, as bits.
enum : uint8_t {
  kFollow = 1,  // [A-Za-z0-9_$]
  kStart = 2,   // [A-Za-z_$]
  kDigit = 4,   // [0-9]
  kHexDigit = 8,
  kBlank = 16,  // white space except the newline
};

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (digit || letter || c == '_' || c == '$') classes[c] |= kFollow;
    if (letter || c == '_' || c == '$') classes[c] |= kStart;
    if (digit) classes[c] |= kDigit;
    if (digit || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f')) classes[c] |= kHexDigit;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') classes[c] |= kBlank;
  }
  return classes;
}
inline constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

constexpr bool Is(char c, uint8_t mask) { return (kClasses[static_cast<uint8_t>(c)] & mask) != 0; }

}  // namespace ptx2cpu::ptx
