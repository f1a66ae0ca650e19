#include "ir/opcode.h"

#include <array>
#include <string>
#include <unordered_map>

namespace ptx2cpu::ir {

namespace {

struct Sides {
  std::string_view first, second;
};
// The parts before and after `mark`; without one, both are the complete text.
constexpr Sides Split(std::string_view text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, text};
  return {text.substr(0, at), text.substr(at + 1)};
}

constexpr OpcodeInfo kTable[] = {
#define OP(name, mnemonic, signature, types, from, attributes, effects, lanes, cost, ptx, meaning) \
  {#name,                                                                                          \
   mnemonic,                                                                                       \
   Split(signature, ':').first,                                                                    \
   Split(signature, ':').second,                                                                   \
   TypeSet::types,                                                                                 \
   TypeSet::from,                                                                                  \
   attributes,                                                                                     \
   Effect::effects,                                                                                \
   Lanes::lanes,                                                                                   \
   Cost::cost,                                                                                     \
   Split(ptx, ' ').first,                                                                          \
   Split(ptx, ' ').second,                                                                         \
   meaning},
#include "ir/opcodes.def"
#undef OP
};

constexpr std::array<std::string_view, 22> kFlagNames = {
    "ftz",     "sat",      "approx",   "full",     "relu",      "nan",      "xorsign", "abs",
    "wrap",    "shiftamt", "unsigned", "signed_a", "signed_b",  "high",     "nc",      "noresult",
    "aligned", "legacy",   "uniform",  "volatile", "satfinite", "divergent"};

}  // namespace

const OpcodeInfo& Info(Opcode op) { return kTable[static_cast<size_t>(op)]; }

std::string_view PtxName(Opcode op, uint32_t flags) {
  const OpcodeInfo& info = Info(op);
  if (info.ptx.empty()) return info.mnemonic;
  return (flags & kLegacy) != 0 ? info.legacy_ptx : info.ptx;
}

std::optional<Opcode> ParseOpcode(std::string_view mnemonic) {
  static const std::unordered_map<std::string_view, Opcode> by_name = [] {
    std::unordered_map<std::string_view, Opcode> map;
    for (size_t i = 0; i < static_cast<size_t>(Opcode::kCount); ++i)
      map[kTable[i].mnemonic] = static_cast<Opcode>(i);
    return map;
  }();
  auto found = by_name.find(mnemonic);
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

std::string_view FlagName(Flag flag) {
  for (size_t bit = 0; bit < kFlagNames.size(); ++bit) {
    if (flag == 1u << bit) return kFlagNames[bit];
  }
  return "";
}

std::optional<Flag> ParseFlag(std::string_view word) {
  for (size_t bit = 0; bit < kFlagNames.size(); ++bit) {
    if (word == kFlagNames[bit]) return static_cast<Flag>(1u << bit);
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::ir
