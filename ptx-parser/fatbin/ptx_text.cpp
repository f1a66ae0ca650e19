#include "ptx-parser/fatbin/ptx_text.h"

#include <algorithm>
#include <charconv>

namespace ptx2cpu::ptx::fatbin {
namespace {

constexpr std::string_view kVersion = ".version", kTarget = ".target", kByteOrderMark = "\xEF\xBB\xBF";

std::string_view SkipBlanksAndComments(std::string_view text) {
  while (!text.empty()) {
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const size_t end = text.find("*/", 2);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else if (std::string_view(" \t\r\n\f\v").find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  return text;
}

// Takes a decimal number off the front; 0 where there is none.
template <typename T>
T TakeNumber(std::string_view& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(end - text.data());
  return error == std::errc() ? value : T{0};
}

std::string_view Start(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return SkipBlanksAndComments(text);
}

}  // namespace

bool StartsAsPtx(std::string_view text) { return Start(text).starts_with(kVersion); }

bool LooksLikeText(std::string_view text) {
  constexpr size_t kLookedAt = 4096;
  return !Start(text).empty() && std::ranges::none_of(text.substr(0, kLookedAt), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && !(c >= '\t' && c <= '\r');
  });
}

void ReadPtxHeader(std::string_view text, Image& image) {
  std::string_view rest = Start(text);
  if (!rest.starts_with(kVersion)) return;
  rest = SkipBlanksAndComments(rest.substr(kVersion.size()));
  image.ptx_major = TakeNumber<uint16_t>(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    image.ptx_minor = TakeNumber<uint16_t>(rest);
  }
  rest = SkipBlanksAndComments(rest);
  if (!rest.starts_with(kTarget)) return;
  // ".target sm_90a, texmode_independent": the architecture may be anywhere in the list.
  rest = rest.substr(0, rest.find('\n'));
  const size_t at = rest.find("sm_");
  if (at == std::string_view::npos) return;
  rest.remove_prefix(at + 3);
  image.sm = TakeNumber<uint32_t>(rest);
  image.arch_specific = rest.starts_with('a');
  image.family_specific = rest.starts_with('f');
}

}  // namespace ptx2cpu::ptx::fatbin
