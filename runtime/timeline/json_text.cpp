#include "runtime/timeline/json_text.h"

#include <bit>
#include <cstdint>
#include <cstdio>

namespace ptx2cpu::rt {

namespace {

constexpr uint32_t kReplacement = 0xfffd, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;

// Takes the first character of the text.
uint32_t TakeCharacter(std::string_view& text) {
  const auto first = static_cast<uint8_t>(text[0]);
  text.remove_prefix(1);
  if (first < 0x80) return first;
  const int count = std::countl_one(first);  // bytes of the character
  if (count < 2 || count > 4 || text.size() < static_cast<size_t>(count - 1)) return kReplacement;
  uint32_t character = first & (0x7fu >> count);
  for (int n = 0; n < count - 1; ++n) {
    const auto next = static_cast<uint8_t>(text[static_cast<size_t>(n)]);
    if ((next & 0xc0) != 0x80) return kReplacement;
    character = character << 6 | (next & 0x3f);
  }
  // The least of two, three and four bytes.
  constexpr uint32_t kLeast[] = {0x80, 0x800, 0x10000};
  const bool is_surrogate = character >= kFirstSurrogate && character <= kLastSurrogate;
  if (character < kLeast[count - 2] || character > 0x10ffff || is_surrogate) return kReplacement;
  text.remove_prefix(static_cast<size_t>(count - 1));
  return character;
}

void AddEscape(std::string& out, uint32_t unit) {
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", unit);
  out += escape;
}

}  // namespace

std::string QuotedJson(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const uint32_t character = TakeCharacter(text);
    if (character >= 0x10000) {
      AddEscape(out, kFirstSurrogate + ((character - 0x10000) >> 10));
      AddEscape(out, 0xdc00 + ((character - 0x10000) & 0x3ff));
    } else if (character < 0x20 || character > 0x7e) {
      AddEscape(out, character);
    } else {
      if (character == '"' || character == '\\') out += '\\';
      out += static_cast<char>(character);
    }
  }
  return out + '"';
}

}  // namespace ptx2cpu::rt
