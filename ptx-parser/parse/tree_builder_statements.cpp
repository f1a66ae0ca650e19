#include <fmt/format.h>

#include "ptx-parser/parse/constants.h"
#include "ptx-parser/parse/tree_builder.h"

namespace ptx2cpu::ptx {
namespace {

constexpr uint32_t kMaxTargets = 65536;  // labels that one N<count> of .branchtargets may expand to

uint64_t Hash(std::string_view text) {
  uint64_t hash = text.size();
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

void TreeBuilder::Add(ast::StatementKind kind, size_t index) {
  module_.statements.push_back({kind, static_cast<uint32_t>(index)});
}

void TreeBuilder::Name() { name_token_ = static_cast<uint32_t>(cursor_ - 1); }

void TreeBuilder::Label() {
  const Token& token = tokens_[name_token_];
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

void TreeBuilder::GuardNot() { guard_negated_ = true; }

void TreeBuilder::Guard() {
  instruction_.guard = guard_negated_ ? ast::Guard::kIfFalse : ast::Guard::kIfTrue;
  instruction_.guard_text = LastName();
  guard_negated_ = false;
}

void TreeBuilder::Opcode() {
  const Token& token = tokens_[name_token_];
  instruction_.position = PositionOf(token);
  instruction_.opcode = InternOpcode(TextOf(token), false);
  is_call_ = module_.opcodes[instruction_.opcode].base == "call";
}

void TreeBuilder::SpacedModifier() {
  const std::string joined = fmt::format("{}{}", module_.opcodes[instruction_.opcode].text, LastText());
  instruction_.opcode = InternOpcode(joined, true);
}

// Linear probing; the table stays at most half full.
uint32_t TreeBuilder::InternOpcode(std::string_view text, bool spelled) {
  const size_t mask = opcode_slots_.size() - 1;
  size_t slot = Hash(text) & mask;
  while (opcode_slots_[slot] != ast::kNone) {
    if (module_.opcodes[opcode_slots_[slot]].text == text) return opcode_slots_[slot];
    slot = (slot + 1) & mask;
  }
  ast::Opcode opcode;
  opcode.text = spelled ? Spell(std::string(text)) : text;
  opcode.modifiers.first = static_cast<uint32_t>(module_.words.size());
  size_t dot = opcode.text.find('.');
  opcode.base = opcode.text.substr(0, dot);
  while (dot != std::string_view::npos) {
    const size_t next = opcode.text.find('.', dot + 1);
    module_.words.push_back(opcode.text.substr(dot + 1, next - dot - 1));
    dot = next;
  }
  opcode.modifiers.count = static_cast<uint32_t>(module_.words.size()) - opcode.modifiers.first;
  const uint32_t index = static_cast<uint32_t>(module_.opcodes.size());
  module_.opcodes.push_back(opcode);
  opcode_slots_[slot] = index;
  if (module_.opcodes.size() * 2 > opcode_slots_.size()) RehashOpcodes();
  return index;
}

void TreeBuilder::RehashOpcodes() {
  const size_t size = opcode_slots_.empty() ? 1024 : opcode_slots_.size() * 2;
  opcode_slots_.assign(size, ast::kNone);
  for (uint32_t i = 0; i < module_.opcodes.size(); ++i) {
    size_t slot = Hash(module_.opcodes[i].text) & (size - 1);
    while (opcode_slots_[slot] != ast::kNone) slot = (slot + 1) & (size - 1);
    opcode_slots_[slot] = i;
  }
}

void TreeBuilder::EndInstruction() {
  instruction_.operands = TakeFrom(0);
  Add(ast::StatementKind::kInstruction, module_.instructions.size());
  module_.instructions.push_back(instruction_);
  instruction_.guard = ast::Guard::kNone;
  instruction_.guard_text = {};
  is_call_ = false;
}

// ---- .loc

void TreeBuilder::LocFile() {
  loc_ = ast::Loc{};
  loc_.file = LastNumber();
}
void TreeBuilder::LocLine() { loc_.line = LastNumber(); }
void TreeBuilder::LocColumn() { loc_.column = LastNumber(); }

void TreeBuilder::LocAttribute() {
  loc_attribute_ = LastText();
  if (loc_attribute_ == "function_name" || loc_attribute_ == "inlined_at") return;
  Report(fmt::format("unknown word '{}' in .loc", loc_attribute_), "function_name or inlined_at");
}
void TreeBuilder::InlinedFile() {
  if (loc_attribute_ == "function_name") Report("a label must follow function_name");
  loc_.inlined_file = LastNumber();
}
void TreeBuilder::InlinedLine() { loc_.inlined_line = LastNumber(); }
void TreeBuilder::InlinedColumn() { loc_.inlined_column = LastNumber(); }
void TreeBuilder::FunctionLabel() {
  if (loc_attribute_ == "inlined_at") Report("file, line and column must follow inlined_at");
  loc_.function_name = LastText();
}
void TreeBuilder::FunctionOffset() { loc_.function_offset = LastLongNumber(); }

void TreeBuilder::EndLoc() {
  Add(ast::StatementKind::kLoc, module_.locs.size());
  module_.locs.push_back(loc_);
}

// ---- scopes, targets, prototypes

void TreeBuilder::BeginScope() { Add(ast::StatementKind::kScopeBegin, 0); }
void TreeBuilder::EndScope() { Add(ast::StatementKind::kScopeEnd, 0); }

void TreeBuilder::BeginTargets() {
  ast::Targets targets;
  targets.calls = Last().kind == TokenKind::kCalltargets;
  targets.name = TextOf(tokens_[name_token_]);
  targets.position = PositionOf(tokens_[name_token_]);
  Add(ast::StatementKind::kTargets, module_.targets.size());
  module_.targets.push_back(targets);
}

void TreeBuilder::TargetName() {
  ast::Operand o;
  o.kind = ast::OperandKind::kIdentifier;
  o.text = LastName();
  operands_.push_back(o);
}

void TreeBuilder::TargetCount() {
  const uint32_t count = LastNumber();
  if (count == 0 || count > kMaxTargets) {
    return Report(fmt::format("the number of labels must be 1 to {}", kMaxTargets));
  }
  ast::Operand o = operands_.back();
  const std::string_view prefix = o.text;
  operands_.pop_back();
  for (uint32_t i = 0; i < count; ++i) {
    o.text = Spell(fmt::format("{}{}", prefix, i));
    operands_.push_back(o);
  }
}

void TreeBuilder::EndTargets() { module_.targets.back().operands = TakeFrom(0); }

void TreeBuilder::BeginPrototype() {
  ast::Prototype prototype;
  prototype.name = TextOf(tokens_[name_token_]);
  prototype.position = PositionOf(tokens_[name_token_]);
  Add(ast::StatementKind::kPrototype, module_.prototypes.size());
  module_.prototypes.push_back(prototype);
  place_ = Place::kPrototype;
  first_parameter_ = module_.variables.size();
  returns_ = {static_cast<uint32_t>(first_parameter_), 0};
}

void TreeBuilder::PrototypeSink() {
  if (LastText() != "_") Report("a prototype has no name", "write _ between returns and parameters");
}

void TreeBuilder::EndPrototype() { place_ = Place::kBody; }

}  // namespace ptx2cpu::ptx
