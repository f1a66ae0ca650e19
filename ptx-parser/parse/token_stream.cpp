#include "ptx-parser/parse/token_stream.h"

namespace ptx2cpu::ptx {
namespace {

size_t TypeOf(const Token& token) {
  return token.kind == TokenKind::kEnd ? antlr4::Token::EOF : static_cast<size_t>(token.kind);
}

}  // namespace

FlatTokenStream::FlatTokenStream(const std::vector<Token>& tokens, std::string_view text)
    : tokens_(tokens), text_(text), next_type_(TypeOf(tokens[0])), current_(*this) {}

void FlatTokenStream::consume() {
  if (cursor_ + 1 < tokens_.size()) seek(cursor_ + 1);
}

// The token k places ahead (1 is the next) or back (-1 is the last consumed).
size_t FlatTokenStream::At(ssize_t k) const {
  const ssize_t at = static_cast<ssize_t>(cursor_) + (k > 0 ? k - 1 : k);
  if (at < 0) return 0;
  return std::min(static_cast<size_t>(at), tokens_.size() - 1);
}

size_t FlatTokenStream::LA(ssize_t i) { return i == 1 ? next_type_ : TypeOf(tokens_[At(i)]); }

void FlatTokenStream::seek(size_t index) {
  cursor_ = std::min(index, tokens_.size() - 1);
  next_type_ = TypeOf(tokens_[cursor_]);
}

antlr4::Token* FlatTokenStream::LT(ssize_t k) {
  current_.index_ = k == 1 ? cursor_ : At(k);
  return &current_;
}

antlr4::Token* FlatTokenStream::get(size_t index) const {
  current_.index_ = std::min(index, tokens_.size() - 1);
  return &current_;
}

std::string FlatTokenStream::Current::getText() const {
  return std::string(stream_.text_.substr(token().offset, token().length));
}

size_t FlatTokenStream::Current::getType() const { return TypeOf(token()); }

}  // namespace ptx2cpu::ptx
