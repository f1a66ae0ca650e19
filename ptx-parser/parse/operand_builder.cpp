#include "ptx-parser/parse/operand_builder.h"

#include <fmt/format.h>

#include <bit>

#include "ptx-parser/parse/constants.h"

// Operands by precedence climbing on two stacks: operands_ holds what is read, operators_ what waits for its
// right side. Operators between constants are evaluated; the few that belong to operands become part of them.
namespace ptx2cpu::ptx {
namespace {

using ast::Operand;
using ast::OperandKind;

ast::Component ComponentOf(std::string_view word) {
  using ast::Component;
  if (word.size() == 1) {
    switch (word[0]) {
      case 'x':
      case 'r':
        return Component::kX;
      case 'y':
      case 'g':
        return Component::kY;
      case 'z':
      case 'b':
        return Component::kZ;
      case 'w':
      case 'a':
        return Component::kW;
      default:
        return Component::kNone;
    }
  }
  if (word.size() != 2) return Component::kNone;
  const int number = word[1] - '0';
  if (word[0] == 'b' && number >= 0 && number < 4) {
    return static_cast<Component>(static_cast<int>(Component::kB0) + number);
  }
  if (word[0] == 'h' && number >= 0 && number < 2) {
    return static_cast<Component>(static_cast<int>(Component::kH0) + number);
  }
  return Component::kNone;
}

// b0213, h10: two to four bytes, or two halves, each of either source of a video instruction.
std::optional<ast::Selection> SelectionOf(std::string_view word) {
  const bool bytes = word[0] == 'b';
  ast::Selection selection{0, static_cast<uint32_t>(word.size()) - 1};
  if (selection.count < 2 || selection.count > (bytes ? 4 : 2)) return std::nullopt;
  for (const char digit : word.substr(1)) {
    if (digit < '0' || digit > (bytes ? '7' : '3')) return std::nullopt;
    selection.digits = selection.digits << 4 | static_cast<uint32_t>(digit - '0');
  }
  return selection;
}

// 0xFF00 -> 1: the one byte a mask selects; -1 if it is not such a mask.
int MaskedByte(uint64_t mask) {
  const int shift = std::countr_zero(mask);
  return mask != 0 && shift % 8 == 0 && mask >> shift == 0xFF ? shift / 8 : -1;
}

}  // namespace

void OperandBuilder::MarkOperators() {
  operators_.push_back({TokenKind::kEnd, false, 0, static_cast<uint32_t>(cursor_)});
}

void OperandBuilder::BeginPrefixes() { MarkOperators(); }
void OperandBuilder::Prefix() {
  operators_.push_back({Last().kind, true, kPrefixPrecedence, static_cast<uint32_t>(cursor_ - 1)});
}
void OperandBuilder::EndPrefixes() { EndOperators(); }

void OperandBuilder::BeginOperators() { MarkOperators(); }
void OperandBuilder::Operator() {
  const TokenKind kind = Last().kind;
  const uint8_t precedence = PrecedenceOf(kind);
  ApplyDownTo(precedence);
  operators_.push_back({kind, false, precedence, static_cast<uint32_t>(cursor_ - 1)});
}
void OperandBuilder::EndOperators() {
  ApplyDownTo(1);
  operators_.pop_back();
}

void OperandBuilder::ApplyDownTo(uint8_t precedence) {
  while (operators_.back().precedence >= precedence) {
    const PendingOperator op = operators_.back();
    operators_.pop_back();
    Apply(op);
  }
}

void OperandBuilder::Apply(const PendingOperator& op) {
  if (!op.is_prefix) return ApplyBinaryOperator(op);
  Operand& value = operands_.back();
  const Token& token = tokens_[op.token];
  if (IsConstant(value)) {
    if (const char* error = ApplyPrefix(op.kind, TextOf(token), value)) Report(token, error);
  } else if (value.kind == OperandKind::kIdentifier && op.kind == TokenKind::kNot) {
    value.flags ^= Operand::kNegated;
  } else if (value.kind == OperandKind::kIdentifier && op.kind == TokenKind::kMinus) {
    value.flags ^= Operand::kMinus;
  } else {
    Report(token, fmt::format("'{}' needs a constant", TextOf(token)),
           "only !predicate and -register may precede a name");
  }
}

void OperandBuilder::ApplyBinaryOperator(const PendingOperator& op) {
  Operand right = operands_.back();
  operands_.pop_back();
  Operand& left = operands_.back();
  const Token& token = tokens_[op.token];
  if (IsConstant(left) && IsConstant(right)) {
    if (const char* error = ApplyBinary(op.kind, left, right)) Report(token, error);
    return;
  }
  const bool is_sum = op.kind == TokenKind::kPlus || op.kind == TokenKind::kMinus;
  if (left.HasSelection() || right.HasSelection()) {
    Report(token, fmt::format("nothing can be added to '{}'", (left.HasSelection() ? left : right).text),
           "a selection of bytes or halves is an operand of video instructions");
  } else if (is_sum && left.kind == OperandKind::kIdentifier && right.kind == OperandKind::kInteger) {
    left.bits += op.kind == TokenKind::kPlus ? right.bits : 0 - right.bits;
  } else if (op.kind == TokenKind::kPlus && left.kind == OperandKind::kInteger &&
             right.kind == OperandKind::kIdentifier) {
    right.bits += left.bits;
    left = right;
  } else if (op.kind == TokenKind::kOr) {
    const ast::Range children = {static_cast<uint32_t>(module_.operands.size()), 2};
    module_.operands.push_back(left);
    module_.operands.push_back(right);
    left = Operand{};
    left.kind = OperandKind::kPair;
    left.children = children;
  } else {
    Report(token, fmt::format("'{}' needs constants on both sides", TextOf(token)),
           "only name + constant, name - constant and a|b are operands");
  }
}

void OperandBuilder::EndConditional() {
  const Operand otherwise = operands_.back();
  operands_.pop_back();
  const Operand then = operands_.back();
  operands_.pop_back();
  Operand& condition = operands_.back();
  const bool both_integer = then.kind == OperandKind::kInteger && otherwise.kind == OperandKind::kInteger;
  const bool both_double = then.kind == OperandKind::kFloat64 && otherwise.kind == OperandKind::kFloat64;
  if (condition.kind != OperandKind::kInteger || (!both_integer && !both_double)) {
    return Report("? : needs an integer constant and two constants of one kind");
  }
  // The result has the type of the chosen side, as ptxas has it.
  condition = condition.bits != 0 ? then : otherwise;
}

// ---- primaries

void OperandBuilder::SelectPart(Operand& o, std::string_view word) {
  o.component = ComponentOf(word);
  if (o.component != ast::Component::kNone) return;
  const bool several = word.starts_with('b') || word.starts_with('h');
  if (const auto selection = several ? SelectionOf(word) : std::nullopt) {
    o.component = word[0] == 'b' ? ast::Component::kBytes : ast::Component::kHalves;
    o.integer = selection->Integer();
    return;
  }
  Report(fmt::format("unknown selector '.{}'", word),
         ".x .y .z .w, .r .g .b .a, .b0 to .b3, .h0, .h1, and several as in .b3210, .h10");
}

void OperandBuilder::Identifier() {
  Operand o;
  o.kind = OperandKind::kIdentifier;
  o.text = LastText();
  const size_t dot = o.text.find('.');
  if (dot != std::string_view::npos) {
    SelectPart(o, o.text.substr(dot + 1));
    o.text = o.text.substr(0, dot);
  } else if (o.text == "_") {
    o.kind = OperandKind::kSink;
  } else if (o.text == "WARP_SZ") {
    o = MakeInteger(32, false);
  }
  operands_.push_back(o);
}

void OperandBuilder::Integer() {
  const std::optional<Operand> value = ReadInteger(LastText());
  if (!value) Report(fmt::format("'{}' is not a number of at most 64 bits", LastText()));
  operands_.push_back(value.value_or(MakeInteger(0, false)));
}

void OperandBuilder::Float() {
  const std::optional<Operand> value = ReadFloat(LastText());
  if (!value) {
    Report(fmt::format("'{}' is not a floating-point constant", LastText()),
           "0f and 8 hexadecimal digits, 0d and 16, or a decimal number within double's range");
  }
  operands_.push_back(value.value_or(MakeInteger(0, false)));
}

// name[index]
void OperandBuilder::Element() {
  const Operand index = operands_.back();
  operands_.pop_back();
  Operand& array = operands_.back();
  if (index.kind != OperandKind::kInteger && index.kind != OperandKind::kIdentifier) {
    return Report("an array index must be a constant, or a register plus a constant");
  }
  if (array.kind != OperandKind::kIdentifier) return Report("only a variable has elements");
  array.kind = OperandKind::kElement;
  array.children = {static_cast<uint32_t>(module_.operands.size()), 1};
  module_.operands.push_back(index);
}

// generic(name + offset) or 0xFF00(name + offset)
void OperandBuilder::Call() {
  Operand argument = operands_.back();
  operands_.pop_back();
  Operand& head = operands_.back();
  if (head.kind == OperandKind::kInteger) return MaskByte(argument, head);
  if (head.kind != OperandKind::kIdentifier || head.text != "generic") {
    return Report("only generic( ) and a byte mask such as 0xFF00( ) may precede parentheses");
  }
  if (argument.kind != OperandKind::kIdentifier) return Report("generic( ) takes a variable or function");
  argument.flags |= Operand::kGeneric;
  head = argument;
}

void OperandBuilder::MaskByte(const Operand& value, Operand& mask) {
  const int byte = MaskedByte(mask.bits);
  if (byte < 0) return Report("a mask selects one byte: 0xFF, 0xFF00 ... 0xFF00000000000000");
  if (value.kind == OperandKind::kInteger) {
    mask = MakeInteger(value.bits >> (8 * byte) & 0xFF, false);
  } else if (value.kind == OperandKind::kIdentifier) {
    mask = Operand{};
    mask.kind = OperandKind::kMasked;
    mask.symbol = static_cast<uint32_t>(byte);
    mask.children = {static_cast<uint32_t>(module_.operands.size()), 1};
    module_.operands.push_back(value);
  } else {
    Report("a mask takes an address or an integer");
  }
}

// ---- lists

void OperandBuilder::BeginList() { lists_.push_back(static_cast<uint32_t>(operands_.size())); }

ast::Range OperandBuilder::TakeFrom(size_t mark) {
  const ast::Range range = {static_cast<uint32_t>(module_.operands.size()),
                            static_cast<uint32_t>(operands_.size() - mark)};
  module_.operands.insert(module_.operands.end(), operands_.begin() + static_cast<ptrdiff_t>(mark),
                          operands_.end());
  operands_.resize(mark);
  return range;
}

void OperandBuilder::EndList(OperandKind kind) {
  Operand list;
  list.kind = kind;
  list.children = TakeFrom(lists_.back());
  lists_.pop_back();
  operands_.push_back(list);
}

void OperandBuilder::EndVector() { EndList(OperandKind::kVector); }

// A list of arguments in call; elsewhere parentheses within a constant expression.
void OperandBuilder::EndParentheses() {
  if (state_.is_call && lists_.size() == 1) return EndList(OperandKind::kArguments);
  const size_t count = operands_.size() - lists_.back();
  if (count == 1) {
    lists_.pop_back();
    return;
  }
  Report("only call takes a list in parentheses");
  EndList(OperandKind::kArguments);
}

void OperandBuilder::EndBracket() {
  Operand& only = operands_.back();
  const bool is_plain = only.kind == OperandKind::kIdentifier || only.kind == OperandKind::kInteger;
  if (operands_.size() - lists_.back() != 1 || !is_plain) return EndList(OperandKind::kBracket);
  lists_.pop_back();
  if (only.kind == OperandKind::kInteger) {
    only.text = {};
    only.flags = 0;
  }
  only.kind = OperandKind::kAddress;
}

void OperandBuilder::AddressSuffix() {
  if (LastText() != ".unified") Report(fmt::format("unknown suffix '{}'", LastText()), ".unified");
  operands_.back().flags |= Operand::kUnified;
}

// addr_mode_0 = wrap
void OperandBuilder::Field() {
  const Operand value = operands_.back();
  operands_.pop_back();
  Operand& field = operands_.back();
  if (field.kind != OperandKind::kIdentifier) return Report("a field name must precede =");
  field.kind = OperandKind::kField;
  field.children = {static_cast<uint32_t>(module_.operands.size()), 1};
  module_.operands.push_back(value);
}

}  // namespace ptx2cpu::ptx
