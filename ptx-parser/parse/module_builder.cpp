#include "ptx-parser/parse/module_builder.h"

#include <fmt/format.h>

#include "ptx-parser/parse/constants.h"
#include "ptx-parser/parse/token_table.h"

namespace ptx2cpu::ptx {

namespace {

struct FirstVersion {
  uint32_t sm, major, minor;
};
constexpr FirstVersion kFirstVersions[] = {
#define TARGET(sm, major, minor) {sm, major, minor},
#include "ptx-parser/parse/targets.def"
#undef TARGET
};

constexpr uint32_t kFirstWithDoubles = 13;  // sm_13

constexpr TokenRow<ast::Linkage> kLinkages[] = {{TokenKind::kExtern, ast::Linkage::kExtern},
                                                {TokenKind::kVisible, ast::Linkage::kVisible},
                                                {TokenKind::kWeak, ast::Linkage::kWeak},
                                                {TokenKind::kCommon, ast::Linkage::kCommon}};
}  // namespace

void ModuleBuilder::Version() {
  const std::string_view text = LastText();
  const size_t dot = text.find('.');
  const auto major = ReadInteger(text.substr(0, dot));
  const auto minor = ReadInteger(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  if (!major || !minor || major->bits == 0 || major->bits > 999 || minor->bits > 99) {
    return Report(fmt::format("'{}' is not a PTX version", text),
                  "write .version major.minor, as in .version 8.5");
  }
  module_.version_major = static_cast<uint32_t>(major->bits);
  module_.version_minor = static_cast<uint32_t>(minor->bits);
}

void ModuleBuilder::Target() {
  ast::Target& target = module_.target;
  const std::string_view word = LastText();
  target.words.push_back(word);
  if (word == "debug") {
    target.debug = true;
  } else if (word == "texmode_independent") {
    target.texmode_independent = true;
  } else if (word == "map_f64_to_f32") {
    target.map_f64_to_f32 = true;
  } else if (word.starts_with("sm_") || word.starts_with("compute_")) {
    std::string_view digits = word.substr(word.find('_') + 1);
    if (digits.ends_with('a') || digits.ends_with('f')) {
      target.suffix = digits.back();
      digits.remove_suffix(1);
    }
    const auto number = digits.starts_with('0') ? std::nullopt : ReadInteger(digits);
    if (!number || number->bits > 9999)
      return Report(fmt::format("'{}' is not an architecture", word), "as in sm_90");
    target.sm = static_cast<uint32_t>(number->bits);
    CheckTargetVersion();
  } else if (word != "texmode_unified") {
    Report(fmt::format("unknown target '{}'", word),
           "sm_NN, texmode_unified, texmode_independent, debug or map_f64_to_f32");
  }
  if (target.map_f64_to_f32 && target.sm >= kFirstWithDoubles)
    Report(fmt::format("sm_{} has doubles: map_f64_to_f32 is for targets below sm_{}", target.sm,
                       kFirstWithDoubles));
}

// A version implies nothing about targets that were introduced later.
void ModuleBuilder::CheckTargetVersion() {
  if (module_.version_major == 0) return;  // reported
  for (const FirstVersion& first : kFirstVersions) {
    if (first.sm != module_.target.sm || !IsBefore(first.major, first.minor)) continue;
    Report(
        fmt::format("PTX {}.{} has no target sm_{}", module_.version_major, module_.version_minor, first.sm),
        fmt::format("the target was introduced in PTX {}.{}", first.major, first.minor));
  }
}

void ModuleBuilder::AddressSize() {
  module_.address_size = LastNumber();
  if (module_.address_size != 32 && module_.address_size != 64) Report("the address size must be 32 or 64");
}

void ModuleBuilder::Linkage() {
  const ast::Linkage linkage = ValueOf(Last().kind, kLinkages);
  // `.extern .weak` occurs in old files; the weaker word decides.
  if (state_.linkage == ast::Linkage::kNone || linkage == ast::Linkage::kWeak) state_.linkage = linkage;
}

void ModuleBuilder::FileIndex() { module_.files.push_back({LastNumber(), {}, LastPosition()}); }
void ModuleBuilder::FileName() {
  const std::string_view quoted = LastText();
  module_.files.back().name = quoted.substr(1, quoted.size() - 2);
}

void ModuleBuilder::Section() {
  constexpr std::string_view kWhite = " \t\r\n\f\v";
  const std::string_view all = LastText();
  const size_t brace = all.find('{');
  const size_t name = all.find_first_not_of(kWhite, std::string_view(".section").size());
  ast::Section section;
  section.name = all.substr(name, all.find_first_of(" \t\r\n\f\v{", name) - name);
  section.body = all.substr(brace + 1, all.size() - brace - 2);
  section.position = LastPosition();
  module_.sections.push_back(section);
}

void ModuleBuilder::AliasName() {
  module_.aliases.push_back({});
  module_.aliases.back().name = LastName();
  module_.aliases.back().position = LastPosition();
}
void ModuleBuilder::AliasTarget() { module_.aliases.back().target = LastName(); }

void ModuleBuilder::Pragma() {
  // The first string follows `.pragma` directly; the others extend the same statement.
  if (tokens_[cursor_ - 2].kind == TokenKind::kPragma) first_pragma_ = module_.pragmas.size();
  const std::string_view quoted = LastText();
  module_.pragmas.push_back({quoted.substr(1, quoted.size() - 2), LastPosition()});
}
void ModuleBuilder::EndModulePragma() {
  for (size_t i = first_pragma_; i < module_.pragmas.size(); ++i) {
    module_.module_pragmas.push_back(static_cast<uint32_t>(i));
  }
}
void ModuleBuilder::EndStatementPragma() {
  for (size_t i = first_pragma_; i < module_.pragmas.size(); ++i) Add(ast::StatementKind::kPragma, i);
}

}  // namespace ptx2cpu::ptx
