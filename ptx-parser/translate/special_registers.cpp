#include "ptx-parser/translate/special_registers.h"

#include <charconv>
#include <iterator>
#include <string>

namespace ptx2cpu::ptx {

namespace {

using ir::Special;

constexpr std::string_view kComponents[] = {".x", ".y", ".z"};

// The word of a row with a count and an index: "envreg12", "pm3" or "pm3_64".
std::optional<SpecialRegister> Numbered(Special special, std::string_view name) {
  const ir::SpecialInfo& info = Info(special);
  if (info.count == 0 || !name.starts_with(info.word)) return std::nullopt;
  SpecialRegister found{special, info.type};
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + info.word.size(), end, found.index);
  if (error != std::errc() || found.index >= info.count) return std::nullopt;
  const std::string_view suffix(rest, end);
  if (suffix == "_64") found.type = ir::Type::kI64;
  return suffix.empty() || suffix == "_64" ? std::optional(found) : std::nullopt;
}

}  // namespace

std::optional<SpecialRegister> FindSpecial(std::string_view name, ast::Component component) {
  if (!name.starts_with("%")) return std::nullopt;
  std::string word(name.substr(1));
  if (component != ast::Component::kNone) {
    const auto number = static_cast<size_t>(component) - static_cast<size_t>(ast::Component::kX);
    const bool fourth = number == std::size(kComponents);
    if (number > std::size(kComponents)) return std::nullopt;
    word += kComponents[fourth ? 0 : number];
    if (fourth) return ir::ParseName<Special>(word) ? std::optional(SpecialRegister{}) : std::nullopt;
  }
  for (int i = 1; i < ir::kCountOf<Special>; ++i) {
    const auto special = static_cast<Special>(i);
    if (auto numbered = Numbered(special, word)) return numbered;
    if (Info(special).count == 0 && Info(special).word == word)
      return SpecialRegister{special, Info(special).type};
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::ptx
