#include "ptx-parser/parse/variable_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "ptx-parser/parse/constants.h"
#include "ptx-parser/parse/token_table.h"

namespace ptx2cpu::ptx {
namespace {

constexpr std::string_view kTypes[] = {
    "b32",    "b64",  "pred",   "f32",    "f64",        "b16",     "u32",    "u64",   "s32",
    "s64",    "b8",   "u8",     "s8",     "u16",        "s16",     "f16",    "f16x2", "bf16",
    "bf16x2", "b128", "tf32",   "texref", "samplerref", "surfref", "e4m3",   "e5m2",  "e4m3x2",
    "e5m2x2", "e2m1", "e2m1x2", "e2m3",   "e3m2",       "e2m3x2",  "e3m2x2", "ue8m0", "ue8m0x2",
    "u8x4",   "s8x4", "u16x2",  "s16x2",  "f32x2",      "s2f6",    "s2f6x2"};

// Names a<N> in other spaces than .reg become N variables, so N is bounded; .reg only counts.
constexpr uint32_t kMaxNamedCopies = 4096;
using ast::kMaxRegisters;

constexpr TokenRow<ast::Space> kSpaces[] = {
    {TokenKind::kReg, ast::Space::kReg},       {TokenKind::kSreg, ast::Space::kSreg},
    {TokenKind::kConst, ast::Space::kConst},   {TokenKind::kGlobal, ast::Space::kGlobal},
    {TokenKind::kLocal, ast::Space::kLocal},   {TokenKind::kParam, ast::Space::kParam},
    {TokenKind::kShared, ast::Space::kShared}, {TokenKind::kTex, ast::Space::kTex}};

}  // namespace

void VariableBuilder::BeginDeclaration() {
  shared_ = ast::Variable{};
  shared_.linkage = state_.linkage;
  state_.linkage = ast::Linkage::kNone;
  has_space_ = false;
  state_.is_declaring = true;
}
void VariableBuilder::BeginParameter() { BeginDeclaration(); }

void VariableBuilder::Space() {
  const ast::Space space = ValueOf(Last().kind, kSpaces);
  if (shared_.is_pointer) {
    shared_.pointer_space = space;
  } else if (has_space_) {
    Report("the state space is already given");
  } else {
    shared_.space = space;
    has_space_ = true;
  }
}

void VariableBuilder::ConstBank() {
  const uint32_t bank = LastNumber();
  if (bank > 10) return Report("constant banks are 0 to 10");
  shared_.bank = static_cast<uint8_t>(bank);
}

void VariableBuilder::TypeOrVector() {
  const std::string_view word = LastText().substr(1);
  if (word == "v2" || word == "v4" || word == "v8") {
    shared_.vector = static_cast<uint8_t>(word[1] - '0');
  } else if (std::find(std::begin(kTypes), std::end(kTypes), word) == std::end(kTypes)) {
    Report(fmt::format("unknown type '.{}'", word), "a type such as .b32, .u64, .f32 or .pred");
    shared_.type = word;
  } else if (!shared_.type.empty()) {
    Report("the type is already given");
  } else {
    shared_.type = word;
  }
}

void VariableBuilder::Align() {
  const uint32_t align = LastNumber();
  if (!std::has_single_bit(align)) return Report("an alignment must be a power of two");
  (shared_.is_pointer ? shared_.pointer_align : shared_.align) = align;
}

void VariableBuilder::Pointer() { shared_.is_pointer = true; }

void VariableBuilder::Attribute() {
  const std::string_view word = LastText();
  if (word == ".managed" && state_.is_declaring) {
    shared_.managed = true;
  } else if (word == ".unified") {
    (state_.is_declaring ? shared_.unified : function().unified) = true;
  } else {
    Report(fmt::format("unknown attribute '{}'", word), ".managed (variables only) or .unified(n, n)");
  }
}

void VariableBuilder::BeginDeclarator() {
  variable_ = shared_;
  variable_.name = LastName();
  variable_.position = LastPosition();
  variable_.dimensions.first = static_cast<uint32_t>(module_.dimensions.size());
  state_.name_token = static_cast<uint32_t>(cursor_ - 1);
}

void VariableBuilder::NameCount() {
  const uint32_t count = LastNumber();
  const uint32_t limit = variable_.space == ast::Space::kReg ? kMaxRegisters : kMaxNamedCopies;
  if (count == 0 || count > limit) return Report(fmt::format("the number of names must be 1 to {}", limit));
  variable_.parameterised = count;
}

void VariableBuilder::DimensionSize() {
  const ast::Operand size = operands_.Pop();
  if (size.kind != ast::OperandKind::kInteger || size.integer < 0) {
    return Report("an array size must be a constant that is not negative");
  }
  module_.dimensions.push_back(size.bits);
  ++variable_.dimensions.count;
}

void VariableBuilder::DimensionUnsized() {
  if (variable_.dimensions.count > 0) return Report("only the first dimension may have no size");
  module_.dimensions.push_back(0);
  ++variable_.dimensions.count;
}

void VariableBuilder::Initializer() {
  variable_.initializer = static_cast<uint32_t>(module_.operands.size());
  module_.operands.push_back(operands_.Pop());
  const bool lasts = state_.place == TextPart::kModule || state_.place == TextPart::kBody;
  if (!lasts || (variable_.space != ast::Space::kGlobal && variable_.space != ast::Space::kConst)) {
    Report(tokens_[state_.name_token], "only .global and .const variables can have initial values");
  }
}

void VariableBuilder::CheckDeclarator() {
  const Token& at = tokens_[state_.name_token];
  if (!has_space_)
    Report(at, fmt::format("'{}' has no state space", variable_.name), "as in .reg or .global");
  if (variable_.type.empty()) Report(at, fmt::format("'{}' has no type", variable_.name), "as in .b32");
  if (variable_.space == ast::Space::kSreg) Report(at, "special registers cannot be declared");
  const bool is_register = variable_.space == ast::Space::kReg;
  const bool is_private = is_register || variable_.space == ast::Space::kLocal;
  if (is_private && state_.place == TextPart::kModule && !IsBefore(3, 0)) {
    Report(at, "module-scope registers and .local variables are legal before PTX 3.0 only",
           "declare them in functions");
  }
  const bool is_vector = is_register && variable_.vector > 1;
  if (is_vector && (variable_.vector > 4 || variable_.type == "pred"))
    Report(at, "vector registers have 2 or 4 elements, which cannot be predicates");
  if (variable_.dimensions.empty()) return;
  if (is_register) Report(at, "registers have no arrays");
  if (variable_.parameterised != 0) Report(at, "an array cannot be declared with a number of names");
}

void VariableBuilder::EndDeclarator() {
  CheckDeclarator();
  if (variable_.space == ast::Space::kReg || variable_.parameterised == 0) return PushVariable(variable_);
  ast::Variable copy = variable_;
  copy.parameterised = 0;
  for (uint32_t i = 0; i < variable_.parameterised; ++i) {
    copy.name = Spell(fmt::format("{}{}", variable_.name, i));
    PushVariable(copy);
  }
}

void VariableBuilder::PushVariable(const ast::Variable& variable) {
  if (state_.place == TextPart::kBody && function().is_entry && variable.space == ast::Space::kParam &&
      IsBefore(1, 4)) {
    if (!function().parameters.empty())
      Report(tokens_[state_.name_token],
             "a kernel with a parameter list cannot declare more parameters in its body");
    state_.body_parameters.push_back(variable);
    state_.body_parameters.back().function = static_cast<uint32_t>(module_.functions.size() - 1);
    return;
  }
  const uint32_t index = static_cast<uint32_t>(module_.variables.size());
  module_.variables.push_back(variable);
  ast::Variable& pushed = module_.variables.back();
  if (state_.place == TextPart::kModule) {
    module_.globals.push_back(index);
    return;
  }
  pushed.function = static_cast<uint32_t>(module_.functions.size() - 1);
  if (state_.place == TextPart::kBody) Add(ast::StatementKind::kDeclaration, index);
  if (state_.place != TextPart::kPrototype && pushed.space == ast::Space::kReg) DeclareRegisters(index);
}

void VariableBuilder::DeclareRegisters(uint32_t variable) {
  ast::Function& f = function();
  const uint32_t count = ast::RegisterCount(module_.variables[variable]);
  if (count > kMaxRegisters - f.register_count) {
    return Report(tokens_[state_.name_token],
                  fmt::format("a function has at most {} registers", kMaxRegisters));
  }
  module_.variables[variable].first_register = f.register_count;
  f.register_ranges.push_back({f.register_count, count, variable});
  f.register_count += count;
}

}  // namespace ptx2cpu::ptx
