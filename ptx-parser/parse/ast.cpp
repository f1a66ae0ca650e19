#include "ptx-parser/parse/ast.h"

#include <algorithm>

namespace ptx2cpu::ptx::ast {
namespace {

std::string_view LineOf(std::string_view text, uint32_t line) {
  size_t from = 0;
  for (uint32_t i = 1; i < line; ++i) {
    const size_t newline = text.find('\n', from);
    if (newline == std::string_view::npos) return {};
    from = newline + 1;
  }
  std::string_view found = text.substr(from, text.find('\n', from) - from);
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

// A line longer than a screen is unreadable: keep the part around the column.
constexpr size_t kLongestExcerpt = 160;

}  // namespace

namespace {

const RegisterRange& RangeOf(const Function& function, uint32_t register_number) {
  const auto& ranges = function.register_ranges;
  auto after = std::upper_bound(ranges.begin(), ranges.end(), register_number,
                                [](uint32_t number, const RegisterRange& r) { return number < r.first; });
  CHECK(after != ranges.begin() && register_number < function.register_count, "no such register");
  return *std::prev(after);
}

}  // namespace

const Variable& Module::RegisterDeclaration(const Function& function, uint32_t register_number) const {
  return variables[RangeOf(function, register_number).variable];
}

const Function* Module::FindFunction(std::string_view name) const {
  const Function* found = nullptr;
  for (const Function& f : functions) {
    if (f.name == name && (!found || f.has_body)) found = &f;
  }
  return found;
}

Error ErrorAt(const Module& module, Position position, ErrorCode code, std::string message,
              std::string hint) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.hint = std::move(hint);
  error.at = {module.file_name, position.line, position.column};
  if (!module.text || position.line == 0) return error;
  const std::string_view line = LineOf(*module.text, position.line);
  if (line.size() <= kLongestExcerpt || position.column <= kLongestExcerpt) {
    error.excerpt = std::string(line.substr(0, kLongestExcerpt));
  }
  return error;
}

}  // namespace ptx2cpu::ptx::ast
