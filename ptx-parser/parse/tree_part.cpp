#include "ptx-parser/parse/tree_part.h"

#include <fmt/format.h>

#include <utility>

#include "ptx-parser/parse/constants.h"

namespace ptx2cpu::ptx {

void TreePart::Report(const Token& at, std::string message, std::string hint) {
  if (state_.errors.size() >= kMaxErrors) return;
  state_.errors.push_back(
      ast::ErrorAt(module_, PositionOf(at), ErrorCode::kSyntax, std::move(message), std::move(hint)));
}

uint64_t TreePart::LastLongNumber() {
  const std::optional<ast::Operand> value = ReadInteger(LastText());
  if (value) return value->bits;
  Report(fmt::format("'{}' is not a number of at most 64 bits", LastText()));
  return 0;
}

uint32_t TreePart::LastNumber() {
  const uint64_t value = LastLongNumber();
  if (value <= UINT32_MAX) return static_cast<uint32_t>(value);
  Report(fmt::format("{} is too large here", LastText()), "at most 4294967295");
  return 0;
}

std::string_view TreePart::LastName() {
  const std::string_view name = LastText();
  if (name.find_first_of(".:") != std::string_view::npos) {
    Report(fmt::format("'{}' is not a name", name),
           "names are letters, digits, _ and $, after an optional %");
  }
  return name;
}

std::string_view TreePart::Spell(std::string text) {
  module_.spelled.push_back(std::make_shared<const std::string>(std::move(text)));
  return *module_.spelled.back();
}

void TreePart::Add(ast::StatementKind kind, size_t index) {
  module_.statements.push_back({kind, static_cast<uint32_t>(index)});
}

bool TreePart::IsBefore(uint32_t major, uint32_t minor) const {
  return std::pair(module_.version_major, module_.version_minor) < std::pair(major, minor);
}

}  // namespace ptx2cpu::ptx
