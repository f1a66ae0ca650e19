// The scanner's tokens in the form that ANTLR requires. Only for the .cpp files of this folder that include
// ANTLR.
#pragma once

#include <antlr4-runtime.h>

#include <string>
#include <string_view>
#include <vector>

#include "ptx-parser/parse/scanner.h"

namespace ptx2cpu::ptx {

// The parser examines one token at a time and keeps none: so one Token object serves for whichever is
// current, and a module of millions of tokens needs no object each.
class FlatTokenStream final : public antlr4::TokenStream {
 public:
  FlatTokenStream(const std::vector<Token>& tokens, std::string_view text);

  // How many tokens were consumed.
  const size_t& cursor() const { return cursor_; }

  void consume() override;
  size_t LA(ssize_t i) override;
  ssize_t mark() override { return 0; }
  void release(ssize_t marker) override {}
  size_t index() override { return cursor_; }
  void seek(size_t index) override;
  size_t size() override { return tokens_.size(); }
  std::string getSourceName() const override { return {}; }

  antlr4::Token* LT(ssize_t k) override;
  antlr4::Token* get(size_t index) const override;
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getText(const antlr4::misc::Interval& interval) override { return {}; }
  std::string getText() override { return std::string(text_); }
  std::string getText(antlr4::RuleContext* context) override { return {}; }
  std::string getText(antlr4::Token* start, antlr4::Token* stop) override { return {}; }

 private:
  class Current final : public antlr4::Token {
   public:
    explicit Current(const FlatTokenStream& stream) : stream_(stream) {}
    std::string getText() const override;
    size_t getType() const override;
    size_t getLine() const override { return token().line; }
    size_t getCharPositionInLine() const override { return token().column - 1; }
    size_t getChannel() const override { return DEFAULT_CHANNEL; }
    size_t getTokenIndex() const override { return index_; }
    size_t getStartIndex() const override { return token().offset; }
    size_t getStopIndex() const override { return token().offset + token().length - 1; }
    antlr4::TokenSource* getTokenSource() const override { return nullptr; }
    antlr4::CharStream* getInputStream() const override { return nullptr; }
    std::string toString() const override { return getText(); }

    size_t index_ = 0;

   private:
    const ptx::Token& token() const { return stream_.tokens_[index_]; }
    const FlatTokenStream& stream_;
  };

  size_t At(ssize_t k) const;

  const std::vector<ptx::Token>& tokens_;
  const std::string_view text_;
  size_t cursor_ = 0;
  size_t next_type_;
  mutable Current current_;
};

}  // namespace ptx2cpu::ptx
