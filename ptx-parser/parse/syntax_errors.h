// What the parser does at a syntax error: SyntaxErrors records it in words and skips to where parsing can
// continue. Only for the .cpp files of this folder that include ANTLR.
#pragma once

#include <antlr4-runtime.h>

#include <vector>

#include "ptx-parser/parse/ast.h"
#include "ptx-parser/parse/token_stream.h"

namespace ptx2cpu::ptx {

class SyntaxErrors final : public antlr4::ANTLRErrorStrategy {
 public:
  SyntaxErrors(const ast::Module& module, const std::vector<Token>& tokens, FlatTokenStream& stream,
               size_t max_errors)
      : module_(module), tokens_(tokens), stream_(stream), max_errors_(max_errors) {}
  std::vector<Error> Take() { return std::move(errors_); }

  void reset(antlr4::Parser*) override {}
  void sync(antlr4::Parser*) override {}
  bool inErrorRecoveryMode(antlr4::Parser*) override { return reported_; }
  void reportMatch(antlr4::Parser*) override {}
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override;
  // Unwinds to the statement or module item around the error, then skips past it.
  void recover(antlr4::Parser* parser, std::exception_ptr e) override;

 private:
  void SkipStatement();
  void SkipItem();
  TokenKind Next() const { return tokens_[stream_.cursor()].kind; }
  std::string Describe(const Token& token) const;

  const ast::Module& module_;
  const std::vector<Token>& tokens_;
  FlatTokenStream& stream_;
  const size_t max_errors_;
  std::vector<Error> errors_;
  bool reported_ = false;        // the error now unwinding
  size_t last_skip_ = SIZE_MAX;  // where the last skip began: the next one must begin later
};

}  // namespace ptx2cpu::ptx
