#include "tools/demo_program/page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace ptx2cpu::demo {

namespace {

constexpr std::string_view kReset = "\033[0m";

std::string_view Escape(Colour colour) {
  switch (colour) {
    case Colour::kTitle:
      return "\033[1;36m";
    case Colour::kFaint:
      return "\033[2m";
    case Colour::kGood:
      return "\033[1;32m";
    case Colour::kBad:
      return "\033[1;31m";
    case Colour::kPlain:
      break;
  }
  return "";
}

bool ColoursWanted() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && (refused == nullptr || *refused == '\0');
}

// A colour of the 256-colour cube for a brightness from 0 to 1: blue over violet and orange to yellow.
int ShadeColour(double brightness) {
  constexpr int kPath[] = {17, 18, 19, 55, 91, 127, 162, 197, 203, 209, 215, 221, 227, 230};
  return kPath[static_cast<size_t>(brightness * (std::size(kPath) - 1))];
}

}  // namespace

Page::Page() : coloured_(ColoursWanted()) {}

void Page::Line(std::string_view text) const { fmt::print("{}\n", text); }

std::string Page::Paint(Colour colour, std::string_view text) const {
  if (!coloured_ || colour == Colour::kPlain) return std::string(text);
  return fmt::format("{}{}{}", Escape(colour), text, kReset);
}

void Page::Heading(std::string_view left, std::string_view right) const {
  const size_t used = left.size() + right.size() + 6;
  const std::string rule(used < kColumns ? kColumns - used : 1, '-');
  Line();
  Line(fmt::format("{} {} {} {}", Paint(Colour::kFaint, "--"), Paint(Colour::kTitle, left),
                   Paint(Colour::kFaint, rule), right));
}

void Page::Entry(std::string_view label, std::string_view text, Colour first_word) const {
  constexpr size_t kIndent = 8;
  std::string line =
      fmt::format("{}{}", Paint(Colour::kFaint, label), std::string(kIndent - label.size(), ' '));
  size_t column = kIndent;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (column > kIndent && column + 1 + word.size() > kColumns) {
      Line(line);
      line = std::string(kIndent, ' ');
      column = kIndent;
    }
    if (column > kIndent) line += ' ', ++column;
    line += begin == 0 ? Paint(first_word, word) : std::string(word);
    column += word.size();
    begin = end + 1;
  }
  Line(line);
}

void Page::Shades(std::span<const uint8_t> levels, size_t width, std::string_view ramp) const {
  for (size_t row = 0; row + width <= levels.size(); row += width) {
    std::string line;
    for (size_t i = row; i < row + width; ++i) {
      const char shade = ramp[levels[i]];
      if (!coloured_ || shade == ' ')
        line += shade;
      else
        line += fmt::format(
            "\033[38;5;{}m{}",
            ShadeColour(static_cast<double>(levels[i]) / static_cast<double>(ramp.size() - 1)), shade);
    }
    if (coloured_) line += kReset;
    Line("  " + line);
  }
}

std::string PackedRows(std::span<const uint8_t> upper, std::span<const uint8_t> lower) {
  std::string line;
  for (size_t i = 0; i < upper.size(); ++i)
    line += " '.:"[(upper[i] != 0 ? 1 : 0) + (i < lower.size() && lower[i] != 0 ? 2 : 0)];
  return line;
}

std::string Beside(std::string_view left, std::string_view right) {
  std::string out;
  while (!left.empty() && !right.empty()) {
    const auto take = [](std::string_view& text) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      return line;
    };
    const std::string_view first = take(left), second = take(right);
    out += fmt::format("  |{}|  |{}|\n", first, second);
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace ptx2cpu::demo
