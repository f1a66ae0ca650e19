#include <fmt/format.h>

#include <utility>

#include "ptx-parser/parse/constants.h"
#include "ptx-parser/parse/token_table.h"
#include "ptx-parser/parse/tree_builder.h"

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
constexpr TokenRow<ast::Dimensions ast::Function::*> kDimensions[] = {
    {TokenKind::kMaxntid, &ast::Function::maxntid},
    {TokenKind::kReqntid, &ast::Function::reqntid},
    {TokenKind::kReqnctapercluster, &ast::Function::reqnctapercluster}};
constexpr TokenRow<uint32_t ast::Function::*> kLimits[] = {
    {TokenKind::kMaxnreg, &ast::Function::maxnreg},
    {TokenKind::kMinnctapersm, &ast::Function::minnctapersm},
    {TokenKind::kMaxnctapersm, &ast::Function::maxnctapersm},
    {TokenKind::kMaxclusterrank, &ast::Function::maxclusterrank},
    {TokenKind::kAbiPreserve, &ast::Function::abi_preserve},
    {TokenKind::kAbiPreserveControl, &ast::Function::abi_preserve_control}};

}  // namespace

TreeBuilder::TreeBuilder(ast::Module& module, const std::vector<Token>& tokens, const size_t& cursor)
    : module_(module), tokens_(tokens), cursor_(cursor), text_(*module.text) {
  RehashOpcodes();
  // Somewhat above what nvcc's output needs: pages never written cost nothing, growing a pool costs a copy.
  module_.operands.reserve(text_.size() / 10);
  module_.instructions.reserve(text_.size() / 32);
  module_.statements.reserve(text_.size() / 28);
}

void TreeBuilder::Report(const Token& at, std::string message, std::string hint) {
  if (errors_.size() >= kMaxErrors) return;
  errors_.push_back(
      ast::ErrorAt(module_, PositionOf(at), ErrorCode::kSyntax, std::move(message), std::move(hint)));
}

uint64_t TreeBuilder::LastLongNumber() {
  const std::optional<ast::Operand> value = ReadInteger(LastText());
  if (value) return value->bits;
  Report(fmt::format("'{}' is not a number of at most 64 bits", LastText()));
  return 0;
}

uint32_t TreeBuilder::LastNumber() {
  const uint64_t value = LastLongNumber();
  if (value <= UINT32_MAX) return static_cast<uint32_t>(value);
  Report(fmt::format("{} is too large here", LastText()), "at most 4294967295");
  return 0;
}

std::string_view TreeBuilder::LastName() {
  const std::string_view name = LastText();
  if (name.find_first_of(".:") != std::string_view::npos) {
    Report(fmt::format("'{}' is not a name", name),
           "names are letters, digits, _ and $, after an optional %");
  }
  return name;
}

std::string_view TreeBuilder::Spell(std::string text) {
  module_.spelled.push_back(std::make_shared<const std::string>(std::move(text)));
  return *module_.spelled.back();
}

void TreeBuilder::Version() {
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

void TreeBuilder::Target() {
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

// A version implies nothing about the targets that came after it.
void TreeBuilder::CheckTargetVersion() {
  if (module_.version_major == 0) return;  // reported
  for (const FirstVersion& first : kFirstVersions) {
    if (first.sm != module_.target.sm || !IsBefore(first.major, first.minor)) continue;
    Report(
        fmt::format("PTX {}.{} has no target sm_{}", module_.version_major, module_.version_minor, first.sm),
        fmt::format("the target was introduced in PTX {}.{}", first.major, first.minor));
  }
}

bool TreeBuilder::IsBefore(uint32_t major, uint32_t minor) const {
  return std::pair(module_.version_major, module_.version_minor) < std::pair(major, minor);
}

void TreeBuilder::AddressSize() {
  module_.address_size = LastNumber();
  if (module_.address_size != 32 && module_.address_size != 64) Report("the address size must be 32 or 64");
}

void TreeBuilder::Linkage() {
  const ast::Linkage linkage = ValueOf(Last().kind, kLinkages);
  // `.extern .weak` occurs in old files; the weaker word decides.
  if (linkage_ == ast::Linkage::kNone || linkage == ast::Linkage::kWeak) linkage_ = linkage;
}

void TreeBuilder::FileIndex() { module_.files.push_back({LastNumber(), {}, LastPosition()}); }
void TreeBuilder::FileName() {
  const std::string_view quoted = LastText();
  module_.files.back().name = quoted.substr(1, quoted.size() - 2);
}

void TreeBuilder::Section() {
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

void TreeBuilder::AliasName() {
  module_.aliases.push_back({});
  module_.aliases.back().name = LastName();
  module_.aliases.back().position = LastPosition();
}
void TreeBuilder::AliasTarget() { module_.aliases.back().target = LastName(); }

void TreeBuilder::Pragma() {
  // The first string follows `.pragma` directly; the others extend the same statement.
  if (tokens_[cursor_ - 2].kind == TokenKind::kPragma) first_pragma_ = module_.pragmas.size();
  const std::string_view quoted = LastText();
  module_.pragmas.push_back({quoted.substr(1, quoted.size() - 2), LastPosition()});
}
void TreeBuilder::EndModulePragma() {
  for (size_t i = first_pragma_; i < module_.pragmas.size(); ++i) {
    module_.module_pragmas.push_back(static_cast<uint32_t>(i));
  }
}
void TreeBuilder::EndStatementPragma() {
  for (size_t i = first_pragma_; i < module_.pragmas.size(); ++i) Add(ast::StatementKind::kPragma, i);
}

// ---- functions

void TreeBuilder::BeginFunction(bool is_entry) {
  ast::Function f;
  f.is_entry = is_entry;
  f.linkage = linkage_;
  linkage_ = ast::Linkage::kNone;
  f.pragmas.first = static_cast<uint32_t>(module_.pragmas.size());
  f.position = LastPosition();
  module_.functions.push_back(std::move(f));
  place_ = Place::kHeader;
  is_declaring_ = false;
  first_parameter_ = module_.variables.size();
  returns_ = {static_cast<uint32_t>(first_parameter_), 0};
}

void TreeBuilder::FunctionName() {
  function().name = LastName();
  function().position = LastPosition();
}

void TreeBuilder::EndReturns() {
  is_declaring_ = false;
  returns_.count = static_cast<uint32_t>(module_.variables.size() - first_parameter_);
  first_parameter_ = module_.variables.size();
}

void TreeBuilder::EndParameters() {
  is_declaring_ = false;
  const ast::Range parameters = {static_cast<uint32_t>(first_parameter_),
                                 static_cast<uint32_t>(module_.variables.size() - first_parameter_)};
  if (place_ == Place::kPrototype) {
    module_.prototypes.back().returns = returns_;
    module_.prototypes.back().parameters = parameters;
  } else {
    function().returns = returns_;
    function().parameters = parameters;
  }
}

void TreeBuilder::EndHeader() {
  ast::Function& f = function();
  f.pragmas.count = static_cast<uint32_t>(module_.pragmas.size()) - f.pragmas.first;
  f.statements.first = static_cast<uint32_t>(module_.statements.size());
  f.instructions.first = static_cast<uint32_t>(module_.instructions.size());
  f.operands.first = static_cast<uint32_t>(module_.operands.size());
}

void TreeBuilder::EndDeclaration() {
  EndHeader();
  place_ = Place::kModule;
}

void TreeBuilder::BeginBody() {
  EndHeader();
  function().has_body = true;
  place_ = Place::kBody;
}

void TreeBuilder::EndBody() {
  ast::Function& f = function();
  f.statements.count = static_cast<uint32_t>(module_.statements.size()) - f.statements.first;
  f.instructions.count = static_cast<uint32_t>(module_.instructions.size()) - f.instructions.first;
  f.operands.count = static_cast<uint32_t>(module_.operands.size()) - f.operands.first;
  place_ = Place::kModule;
  TakeBodyParameters();
}

// Before PTX 1.4 a kernel declares its parameters in its body. In the tree they are where all others are.
void TreeBuilder::TakeBodyParameters() {
  if (body_parameters_.empty()) return;
  function().parameters = {static_cast<uint32_t>(module_.variables.size()),
                           static_cast<uint32_t>(body_parameters_.size())};
  module_.variables.insert(module_.variables.end(), body_parameters_.begin(), body_parameters_.end());
  body_parameters_.clear();
}

void TreeBuilder::BeginDimensions() {
  dimensions_ = &(function().*ValueOf(Last().kind, kDimensions));
  *dimensions_ = {1, 1, 1};
  dimension_ = 0;
}

void TreeBuilder::Dimension() {
  if (dimension_ >= 3) return Report("at most three dimensions are legal");
  const uint32_t extent = LastNumber();
  if (extent == 0) return Report("a dimension cannot be 0");
  (*dimensions_)[dimension_++] = extent;
}

void TreeBuilder::BeginLimit() { limit_ = Last().kind; }

void TreeBuilder::Limit() {
  const uint32_t value = LastNumber();
  if (place_ != Place::kPrototype) {
    function().*ValueOf(limit_, kLimits) = value;
  } else {  // the grammar allows no other limit there
    ast::Prototype& prototype = module_.prototypes.back();
    (limit_ == TokenKind::kAbiPreserve ? prototype.abi_preserve : prototype.abi_preserve_control) = value;
  }
}

void TreeBuilder::FunctionFlag() {
  ast::Function& f = function();
  if (Last().kind == TokenKind::kExplicitcluster) {
    f.explicit_cluster = true;
  } else if (Last().kind == TokenKind::kBlocksareclusters) {
    f.blocks_are_clusters = true;
  } else if (place_ == Place::kPrototype) {
    module_.prototypes.back().noreturn = true;
  } else {
    f.noreturn = true;
  }
}

}  // namespace ptx2cpu::ptx
