// Reads tokens one after the other; the two halves of the textual IR's parser share it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/function.h"
#include "ir/text/text_lexer.h"

namespace ptx2cpu::ir {

class TextCursor {
 public:
  TextCursor(std::string_view text, std::string_view name, std::vector<Token> tokens)
      : text_(text), name_(name), tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& Take() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool AtLineEnd() const { return Peek().first_on_line || Peek().kind == Token::Kind::kEnd; }
  bool Is(Token::Kind kind) const { return Peek().kind == kind; }
  bool Is(Token::Kind kind, std::string_view text) const {
    return Peek().kind == kind && Peek().text == text;
  }
  bool TakeMark(std::string_view mark) { return TakeIf(Token::Kind::kMark, mark); }
  bool TakeWord(std::string_view word) { return TakeIf(Token::Kind::kWord, word); }

  Status ExpectMark(std::string_view mark);
  Result<std::string> Expect(Token::Kind kind, std::string_view what);
  Result<uint64_t> Number(std::string_view what);  // negative numbers as two's complement
  Result<uint32_t> Number32(std::string_view what);
  Result<uint32_t> Index(std::string_view what);  // #12
  Result<Type> TypeWord();
  Status Positions(Position& at);  // "; ptx 12 src 1:3", or nothing
  Result<std::vector<Param>> Params();
  template <typename Enum>
  Result<Enum> Named(std::string_view what) {
    if (Is(Token::Kind::kWord)) {
      if (auto value = ParseName<Enum>(Peek().text)) {
        Take();
        return *value;
      }
    }
    return FailHere("expected " + std::string(what));
  }

  // The message gets ", not '...'" from the token it fails at.
  std::unexpected<Error> FailHere(std::string message) const;
  std::unexpected<Error> FailAt(const Token& token, std::string message) const {
    return Fail(TextError(text_, name_, token.line, token.column, std::move(message)));
  }

 private:
  bool TakeIf(Token::Kind kind, std::string_view text) {
    if (!Is(kind, text)) return false;
    Take();
    return true;
  }

  std::string_view text_, name_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

// Names in the order of their indices; the first of equal names is meant, unless "#index" follows.
struct SymbolNames {
  std::vector<std::string> names;
  std::unordered_map<std::string, uint32_t> first;

  void Add(const std::string& name) {
    first.emplace(name, static_cast<uint32_t>(names.size()));
    names.push_back(name);
  }
  Result<uint32_t> Resolve(TextCursor& cursor, std::string_view what) const;  // @name, @name#3 or #3
};

// Reads one function from its first word ("declare", "kernel", "function") to its closing brace.
Result<Function> ParseFunction(TextCursor& cursor, const SymbolNames& variables,
                               const SymbolNames& functions);

}  // namespace ptx2cpu::ir
