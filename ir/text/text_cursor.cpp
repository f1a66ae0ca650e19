#include "ir/text/text_cursor.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace ptx2cpu::ir {

std::unexpected<Error> TextCursor::FailHere(std::string message) const {
  const Token& token = Peek();
  if (token.kind == Token::Kind::kEnd) return FailAt(token, message + ", not the end of the text");
  constexpr std::string_view kSigils[] = {"", "", "", "", "%", "^", "@", "#", ""};
  std::string_view shown = std::string_view(token.text).substr(0, 40);
  return FailAt(token,
                fmt::format("{}, not '{}{}'", message, kSigils[static_cast<size_t>(token.kind)], shown));
}

Status TextCursor::ExpectMark(std::string_view mark) {
  if (!TakeMark(mark)) return FailHere(fmt::format("expected '{}'", mark));
  return {};
}

Result<std::string> TextCursor::Expect(Token::Kind kind, std::string_view what) {
  if (!Is(kind)) return FailHere(fmt::format("expected {}", what));
  return Take().text;
}

Result<uint64_t> TextCursor::Number(std::string_view what) {
  if (!Is(Token::Kind::kNumber)) return FailHere(fmt::format("expected {}", what));
  std::string_view digits = Peek().text;
  bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) return FailHere("the number does not fit in 64 bits");
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return FailHere(fmt::format("expected {}", what));
  }
  Take();
  return negative ? 0 - value : value;
}

Result<uint32_t> TextCursor::Number32(std::string_view what) {
  const Token& token = Peek();
  uint64_t value = TRY(Number(what));
  if (value > std::numeric_limits<uint32_t>::max())
    return FailAt(token, "the number does not fit in 32 bits");
  return static_cast<uint32_t>(value);
}

Result<uint32_t> TextCursor::Index(std::string_view what) {
  const Token& token = Peek();
  std::string digits = TRY(Expect(Token::Kind::kIndex, what));
  uint32_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return FailAt(token, fmt::format("expected {}", what));
  }
  return value;
}

Result<Type> TextCursor::TypeWord() {
  if (Is(Token::Kind::kWord)) {
    if (auto type = ParseType(Peek().text)) {
      Take();
      return *type;
    }
  }
  return FailHere("expected a type (void, i1 ... i128, f16, bf16, f32, f64)");
}

Status TextCursor::Positions(Position& at) {
  if (AtLineEnd() || !TakeMark(";")) return {};
  bool any = false;
  if (TakeWord("ptx")) {
    at.ptx_line = TRY(Number32("a PTX line"));
    any = true;
  }
  if (TakeWord("src")) {
    at.source_file = TRY(Number32("a source file's number"));
    TRY_STATUS(ExpectMark(":"));
    at.source_line = TRY(Number32("a source line"));
    any = true;
  }
  if (!any) return FailHere("expected 'ptx LINE' or 'src FILE:LINE'");
  return {};
}

Result<std::vector<Param>> TextCursor::Params() {
  std::vector<Param> params;
  TRY_STATUS(ExpectMark("("));
  while (!TakeMark(")")) {
    if (!params.empty()) TRY_STATUS(ExpectMark(","));
    Param param;
    if (!Is(Token::Kind::kWord) && !Is(Token::Kind::kString)) return FailHere("expected a parameter's name");
    param.name = Take().text;
    TRY_STATUS(ExpectMark(":"));
    if (!TakeWord("aggregate")) param.type = TRY(TypeWord());
    param.size = static_cast<uint32_t>(Bytes(param.type));
    param.align = std::max(param.size, 1u);
    if (Is(Token::Kind::kGlobal)) {
      std::string_view digits = Peek().text;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), param.offset);
      if (error != std::errc() || end != digits.data() + digits.size()) return FailHere("expected an offset");
      Take();
    }
    if (TakeWord("size")) param.size = TRY(Number32("a size in bytes"));
    if (TakeWord("align")) param.align = TRY(Number32("an alignment in bytes"));
    params.push_back(std::move(param));
  }
  return params;
}

Result<uint32_t> SymbolNames::Resolve(TextCursor& cursor, std::string_view what) const {
  if (cursor.Is(Token::Kind::kIndex)) return cursor.Index("an index");
  const Token& token = cursor.Peek();
  std::string name = TRY(cursor.Expect(Token::Kind::kGlobal, fmt::format("the name of a {}", what)));
  if (cursor.Is(Token::Kind::kIndex) && !cursor.AtLineEnd()) {
    uint32_t index = TRY(cursor.Index("an index"));
    if (index >= names.size() || names[index] != name) {
      return cursor.FailAt(token, fmt::format("{} number {} is not @{}", what, index, name));
    }
    return index;
  }
  auto found = first.find(name);
  if (found == first.end()) return cursor.FailAt(token, fmt::format("no {} is named @{}", what, name));
  return found->second;
}

}  // namespace ptx2cpu::ir
