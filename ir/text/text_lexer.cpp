#include "ir/text/text_lexer.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptx2cpu::ir {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_' || c == '$' || c == '.';
}
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    do {
      SkipSpace();
      tokens.push_back(TRY(Next()));
    } while (tokens.back().kind != Token::Kind::kEnd);
    return tokens;
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool AtEnd() const { return at_ >= text_.size(); }
  uint32_t Column(size_t at) const { return static_cast<uint32_t>(at - line_begin_ + 1); }
  std::unexpected<Error> FailAt(size_t at, std::string message) const {
    return Fail(TextError(text_, name_, line_, Column(at), std::move(message)));
  }

  void SkipSpace() {
    for (; !AtEnd(); ++at_) {
      if (Peek() == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
        fresh_line_ = true;
      } else if (Peek() == '/' && Peek(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (Peek() != ' ' && Peek() != '\t' && Peek() != '\r') {
        return;
      }
    }
  }

  Token Begin(Token::Kind kind) {
    Token token{kind, {}, line_, Column(at_), fresh_line_};
    fresh_line_ = false;
    return token;
  }

  Result<Token> Next() {
    using Kind = Token::Kind;
    if (AtEnd()) return Begin(Kind::kEnd);
    char c = Peek();
    if (c == '"') return String(Begin(Kind::kString));
    if (c == '%') return Name(Begin(Kind::kValue));
    if (c == '^') return Name(Begin(Kind::kBlock));
    if (c == '@') return Name(Begin(Kind::kGlobal));
    if (c == '#') return Name(Begin(Kind::kIndex));
    if (IsDigit(c) || (c == '-' && IsDigit(Peek(1)))) return Number(Begin(Kind::kNumber));
    if (IsNameChar(c)) {
      Token token = Begin(Kind::kWord);
      while (IsNameChar(Peek())) token.text += text_[at_++];
      return token;
    }
    if (c == '-' && Peek(1) == '>') {
      Token token = Begin(Kind::kMark);
      token.text = "->";
      at_ += 2;
      return token;
    }
    if (std::string_view("(){},:;=").find(c) == std::string_view::npos) {
      return FailAt(at_, "unexpected character");
    }
    Token token = Begin(Kind::kMark);
    token.text = text_[at_++];
    return token;
  }

  Result<Token> Name(Token token) {
    ++at_;  // the sigil
    if (token.kind == Token::Kind::kGlobal && Peek() == '"') return String(std::move(token));
    while (IsNameChar(Peek())) token.text += text_[at_++];
    if (token.text.empty()) return FailAt(at_, fmt::format("expected a name after '{}'", text_[at_ - 1]));
    return token;
  }

  Result<Token> Number(Token token) {
    bool hex = Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X');
    token.text += text_[at_++];
    for (;; ++at_) {
      char c = Peek();
      char before = token.text.back();
      bool exponent_sign = !hex && (c == '-' || c == '+') && (before == 'e' || before == 'E');
      if (!IsNameChar(c) && !exponent_sign) return token;
      token.text += c;
    }
  }

  Result<Token> String(Token token) {
    size_t begin = at_++;
    for (;; ++at_) {
      if (AtEnd() || Peek() == '\n') return FailAt(begin, "string without its closing quote");
      char c = Peek();
      if (c == '"') break;
      if (c != '\\') {
        token.text += c;
        continue;
      }
      c = Peek(1);
      if (c == '"' || c == '\\') {
        token.text += c;
        at_ += 1;
      } else if (c == 'x' && HexDigit(Peek(2)) >= 0 && HexDigit(Peek(3)) >= 0) {
        token.text += static_cast<char>(HexDigit(Peek(2)) * 16 + HexDigit(Peek(3)));
        at_ += 3;
      } else {
        return FailAt(at_, "unknown escape in a string; known: \\\" \\\\ \\xHH");
      }
    }
    ++at_;
    return token;
  }

  std::string_view text_, name_;
  size_t at_ = 0, line_begin_ = 0;
  uint32_t line_ = 1;
  bool fresh_line_ = true;
};

}  // namespace

Result<std::vector<Token>> LexText(std::string_view text, std::string_view name) {
  return Lexer(text, name).Run();
}

Error TextError(std::string_view text, std::string_view name, uint32_t line, uint32_t column,
                std::string message) {
  size_t begin = 0;
  for (uint32_t n = 1; n < line && begin < text.size(); ++n) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  std::string excerpt(text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin));
  return {.code = ErrorCode::kSyntax,
          .message = std::move(message),
          .at = {std::string(name), line, column},
          .excerpt = std::move(excerpt)};
}

}  // namespace ptx2cpu::ir
