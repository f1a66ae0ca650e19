#include "ptx-parser/parse/parse.h"

#include <antlr4-runtime.h>
#include <fmt/format.h>

#include <limits>

#include "PtxParser.h"
#include "ptx-parser/parse/names.h"
#include "ptx-parser/parse/scanner.h"
#include "ptx-parser/parse/syntax_errors.h"
#include "ptx-parser/parse/token_stream.h"
#include "ptx-parser/parse/tree_builder.h"

namespace ptx2cpu::ptx {
namespace {

// Token kinds go from the scanner to the parser as numbers.
static_assert(static_cast<size_t>(TokenKind::kVersion) == antlr::PtxParser::VERSION);
static_assert(static_cast<size_t>(TokenKind::kStray) == antlr::PtxParser::STRAY);

struct NoActions {
  ModuleActions module;
  FunctionActions functions;
  VariableActions variables;
  StatementActions statements;
  LocationActions locations;
  OperandActions operands;
  Actions all{module, functions, variables, statements, locations, operands};
};

Error Join(std::vector<Error> errors) {
  Error first = std::move(errors.front());
  first.more.assign(std::make_move_iterator(errors.begin() + 1), std::make_move_iterator(errors.end()));
  return first;
}

// False at the first syntax error.
bool BuildTree(const TokenArray& scanned, ast::Module& module, std::vector<Error>& errors) {
  FlatTokenStream stream(scanned.tokens, *module.text);
  antlr::PtxParser parser(&stream);
  parser.setBuildParseTree(false);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  TreeBuilder builder(module, scanned.tokens, stream.cursor());
  parser.actions = &builder.actions();
  try {
    parser.module();
  } catch (const antlr4::ParseCancellationException&) {
    return false;
  }
  errors = builder.errors();
  return true;
}

// The slow second run over a text that is known to be wrong: reports all errors.
std::vector<Error> FindSyntaxErrors(const TokenArray& scanned, const ast::Module& module) {
  FlatTokenStream stream(scanned.tokens, *module.text);
  antlr::PtxParser parser(&stream);
  parser.setBuildParseTree(false);
  parser.removeErrorListeners();
  const auto handler = std::make_shared<SyntaxErrors>(module, scanned.tokens, stream, kMaxErrors);
  parser.setErrorHandler(handler);
  NoActions nothing;
  parser.actions = &nothing.all;
  parser.module();
  return handler->Take();
}

Result<ast::Module> ParseModule(ast::Module module) {
  if (module.text->size() >= std::numeric_limits<uint32_t>::max()) {
    return Fail(ErrorCode::kUnsupported, "a PTX text of 4 GiB or more is not supported");
  }
  const TokenArray scanned = Scan(*module.text);
  if (scanned.too_deep != UINT32_MAX) {
    const Token& token = scanned.tokens[scanned.too_deep];
    return Fail(ast::ErrorAt(module, {token.line, token.column}, ErrorCode::kSyntax,
                             fmt::format("brackets nest deeper than {}", kMaxNesting)));
  }
  std::vector<Error> errors;
  if (!BuildTree(scanned, module, errors)) return Fail(Join(FindSyntaxErrors(scanned, module)));
  for (Error& error : ResolveNames(module, kMaxErrors - errors.size())) errors.push_back(std::move(error));
  if (!errors.empty()) return Fail(Join(std::move(errors)));
  return module;
}

}  // namespace

Result<ast::Module> Parse(std::string text, std::string file_name) {
  text.resize(text.find_last_not_of('\0') + 1);
  ast::Module module;
  module.text = std::make_shared<const std::string>(std::move(text));
  module.file_name = file_name;
  try {
    return ParseModule(std::move(module));
  } catch (const std::exception& e) {
    return Fail(ErrorCode::kInternal, fmt::format("parsing {} failed: {}", file_name, e.what()));
  }
}

}  // namespace ptx2cpu::ptx
