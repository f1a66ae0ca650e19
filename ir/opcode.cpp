#include "ir/opcode.h"

#include <array>
#include <string>
#include <unordered_map>

namespace ptx2cpu::ir {

namespace {

constexpr OpcodeInfo MakeInfo(std::string_view name, std::string_view mnemonic, std::string_view signature,
                              TypeSet types, uint32_t attributes, Effect effect, std::string_view meaning) {
  size_t colon = signature.find(':');
  return {name,   mnemonic, signature.substr(0, colon), signature.substr(colon + 1), types, attributes,
          effect, meaning};
}

constexpr OpcodeInfo kTable[] = {
#define OP(name, mnemonic, signature, types, attributes, effects, meaning) \
  MakeInfo(#name, mnemonic, signature, TypeSet::types, attributes, Effect::effects, meaning),
#include "ir/opcodes.def"
#undef OP
};

constexpr std::array<std::string_view, 22> kFlagNames = {
    "ftz",     "sat",      "approx",   "full",     "relu",      "nan",      "xorsign", "abs",
    "wrap",    "shiftamt", "unsigned", "signed_a", "signed_b",  "high",     "nc",      "noresult",
    "aligned", "legacy",   "uniform",  "volatile", "satfinite", "divergent"};

}  // namespace

const OpcodeInfo& Info(Opcode op) { return kTable[static_cast<size_t>(op)]; }

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
