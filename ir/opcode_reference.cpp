#include "ir/opcode_reference.h"

#include <fmt/format.h>

#include "ir/opcode.h"

namespace ptx2cpu::ir {

namespace {

std::string_view Name(TypeSet set) {
  constexpr std::string_view kNames[] = {
      "", "any", "i8 ... i128", "i1, i8 ... i128", "floats", "i8 ... i128, floats"};
  return kNames[static_cast<size_t>(set)];
}

std::string_view Name(Effect effect) {
  constexpr std::string_view kNames[] = {"pure",       "reads",   "writes", "reads and writes",
                                         "collective", "barrier", "opaque", "terminator"};
  return kNames[static_cast<size_t>(effect)];
}

std::string AttributeNames(uint32_t fields) {
  constexpr std::string_view kNames[] = {"bits",    "space",    "index",  "special", "flags",
                                         "compare", "rounding", "narrow", "order",   "scope",
                                         "align",   "atomic",   "shuffle"};
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
std::string Words(std::string_view attribute, Enum last) {
  std::string out = fmt::format("| {} |", attribute);
  for (int i = 0; i <= static_cast<int>(last); ++i) {
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
      "Generated from `ir/opcodes.def`. Signature letters: T the instruction's type, F its second type, P "
      "i1, W i32,\n"
      "A i64, X any type; `*` repeats the letter before it.\n\n"
      "| opcode | operands | results | T | attributes | effect | phases | meaning |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i) {
    const OpcodeInfo& info = Info(static_cast<Opcode>(i));
    auto letters = [](std::string_view side) {
      return side.empty() ? std::string() : fmt::format("`{}`", side);
    };
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", info.mnemonic, letters(info.operands),
                       letters(info.results), Name(info.types), AttributeNames(info.attributes),
                       Name(info.effect), Phases(info.attributes), info.meaning);
  }
  out += "\n## Words of the attributes\n\n| attribute | words |\n|---|---|\n";
  out += Words("space", Space::kSharedCluster) + Words("special", Special::kPerfCounter) +
         Words("compare", Compare::kFnan);
  out += Words("rounding", Rounding::kStochastic) + Words("narrow", NarrowFormat::kUE8M0);
  out += Words("order", MemoryOrder::kSeqCst) + Words("scope", Scope::kSys);
  out += Words("atomic", AtomicOp::kMbarrier) + Words("shuffle", ShuffleMode::kBfly) + FlagWords();
  return out;
}

}  // namespace ptx2cpu::ir
