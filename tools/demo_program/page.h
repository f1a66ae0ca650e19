// The output of the demonstration: headings, pictures, verdicts. At most 79 columns; colours only on a
// terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ptx2cpu::demo {

enum class Colour : uint8_t { kPlain, kTitle, kFaint, kGood, kBad };

constexpr size_t kColumns = 79;

class Page {
 public:
  Page();  // colours when standard output is a terminal and NO_COLOR is not set

  void Line(std::string_view text = {}) const;
  void Heading(std::string_view left, std::string_view right) const;  // with a rule between
  // "label   text", the text wrapped and indented after the label; the first word may be coloured.
  void Entry(std::string_view label, std::string_view text, Colour first_word = Colour::kPlain) const;
  // A picture: characters of `ramp` by brightness; `levels` is row by row, 0 .. ramp.size()-1.
  void Shades(std::span<const uint8_t> levels, size_t width, std::string_view ramp) const;

  std::string Paint(Colour colour, std::string_view text) const;

 private:
  bool coloured_;
};

// Two rows of cells in one line of text: ' upper, . lower, : both.
std::string PackedRows(std::span<const uint8_t> upper, std::span<const uint8_t> lower);

// "| left |  | right |" lines of two pictures next to each other, both made of equally many lines.
std::string Beside(std::string_view left, std::string_view right);

}  // namespace ptx2cpu::demo
