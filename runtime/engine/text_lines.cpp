#include "runtime/engine/text_lines.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ptx2cpu::rt {

namespace {

size_t BeginOf(std::string_view text, uint32_t line) {
  size_t begin = 0;
  for (uint32_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return end;
    begin = end + 1;
  }
  return begin;
}

std::string_view Trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

// Removes the number at the front and the blanks after it, and returns it.
uint32_t TakeNumber(std::string_view& rest) {
  rest = Trimmed(rest);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return error == std::errc() ? number : 0;
}

bool BeginsFunction(std::string_view line) {
  return std::ranges::any_of(
      std::to_array<std::string_view>({".entry", ".func", ".visible", ".weak", ".extern"}),
      [&](std::string_view word) { return line.starts_with(word); });
}

std::string FileNumbered(std::string_view text, uint32_t number) {
  for (size_t at = text.find(".file"); at != std::string_view::npos; at = text.find(".file", at + 1)) {
    std::string_view rest = text.substr(at + 5, text.find('\n', at) - at - 5);
    if (TakeNumber(rest) != number) continue;
    const size_t open = rest.find('"'), close = rest.rfind('"');
    if (open != std::string_view::npos && close > open)
      return std::string(rest.substr(open + 1, close - open - 1));
  }
  return {};
}

}  // namespace

std::string_view LineOf(std::string_view text, uint32_t line) {
  const size_t begin = BeginOf(text, line);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

std::optional<SourceLine> SourceLineAt(std::string_view text, uint32_t line) {
  size_t end = BeginOf(text, line);
  while (end != std::string_view::npos && end != 0) {
    // text[end - 1] is the end of the line before.
    const size_t begin = text.substr(0, end - 1).rfind('\n') + 1;
    std::string_view content = Trimmed(text.substr(begin, end - 1 - begin));
    if (content.starts_with(".loc")) {
      content.remove_prefix(4);
      const uint32_t file = TakeNumber(content), number = TakeNumber(content);
      if (number == 0) return std::nullopt;
      return SourceLine{FileNumbered(text, file), number};
    }
    if (BeginsFunction(content)) return std::nullopt;
    end = begin;
  }
  return std::nullopt;
}

namespace {
std::string_view After(std::string_view text, std::string_view directive) {
  for (size_t at = text.find(directive); at != std::string_view::npos; at = text.find(directive, at + 1)) {
    const std::string_view line = text.substr(text.rfind('\n', at) + 1, at - text.rfind('\n', at) - 1);
    if (Trimmed(line).empty()) return Trimmed(text.substr(at + directive.size(), 64));
  }
  return {};
}
}  // namespace

uint32_t VersionOf(std::string_view text) {
  std::string_view rest = After(text, ".version");
  const uint32_t major = TakeNumber(rest);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return major == 0 ? 0 : major * 10 + TakeNumber(rest);
}

uint32_t TargetOf(std::string_view text) {
  std::string_view rest = After(text, ".target");
  for (std::string_view prefix : {"sm_", "compute_"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    return TakeNumber(rest);
  }
  return 0;
}

}  // namespace ptx2cpu::rt
