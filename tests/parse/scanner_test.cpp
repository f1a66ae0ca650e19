#include "ptx-parser/parse/scanner.h"

#include <antlr4-runtime.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "PtxLexer.h"
#include "tests/parse/samples.h"

namespace ptx2cpu::ptx::tests {
namespace {

struct Seen {
  size_t kind = 0;
  std::string text;
  size_t line = 0;
  size_t column = 0;
  bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& s) {
  return out << fmt::format("{} '{}' at {}:{}", s.kind, s.text, s.line, s.column);
}

std::vector<Seen> WithScanner(const std::string& text) {
  std::vector<Seen> seen;
  for (const Token& t : Scan(text).tokens) {
    if (t.kind == TokenKind::kEnd) break;
    seen.push_back({static_cast<size_t>(t.kind), text.substr(t.offset, t.length), t.line, t.column});
  }
  return seen;
}

std::vector<Seen> WithAntlr(const std::string& text) {
  antlr4::ANTLRInputStream input(text);
  antlr::PtxLexer lexer(&input);
  lexer.removeErrorListeners();
  std::vector<Seen> seen;
  for (const auto& t : lexer.getAllTokens()) {
    seen.push_back({t->getType(), t->getText(), t->getLine(), t->getCharPositionInLine() + 1});
  }
  return seen;
}

void CheckSame(const std::string& text) {
  const std::vector<Seen> ours = WithScanner(text);
  const std::vector<Seen> reference = WithAntlr(text);
  for (size_t i = 0; i < std::min(ours.size(), reference.size()); ++i) {
    if (ours[i] == reference[i]) continue;
    INFO("token " << i << " of: " << text);
    REQUIRE(ours[i] == reference[i]);
  }
  INFO(text);
  CHECK(ours.size() == reference.size());
}

}  // namespace

TEST_CASE("scanner gives the ANTLR lexer's tokens for whole modules") {
  for (const std::string& text : Samples()) CheckSame(text);
}

TEST_CASE("scanner gives the ANTLR lexer's tokens where rules touch") {
  for (const char* text :
       {"0f3F800000 0F0 0fg 0d3FF0000000000000 0x1FU 0x 0xg 0b101U 0b2 017 08 42U 42u 1.5 1. .5 1e5 1e 1.e+5 "
        "1.5e-",
        ".5e-3 .5x .2d .128x256b .5::a .5e+ .L2::128B .a::b::c .a:: .a: . .. .version .versions "
        ".address_size",
        "a.b.c a..b a.b. a::b a::.b a: :b %r1 %r1.x % %% 5%3 %$ $ $L_1 _ _.x a$b a%b WARP_SZ",
        "(.s64) ( .u64 ) (.s64 (.s32) (.s64x) (.s6",
        "<<= >>= <=> == = != ! && & || | ^ ~ ? : + - * / ; , @ @! @@x\ny { } [ ] ( )",
        "\"a\" \"a\\\"b\" \"a\nb\" \"\\\\\" \"\\",
        "a\\\nb a\\\r\nb a\\b // x\\\ny /* a\n b */ c /**/ d /***/ e /* open",
        ".section .a { .b8 1 // }\n.b8 2 /* } */ / 3 } x .section .a {",
        ".section.a { } .section a b { } .section { } .sections { } .section .debug_str\n{\n}",
        "a\tb\rc\fd\ve", "# ` \x01 \x7f '",
        "# 5 \"a.cu\" 1\na\n#line 7\t\"b\"\n #9 \"\"b\n#5\"a\" #line\n# 5 \"a",
        ".reg .b32 %r<10>;.reg.pred p;@!p bra L;L:ret;"}) {
    CheckSame(text);
  }
}

void CheckRandom(const std::vector<std::string>& pieces, int rounds) {
  std::mt19937 random(20260101);
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) text += pieces[random() % pieces.size()];
    CheckSame(text);
  }
}

TEST_CASE("scanner gives the ANTLR lexer's tokens for random pieces") {
  const std::vector<std::string> pieces = {
      "a",  "%r", ".", "..", ":",         "::",   "0",      "0x",   "0f",   "0d", "0b", "1",  "9",  "e",
      "E+", "-",  "U", "b8", "\"",        "\\",   "\n",     " ",    "\t",   "/",  "//", "/*", "*/", "*",
      "@",  "@@", "(", ")",  "{",         "}",    "[",      "]",    "<",    ">",  "=",  "!",  "&",  "|",
      "^",  "~",  "?", ",",  ".section ", ".s64", "(.u64)", ".reg", ".b32", "$",  "_",  "#"};
  CheckRandom(pieces, 20000);
  CheckRandom({"#", "# ", "line", " ", "\t", "5", "\"", "a", "\n", "\r"}, 5000);
}

TEST_CASE("scanner bounds nesting") {
  CHECK(Scan(std::string(kMaxNesting, '[')).too_deep == UINT32_MAX);
  CHECK(Scan(std::string(kMaxNesting + 1, '{')).too_deep == kMaxNesting);
  std::string flat;
  for (uint32_t i = 0; i < 4 * kMaxNesting; ++i) flat += "{(a ? 1 : 2), [b]}";
  CHECK(Scan(flat).too_deep == UINT32_MAX);
  std::string questions;
  for (uint32_t i = 0; i <= kMaxNesting; ++i) questions += "1 ? 2 : ";
  CHECK(Scan(questions).too_deep != UINT32_MAX);
}

TEST_CASE("the grammar is LL(1): the generated parser never predicts") {
  std::ifstream file(PTX2CPU_BINARY_DIR "/generated/ptx-parser/antlr/PtxParser.cpp");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(text.str().size() > 10000);
  CHECK(text.str().find("adaptivePredict") == std::string::npos);
}

}  // namespace ptx2cpu::ptx::tests
