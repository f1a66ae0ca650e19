#include "ptx-parser/fatbin/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace ptx2cpu::ptx::fatbin {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `text`; 0 where there is none (RFC 3629,
// section 4).
size_t SequenceLength(std::string_view text) {
  auto at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  auto tail = [&](size_t i) { return at(i) >= 0x80 && at(i) <= 0xBF; };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && at(1) < 0xA0;
    const bool surrogate = lead == 0xED && at(1) > 0x9F;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && at(1) < 0x90;
    const bool beyond = lead == 0xF4 && at(1) > 0x8F;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    if (c >= 0x20 && c < 0x7F) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  if (text.size() > limit) out += "...";
  return out;
}

std::string ToUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    out += length != 0 ? text.substr(0, length) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(length != 0 ? length : 1);
  }
  return out;
}

std::string ForFileName(std::string_view text, size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool keep = letter || c == '-' || c == '_' || c == '+' || (c == '.' && !out.empty());
    out += keep ? c : '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace ptx2cpu::ptx::fatbin
