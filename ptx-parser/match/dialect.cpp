#include "ptx-parser/match/dialect.h"

#include <algorithm>
#include <charconv>

#include "ptx-parser/match/match.h"

namespace ptx2cpu::ptx {

namespace {

constexpr uint32_t kVersion14 = 104, kFirstWithSubnormals = 20;

uint32_t Number(std::string_view digits) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc() && end == digits.data() + digits.size(),
        "instructions.def: no number: " + std::string(digits));
  return value;
}

std::string VersionText(uint32_t version) {
  return std::to_string(version / 100) + "." + std::to_string(version % 100);
}

// Whether .ftz is implied where a target flushes f32 subnormals: it is when the instruction reads f32, and in
// conversions also when it writes one. The manual's erratum: up to PTX 1.4, conversions from or to 64 bits do
// not flush.
bool FlushesWithoutWord(const Form& form, const Modifiers& modifiers, uint32_t version) {
  if (form.base != "cvt") return modifiers.last() == PtxType::kF32;
  const PtxType to = modifiers.first(), from = modifiers.last();
  if (version <= kVersion14 && (Bits(to) == 64 || Bits(from) == 64)) return false;
  return from == PtxType::kF32 || (to == PtxType::kF32 && IsFloat(from));
}

}  // namespace

Dialect Dialect::Of(const ast::Module& module) {
  Dialect dialect;
  dialect.version = module.version_major * 100 + module.version_minor;
  if (module.target.sm != 0) dialect.sm = module.target.sm;
  return dialect;
}

std::string Dialect::Text() const {
  return "PTX " + VersionText(version) + (sm == UINT32_MAX ? "" : " for sm_" + std::to_string(sm));
}

void Dialect::Complete(const Form& form, Modifiers& modifiers) const {
  for (Word word : form.implied) modifiers.Add(word, word);
  if (sm >= kFirstWithSubnormals || modifiers.Has("ftz")) return;
  const bool may_flush = std::ranges::find(form.elements, "ftz", &Element::name) != form.elements.end();
  if (may_flush && FlushesWithoutWord(form, modifiers, version)) modifiers.Add("ftz", "ftz");
}

DialectCondition DialectCondition::Read(std::string_view text) {
  DialectCondition condition;
  const size_t at = text.find_first_of("<>");
  CHECK(at != std::string_view::npos, "instructions.def: no condition: " + std::string(text));
  condition.is_version = text.substr(0, at) == "isa";
  CHECK(condition.is_version || text.substr(0, at) == "sm",
        "instructions.def: no condition: " + std::string(text));
  condition.below = text[at] == '<';
  const std::string_view limit = text.substr(at + (condition.below ? 1 : 2));  // < or >=
  const size_t dot = limit.find('.');
  condition.limit = condition.is_version ? Number(limit.substr(0, dot)) * 100 + Number(limit.substr(dot + 1))
                                         : Number(limit);
  return condition;
}

bool DialectCondition::Holds(const Dialect& dialect) const {
  const uint32_t value = is_version ? dialect.version : dialect.sm;
  return below ? value < limit : value >= limit;
}

std::string DialectCondition::Text() const {
  const std::string what = is_version ? "PTX " + VersionText(limit) : "sm_" + std::to_string(limit);
  if (is_version) return below ? "before " + what : "from " + what + " on";
  return below ? "for targets below " + what : "for targets from " + what + " on";
}

bool AllHold(const std::vector<DialectCondition>& conditions, const Dialect& dialect) {
  return std::ranges::all_of(conditions, [&](const DialectCondition& c) { return c.Holds(dialect); });
}

}  // namespace ptx2cpu::ptx
