#include "ptx-parser/parse/statement_builder.h"

#include <fmt/format.h>

#include "ptx-parser/parse/constants.h"

namespace ptx2cpu::ptx {
namespace {

constexpr uint32_t kMaxTargets = 65536;  // labels that one N<count> of .branchtargets may expand to

}  // namespace

void StatementBuilder::Name() { state_.name_token = static_cast<uint32_t>(cursor_ - 1); }

void StatementBuilder::Label() {
  const Token& token = tokens_[state_.name_token];
  const std::string_view name = TextOf(token);
  if (name.find_first_of(".:") != std::string_view::npos) {
    Report(token, fmt::format("'{}' is not a label", name), "labels are letters, digits, _ and $");
  }
  if (instruction_.guard != ast::Guard::kNone) {
    Report(token, "a guard must follow the label and precede the instruction",
           fmt::format("{}: @p ...", name));
    instruction_.guard = ast::Guard::kNone;
    instruction_.guard_text = {};
  }
  const uint32_t statement = static_cast<uint32_t>(module_.statements.size());
  module_.labels.push_back({name, PositionOf(token), statement});
  Add(ast::StatementKind::kLabel, module_.labels.size() - 1);
}

// ---- instructions

void StatementBuilder::GuardNot() { guard_negated_ = true; }

void StatementBuilder::Guard() {
  instruction_.guard = guard_negated_ ? ast::Guard::kIfFalse : ast::Guard::kIfTrue;
  instruction_.guard_text = LastName();
  guard_negated_ = false;
}

void StatementBuilder::Opcode() {
  const Token& token = tokens_[state_.name_token];
  instruction_.position = PositionOf(token);
  instruction_.opcode = opcodes_.Intern(TextOf(token), false);
  state_.is_call = module_.opcodes[instruction_.opcode].base == "call";
}

void StatementBuilder::SpacedModifier() {
  const std::string joined = fmt::format("{}{}", module_.opcodes[instruction_.opcode].text, LastText());
  instruction_.opcode = opcodes_.Intern(joined, true);
}

void StatementBuilder::EndInstruction() {
  instruction_.operands = operands_.TakeAll();
  Add(ast::StatementKind::kInstruction, module_.instructions.size());
  module_.instructions.push_back(instruction_);
  instruction_.guard = ast::Guard::kNone;
  instruction_.guard_text = {};
  state_.is_call = false;
}

// ---- scopes, targets

void StatementBuilder::BeginScope() { Add(ast::StatementKind::kScopeBegin, 0); }
void StatementBuilder::EndScope() { Add(ast::StatementKind::kScopeEnd, 0); }

void StatementBuilder::BeginTargets() {
  ast::Targets targets;
  targets.calls = Last().kind == TokenKind::kCalltargets;
  targets.name = TextOf(tokens_[state_.name_token]);
  targets.position = PositionOf(tokens_[state_.name_token]);
  Add(ast::StatementKind::kTargets, module_.targets.size());
  module_.targets.push_back(targets);
}

void StatementBuilder::TargetName() {
  ast::Operand o;
  o.kind = ast::OperandKind::kIdentifier;
  o.text = LastName();
  operands_.Push(o);
}

void StatementBuilder::TargetCount() {
  const uint32_t count = LastNumber();
  if (count == 0 || count > kMaxTargets) {
    return Report(fmt::format("the number of labels must be 1 to {}", kMaxTargets));
  }
  ast::Operand o = operands_.Pop();
  const std::string_view prefix = o.text;
  for (uint32_t i = 0; i < count; ++i) {
    o.text = Spell(fmt::format("{}{}", prefix, i));
    operands_.Push(o);
  }
}

void StatementBuilder::EndTargets() { module_.targets.back().operands = operands_.TakeAll(); }

}  // namespace ptx2cpu::ptx
