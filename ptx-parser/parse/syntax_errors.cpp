#include "ptx-parser/parse/syntax_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <initializer_list>

#include "PtxParser.h"
#include "ptx-parser/parse/token_table.h"

namespace ptx2cpu::ptx {
namespace {

using antlr::PtxParser;

using KindSet = std::bitset<256>;

KindSet ToSet(const antlr4::misc::IntervalSet& intervals) {
  KindSet set;
  for (ssize_t type : intervals.toList()) {
    if (type > 0 && type < 256) set.set(static_cast<size_t>(type));
    if (type == static_cast<ssize_t>(antlr4::Token::EOF)) set.set(0);
  }
  return set;
}

KindSet SetOf(std::initializer_list<TokenKind> kinds) {
  KindSet set;
  for (TokenKind kind : kinds) set.set(static_cast<size_t>(kind));
  return set;
}

bool Has(const KindSet& set, TokenKind kind) { return set.test(static_cast<size_t>(kind)); }

// Sets of tokens that one phrase describes better. If a set holds all of `key`, the tokens of `all` leave it
// and `phrase` replaces them; an empty phrase adds nothing.
struct Phrase {
  KindSet key;
  KindSet all;
  const char* phrase;
};

const std::vector<Phrase>& Phrases() {
  using enum TokenKind;
  static const KindSet spaces = SetOf(
      {kReg, kSreg, kConst, kGlobal, kLocal, kParam, kShared, kTex, kAlign, kPtr, kAttribute, kModifier});
  static const std::vector<Phrase> phrases = {
      {SetOf({kLoc, kAt, kReg}), spaces | SetOf({kLoc, kAt, kWord, kPragma, kBraceOpen}),
       "an instruction, a label or a directive"},
      {SetOf({kEntry, kFunc, kReg, kFile}),
       spaces |
           SetOf({kEntry, kFunc, kExtern, kVisible, kWeak, kCommon, kFile, kAlias, kPragma, kSection, kEnd}),
       "a function, a variable or a directive"},
      {SetOf({kEntry, kFunc, kReg}), spaces | SetOf({kEntry, kFunc, kExtern, kVisible, kWeak, kCommon}),
       "a function or a variable"},
      {SetOf({kModifier, kShared, kWeak, kCommon}), spaces | SetOf({kWeak, kCommon}), ""},  // add .u32
      {SetOf({kReg, kParam, kAlign}), spaces, "a state space, a type or an alignment"},
      {SetOf({kInteger, kCast, kBracketOpen}),
       SetOf({kWord, kInteger, kFloat, kHexFloat, kBraceOpen, kParenOpen, kBracketOpen, kPlus, kMinus, kNot,
              kTilde, kCast}),
       "an operand"},
      {SetOf({kStar, kShiftLeft}),
       SetOf({kStar,    kSlash,     kPercent,      kPlus,     kMinus,     kShiftLeft,  kShiftRight, kLess,
              kGreater, kLessEqual, kGreaterEqual, kEqual,    kNotEqual,  kAnd,        kXor,        kOr,
              kAndAnd,  kOrOr,      kQuestion,     kModifier, kParenOpen, kBracketOpen}),
       ""},
      {SetOf({kMaxntid, kMaxnreg, kNoreturn}),
       SetOf({kMaxntid, kReqntid, kReqnctapercluster, kMaxnreg, kMinnctapersm, kMaxnctapersm, kMaxclusterrank,
              kAbiPreserve, kAbiPreserveControl, kNoreturn, kExplicitcluster, kBlocksareclusters, kAttribute,
              kPragma}),
       "a directive such as .maxntid"},
  };
  return phrases;
}

// Tokens that are named in words, not by their spelling.
constexpr TokenRow<const char*> kNames[] = {{TokenKind::kEnd, "the end of the file"},
                                            {TokenKind::kWord, "a name"},
                                            {TokenKind::kInteger, "an integer"},
                                            {TokenKind::kFloat, "a number"},
                                            {TokenKind::kHexFloat, "a number"},
                                            {TokenKind::kString, "a string in double quotes"},
                                            {TokenKind::kModifier, "a type such as .b32"},
                                            {TokenKind::kSection, "'.section name { ... }'"},
                                            {TokenKind::kCast, "'(.s64)'"}};

std::string NameOf(TokenKind kind) {
  const auto spelled = std::ranges::find(kTokenSpellings, kind, &TokenSpelling::kind);
  if (spelled != std::end(kTokenSpellings)) return fmt::format("'{}'", spelled->text);
  return ValueOf(kind, kNames);
}

std::string ExpectedInWords(KindSet set) {
  std::vector<std::string> words;
  for (const Phrase& p : Phrases()) {
    if ((set & p.key) != p.key) continue;
    set &= ~p.all;
    if (*p.phrase != '\0') words.push_back(p.phrase);
  }
  for (size_t i = 0; i < set.size(); ++i) {
    if (set.test(i)) words.push_back(NameOf(static_cast<TokenKind>(i)));
  }
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

bool StartsItem(TokenKind kind) {
  using enum TokenKind;
  static const KindSet starts = SetOf({kEntry, kFunc, kVisible, kExtern, kFile, kSection});
  return Has(starts, kind);
}

// Calls a rule from outside the grammar. ANTLR looks up what may follow a rule at the state it was called
// from, and takes that state for a call of a rule without looking: so there must be none.
template <typename Rule>
void Detached(antlr4::Parser& parser, Rule rule) {
  const size_t state = parser.getState();
  parser.setState(antlr4::atn::ATNState::INVALID_STATE_NUMBER);
  rule();
  parser.setState(state);
}

}  // namespace

std::string SyntaxErrors::Describe(const Token& token) const {
  if (token.kind == TokenKind::kEnd) return "the end of the file";
  const std::string_view text = std::string_view(*module_.text).substr(token.offset, token.length);
  if (token.kind == TokenKind::kSection) return "'.section'";
  if (token.kind == TokenKind::kStray) {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (text == "\"") return "a string that does not end";
    if (text == "/") return "'/'";
    return byte > ' ' && byte < 0x7f ? fmt::format("'{}'", text) : fmt::format("byte 0x{:02x}", byte);
  }
  constexpr size_t kLongest = 40;
  if (text.size() > kLongest) return fmt::format("'{}...'", text.substr(0, kLongest));
  return fmt::format("'{}'", text);
}

// The parser takes whatever cannot begin an item for the end of the module, and whatever cannot begin a
// statement for the end of the block. Read on: each call of a rule reports what it meets and continues by one
// token at least.
antlr4::Token* SyntaxErrors::recoverInline(antlr4::Parser* parser) {
  const size_t rule = parser->getContext()->getRuleIndex();
  const KindSet expected = ToSet(parser->getExpectedTokens());
  auto& ptx = dynamic_cast<PtxParser&>(*parser);
  if (rule == PtxParser::RuleModule && Has(expected, TokenKind::kEnd)) {
    while (Next() != TokenKind::kEnd) Detached(ptx, [&] { ptx.item(); });
    return stream_.LT(1);
  }
  if (rule == PtxParser::RuleStatement || rule == PtxParser::RuleBody) {
    if (expected == SetOf({TokenKind::kBraceClose})) {
      while (Next() != TokenKind::kEnd && Next() != TokenKind::kBraceClose) {
        Detached(ptx, [&] { ptx.statement(); });
      }
      if (Next() == TokenKind::kBraceClose) {
        parser->consume();
        return stream_.LT(1);
      }
    }
  }
  throw antlr4::InputMismatchException(parser);
}

void SyntaxErrors::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  if (reported_) return;
  reported_ = true;
  if (errors_.size() >= max_errors_) return;
  const Token& found = tokens_[stream_.cursor()];
  KindSet expected = ToSet(e.getExpectedTokens());
  const bool same_line = stream_.cursor() > 0 && tokens_[stream_.cursor() - 1].line == found.line;
  if (expected == SetOf({TokenKind::kSemicolon}) && same_line) expected |= SetOf({TokenKind::kComma});
  std::string hint;
  if (Has(expected, TokenKind::kSemicolon) && stream_.cursor() > 0 && !same_line) {
    hint = fmt::format("is a ';' missing at the end of line {}?", tokens_[stream_.cursor() - 1].line);
  }
  const std::string words = ExpectedInWords(expected);
  std::string message = words.empty() ? fmt::format("unexpected {}", Describe(found))
                                      : fmt::format("expected {}, found {}", words, Describe(found));
  errors_.push_back(ast::ErrorAt(module_, {found.line, found.column}, ErrorCode::kSyntax, std::move(message),
                                 std::move(hint)));
}

void SyntaxErrors::recover(antlr4::Parser* parser, std::exception_ptr e) {
  const size_t rule = parser->getContext()->getRuleIndex();
  if (rule == PtxParser::RuleStatement) {
    SkipStatement();
  } else if (rule == PtxParser::RuleItem) {
    SkipItem();
  } else if (rule == PtxParser::RuleModule) {
    stream_.seek(tokens_.size() - 1);
  } else {
    std::rethrow_exception(e);
  }
  reported_ = false;
}

// After the next ';', or before the '}' that closes the block around the statement. Braces of operands and
// of a nested block are skipped completely.
void SyntaxErrors::SkipStatement() {
  uint32_t depth = 0;
  for (;; stream_.consume()) {
    const TokenKind next = Next();
    if (next == TokenKind::kEnd || (next == TokenKind::kBraceClose && depth == 0)) return;
    if (next == TokenKind::kBraceOpen) ++depth;
    if (next == TokenKind::kBraceClose) --depth;
    if (next == TokenKind::kSemicolon) {
      stream_.consume();
      return;
    }
  }
}

// After the ';' or the '}' that ends the item, or before a directive that can only start one.
void SyntaxErrors::SkipItem() {
  uint32_t depth = 0;
  bool moved = last_skip_ != stream_.cursor();
  last_skip_ = stream_.cursor();
  for (;; stream_.consume(), moved = true) {
    const TokenKind next = Next();
    if (next == TokenKind::kEnd) return;
    if (moved && depth == 0 && StartsItem(next)) return;
    if (next == TokenKind::kBraceOpen) ++depth;
    const bool closes = next == TokenKind::kBraceClose;
    if (closes && depth > 0) --depth;
    if (depth == 0 && (closes || next == TokenKind::kSemicolon)) {
      stream_.consume();
      return;
    }
  }
}

}  // namespace ptx2cpu::ptx
