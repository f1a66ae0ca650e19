#include "ir/opcode_reference.h"

#include <fmt/format.h>

#include "ir/opcode.h"

namespace ptx2cpu::ir {

namespace {

std::string_view WordOf(TypeSet set) {
  constexpr std::string_view kNames[] = {
      "", "any", "i8 ... i128", "i1, i8 ... i128", "floats", "i8 ... i128, floats"};
  return kNames[static_cast<size_t>(set)];
}

std::string_view WordOf(Effect effect) {
  constexpr std::string_view kNames[] = {"pure",       "reads",   "writes", "reads and writes",
                                         "collective", "barrier", "opaque", "terminator"};
  return kNames[static_cast<size_t>(effect)];
}

std::string_view WordOf(Lanes lanes) {
  constexpr std::string_view kNames[] = {"", "meet", "exchange", "vote", "elect", "presence", "agree"};
  return kNames[static_cast<size_t>(lanes)];
}

std::string_view WordOf(Cost cost) {
  constexpr std::string_view kNames[] = {"free", "cheap", "costly"};
  return kNames[static_cast<size_t>(cost)];
}

std::string_view WordOf(Varies varies) {
  constexpr std::string_view kNames[] = {"uniform in the grid",
                                         "uniform in a block",
                                         "uniform in a warp",
                                         "affine in tid",
                                         "affine in the lane",
                                         "varying",
                                         "with time"};
  return kNames[static_cast<size_t>(varies)];
}

std::string AttributeNames(uint32_t fields) {
  constexpr std::string_view kNames[] = {
      "bits",
      "flags",
      "align",
      "index: variable",
      "index: function",
      "index: signature",
      "index: slot",
      "index: resume point",
      "index: word",
      "index: register",
      "index: truth table",
      "index: image mode",
#define ATTRIBUTE(type, member, field, presence) #member,
#include "ir/attributes.def"
  };
  std::string out;
  for (size_t bit = 0; bit < std::size(kNames); ++bit) {
    if ((fields >> bit & 1) == 0) continue;
    if (!out.empty()) out += ", ";
    out += kNames[bit];
  }
  return out;
}

std::string_view Phases(uint32_t attributes) {
  if (attributes & kOnlyCollapsed) return "Collapsed";
  if (attributes & kFromSplit) return "Split, Collapsed";
  return "all";
}

// The words of an enumeration, without "none".
template <typename Enum>
std::string Words(std::string_view attribute) {
  std::string out = fmt::format("| {} |", attribute);
  for (int i = 0; i < kCountOf<Enum>; ++i) {
    std::string_view word = ir::Name(static_cast<Enum>(i));
    if (word != "none") out += fmt::format(" `{}`", word);
  }
  return out + " |\n";
}

std::string FlagWords() {
  std::string out = "| flags |";
  for (uint32_t bit = 0; bit < 32; ++bit) {
    std::string_view word = FlagName(static_cast<Flag>(1u << bit));
    if (!word.empty()) out += fmt::format(" `{}`", word);
  }
  return out + " |\n";
}

}  // namespace

std::string RenderOpcodeReference() {
  std::string out =
      "# IR opcodes\n\n"
      "Generated from `ir/opcodes.def`, whose head explains the columns. Signature letters: T the "
      "instruction's type, F its second type, P "
      "i1, W i32,\n"
      "A i64, X any type; `*` repeats the letter before it.\n\n"
      "| opcode | PTX | operands | results | T | F | attributes | effect | across lanes | cost | phases | "
      "meaning |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    const OpcodeInfo& info = Info(static_cast<Opcode>(i));
    auto code = [](std::string_view text) {
      return text.empty() ? std::string() : fmt::format("`{}`", text);
    };
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", info.mnemonic,
                       code(info.ptx), code(info.operands), code(info.results), WordOf(info.types),
                       WordOf(info.from), AttributeNames(info.attributes), WordOf(info.effect),
                       WordOf(info.lanes), WordOf(info.cost), Phases(info.attributes), info.meaning);
  }
  out += "\n## Words of the attributes\n\n| attribute | words |\n|---|---|\n";
#define ATTRIBUTE(type, member, field, presence) out += Words<type>(#member);
#include "ir/attributes.def"
  out += FlagWords();
  out += "\n## Special registers\n\n| word | type | varies | numbers | meaning |\n|---|---|---|---|---|\n";
  for (int i = 1; i < kCountOf<Special>; ++i) {
    const SpecialInfo& info = Info(static_cast<Special>(i));
    const std::string count = info.count == 0 ? "" : std::to_string(info.count);
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", info.word, ir::Name(info.type), WordOf(info.varies),
                       count, info.meaning);
  }
  return out;
}

}  // namespace ptx2cpu::ir
