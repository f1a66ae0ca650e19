#include <catch2/catch.hpp>
#include <chrono>

#include "ptx-parser/parse/parse.h"
#include "tests/quick.h"

namespace ptx2cpu::ptx::tests {
namespace {

constexpr std::string_view kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

std::string ErrorsOf(const std::string& body) {
  const auto result = Parse(std::string(kHead) + body, "a.ptx");
  return result ? "no error" : result.error().Render();
}

std::string InKernel(const std::string& statements) {
  return ErrorsOf(".entry k(.param .u64 p)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<10>;\n" + statements +
                  "\n}\n");
}

size_t CountOf(const Error& error) { return 1 + error.more.size(); }

}  // namespace

TEST_CASE("syntax errors: several in one run, each with line, caret and what was expected") {
  CHECK(InKernel("mov.u32 %r2, %tid.x\n"
                 "setp.ge.s32 %p1, %r2, %r1;\n"
                 "add.s32 %r3, %r2 %r1;\n"
                 "\tst.global.u32 [%r1+], %r2;\n"
                 "ret;") ==
        "a.ptx:9:1: error: expected ';', found 'setp.ge.s32'\n"
        "  setp.ge.s32 %p1, %r2, %r1;\n"
        "  ^\n"
        "  is a ';' missing at the end of line 8?\n"
        "a.ptx:10:18: error: expected ',' or ';', found '%r1'\n"
        "  add.s32 %r3, %r2 %r1;\n"
        "                   ^\n"
        "a.ptx:11:21: error: expected an operand, found ']'\n"
        "  \tst.global.u32 [%r1+], %r2;\n"
        "  \t                   ^\n");
}

TEST_CASE("syntax errors: parsing continues after them") {
  CHECK(ErrorsOf(".entry k() { ret; } }\n"
                 ".func f( { mov.b32 %r1; ret; }\n"
                 ".global .u32 x y;\n"
                 "foo;\n"
                 ".visible .entry b() { ` ret; { ret } }\n") ==
        "a.ptx:4:21: error: expected a function, a variable or a directive, found '}'\n"
        "  .entry k() { ret; } }\n"
        "                      ^\n"
        "a.ptx:5:10: error: expected ')', found '{'\n"
        "  .func f( { mov.b32 %r1; ret; }\n"
        "           ^\n"
        "a.ptx:6:16: error: expected ',' or ';', found 'y'\n"
        "  .global .u32 x y;\n"
        "                 ^\n"
        "a.ptx:7:1: error: expected a function, a variable or a directive, found 'foo'\n"
        "  foo;\n"
        "  ^\n"
        "a.ptx:8:23: error: expected an instruction, a label or a directive, found '`'\n"
        "  .visible .entry b() { ` ret; { ret } }\n"
        "                        ^\n"
        "a.ptx:8:36: error: expected an operand, ';' or ':', found '}'\n"
        "  .visible .entry b() { ` ret; { ret } }\n"
        "                                     ^\n");
}

TEST_CASE("syntax errors: the end, the beginning, odd bytes") {
  CHECK(ErrorsOf(".entry k() {\nret;") ==
        "a.ptx:5:5: error: expected '}', found the end of the file\n"
        "  ret;\n"
        "      ^\n");
  CHECK(Parse("hello", "b.ptx").error().Render() ==
        "b.ptx:1:1: error: expected '.version', found 'hello'\n"
        "  hello\n"
        "  ^\n");
  CHECK(Parse("", "b.ptx").error().Render() ==
        "b.ptx:1:1: error: expected '.version', found the end of the file\n");
  CHECK(Parse(".version 8.5\n.entry k", "b.ptx").error().Render() ==
        "b.ptx:2:1: error: expected '.target', found '.entry'\n"
        "  .entry k\n"
        "  ^\n");
  CHECK(ErrorsOf(".pragma \"open;\n") ==
        "a.ptx:4:9: error: expected a string in double quotes, found a string that does not end\n"
        "  .pragma \"open;\n"
        "          ^\n");
  CHECK(ErrorsOf("\x01") ==
        "a.ptx:4:1: error: expected a function, a variable or a directive, found byte 0x01\n"
        "  \x01\n"
        "  ^\n");
}

TEST_CASE("errors of constants, types and operators") {
  CHECK(ErrorsOf(".global .b33 x;\n"
                 ".global .align 3 .b32 y = 0f3F;\n"
                 ".global .s32 z = 99999999999999999999, w = 5 / 0, o = 08;\n"
                 ".global .f64 d = 1 + 1.0;\n"
                 ".global .b32 a[-1], v = 1 + (2, 3);\n"
                 ".shared .b32 s = 1;\n"
                 ".global .b32 q = 0xF0(z);\n"
                 ".b32 n;\n"
                 ".global m;\n") ==
        "a.ptx:4:9: error: unknown type '.b33'\n"
        "  .global .b33 x;\n"
        "          ^\n"
        "  a type such as .b32, .u64, .f32 or .pred\n"
        "a.ptx:5:16: error: an alignment must be a power of two\n"
        "  .global .align 3 .b32 y = 0f3F;\n"
        "                 ^\n"
        "a.ptx:5:27: error: '0f3F' is not a floating-point constant\n"
        "  .global .align 3 .b32 y = 0f3F;\n"
        "                            ^\n"
        "  0f and 8 hexadecimal digits, 0d and 16, or a decimal number within double's range\n"
        "a.ptx:6:18: error: '99999999999999999999' is not a number of at most 64 bits\n"
        "  .global .s32 z = 99999999999999999999, w = 5 / 0, o = 08;\n"
        "                   ^\n"
        "a.ptx:6:46: error: division by zero in a constant expression\n"
        "  .global .s32 z = 99999999999999999999, w = 5 / 0, o = 08;\n"
        "                                               ^\n"
        "a.ptx:6:55: error: '08' is not a number of at most 64 bits\n"
        "  .global .s32 z = 99999999999999999999, w = 5 / 0, o = 08;\n"
        "                                                        ^\n"
        "a.ptx:7:20: error: integer and floating-point constants cannot be mixed\n"
        "  .global .f64 d = 1 + 1.0;\n"
        "                     ^\n"
        "a.ptx:8:17: error: an array size must be a constant that is not negative\n"
        "  .global .b32 a[-1], v = 1 + (2, 3);\n"
        "                  ^\n"
        "a.ptx:8:34: error: only call takes a list in parentheses\n"
        "  .global .b32 a[-1], v = 1 + (2, 3);\n"
        "                                   ^\n"
        "a.ptx:8:27: error: '+' needs constants on both sides\n"
        "  .global .b32 a[-1], v = 1 + (2, 3);\n"
        "                            ^\n"
        "  only name + constant, name - constant and a|b are operands\n"
        "a.ptx:9:14: error: only .global and .const variables can have initial values\n"
        "  .shared .b32 s = 1;\n"
        "               ^\n"
        "a.ptx:10:24: error: a mask selects one byte: 0xFF, 0xFF00 ... 0xFF00000000000000\n"
        "  .global .b32 q = 0xF0(z);\n"
        "                         ^\n"
        "a.ptx:11:6: error: 'n' has no state space\n"
        "  .b32 n;\n"
        "       ^\n"
        "  as in .reg or .global\n"
        "a.ptx:12:9: error: 'm' has no type\n"
        "  .global m;\n"
        "          ^\n"
        "  as in .b32\n");
}

TEST_CASE("undefined names, with the nearest one") {
  CHECK(InKernel("mov.b32 %r1, %r12;\n"
                 "mov.b32 %r1, %r12;\n"
                 "ld.param.u64 %r2, [pp];\n"
                 "@%q bra DON;\n"
                 "@%r1 bra DONE;\n"
                 "mov.u32 %r1, %tid.q;\n"
                 "DONE: ret;") ==
        "a.ptx:13:14: error: unknown selector '.q'\n"
        "  mov.u32 %r1, %tid.q;\n"
        "               ^\n"
        "  .x .y .z .w, .r .g .b .a, .b0 to .b3, .h0, .h1, and several as in .b3210, .h10\n"
        "a.ptx:8:14: error: undefined '%r12'\n"
        "  mov.b32 %r1, %r12;\n"
        "               ^\n"
        "  declared are %r0 to %r9\n"
        "a.ptx:10:20: error: undefined 'pp'\n"
        "  ld.param.u64 %r2, [pp];\n"
        "                     ^\n"
        "  did you mean 'p'?\n"
        "a.ptx:11:2: error: undefined '%q'\n"
        "  @%q bra DON;\n"
        "   ^\n"
        "a.ptx:11:9: error: undefined 'DON'\n"
        "  @%q bra DON;\n"
        "          ^\n"
        "  did you mean 'DONE'?\n"
        "a.ptx:12:2: error: the guard '%r1' is not a predicate register\n"
        "  @%r1 bra DONE;\n"
        "   ^\n"
        "  declare it as .reg .pred\n");
}

TEST_CASE("names defined twice") {
  CHECK(InKernel(".reg .b32 %r5, p;\nL: ret;\nL: ret;") ==
        "a.ptx:10:1: error: 'L' is already defined\n"
        "  L: ret;\n"
        "  ^\n"
        "  first in line 9, column 1\n"
        "a.ptx:8:11: error: '%r5' is already defined\n"
        "  .reg .b32 %r5, p;\n"
        "            ^\n"
        "  first in line 7, column 11\n"
        "a.ptx:8:16: error: 'p' is already defined\n"
        "  .reg .b32 %r5, p;\n"
        "                 ^\n"
        "  first in line 4, column 22\n");
  CHECK(ErrorsOf(".func f() { ret; }\n.global .b32 f;\n.func f();\n.func f() { ret; }\n.global .b32 f;\n") ==
        "a.ptx:8:14: error: 'f' is already defined\n"
        "  .global .b32 f;\n"
        "               ^\n"
        "  first in line 5, column 14\n"
        "a.ptx:4:7: error: 'f' is already defined\n"
        "  .func f() { ret; }\n"
        "        ^\n"
        "  first in line 5, column 14\n"
        "a.ptx:6:7: error: 'f' is already defined\n"
        "  .func f();\n"
        "        ^\n"
        "  first in line 5, column 14\n"
        "a.ptx:7:7: error: 'f' is already defined\n"
        "  .func f() { ret; }\n"
        "        ^\n"
        "  first in line 5, column 14\n");
}

TEST_CASE("scopes end") {
  CHECK(InKernel("{ .reg .b32 inner; L: mov.b32 inner, 1; }\nmov.b32 %r1, inner;\nbra L;\n{ mov.b32 late, 1; "
                 ".reg .b32 late; }") ==
        "a.ptx:9:14: error: undefined 'inner'\n"
        "  mov.b32 %r1, inner;\n"
        "               ^\n"
        "  line 8 declares it, but in a block that has ended\n"
        "a.ptx:10:5: error: undefined 'L'\n"
        "  bra L;\n"
        "      ^\n"
        "  line 8 declares it, but in a block that has ended\n"
        "a.ptx:11:11: error: undefined 'late'\n"
        "  { mov.b32 late, 1; .reg .b32 late; }\n"
        "            ^\n");
}

TEST_CASE("what a version of PTX does not have is an error at its place") {
  const auto error = [](const std::string& text) {
    const auto result = Parse(text, "a.ptx");
    return result ? "no error" : result.error().Render();
  };
  CHECK(error(".version 1.4\n.target sm_20\n") ==
        "a.ptx:2:9: error: PTX 1.4 has no target sm_20\n  .target sm_20\n          ^\n  the target was "
        "introduced in "
        "PTX 2.0\n");
  CHECK(error(".version 8.5\n.target sm_120a\n") ==
        "a.ptx:2:9: error: PTX 8.5 has no target sm_120\n  .target sm_120a\n          ^\n  the target was "
        "introduced "
        "in PTX 8.7\n");
  CHECK(error(".version 1.4\n.target sm_13, map_f64_to_f32\n") ==
        "a.ptx:2:16: error: sm_13 has doubles: map_f64_to_f32 is for targets below sm_13\n"
        "  .target sm_13, map_f64_to_f32\n                 ^\n");
  CHECK(error(".version 0.9\n.target sm_10\n") ==
        "a.ptx:1:10: error: '0.9' is not a PTX version\n  .version 0.9\n           ^\n"
        "  write .version major.minor, as in .version 8.5\n");
  CHECK(error(".version 3.0\n.target sm_20\n.reg .u32 %r;\n") ==
        "a.ptx:3:11: error: module-scope registers and .local variables are legal before PTX 3.0 only\n"
        "  .reg .u32 %r;\n            ^\n  declare them in functions\n");
  CHECK(error(".version 1.3\n.target sm_10\n.entry k (.param .u32 a)\n{ .param .u32 b;\nexit; }\n") ==
        "a.ptx:4:15: error: a kernel with a parameter list cannot declare more parameters in its body\n"
        "  { .param .u32 b;\n                ^\n");
  CHECK(error(".version 2.0\n.target sm_20\n.entry k\n{ .reg .v2 .u32 v; .reg .u32 r; mov.u32 r, v.w; exit; "
              "}\n") ==
        "a.ptx:4:44: error: 'v' has 2 elements\n"
        "  { .reg .v2 .u32 v; .reg .u32 r; mov.u32 r, v.w; exit; }\n                                         "
        "    ^\n");
  CHECK(error(".version 2.0\n.target sm_20\n.entry k\n{ .reg .v8 .b32 v; .reg .v2 .pred p; exit; }\n") ==
        "a.ptx:4:17: error: vector registers have 2 or 4 elements, which cannot be predicates\n"
        "  { .reg .v8 .b32 v; .reg .v2 .pred p; exit; }\n                  ^\n"
        "a.ptx:4:35: error: vector registers have 2 or 4 elements, which cannot be predicates\n"
        "  { .reg .v8 .b32 v; .reg .v2 .pred p; exit; }\n                                    ^\n");
  CHECK(error(".version 99.0\n.target sm_999\n") == "no error");  // of the future: nothing is known
}

TEST_CASE("errors are bounded in number and depth") {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "mov.b32 %r1 %r2;\n";
  const auto syntax = Parse(std::string(kHead) + ".entry k() {\n" + many + "}", "a.ptx");
  REQUIRE_FALSE(syntax);
  CHECK(CountOf(syntax.error()) == 20);
  std::string names;
  for (int i = 0; i < 1000; ++i) names += "mov.b32 a" + std::to_string(i) + ", 1;\n";
  const auto undefined = Parse(std::string(kHead) + ".entry k() {\n" + names + "}", "a.ptx");
  REQUIRE_FALSE(undefined);
  CHECK(CountOf(undefined.error()) == 20);
  std::string registers = ".version 1.4\n.target sm_10\n";
  for (int i = 0; i < 300; ++i) registers += ".reg .v4 .u32 r" + std::to_string(i) + "x<4000000>;\n";
  const auto crowded = Parse(registers + ".entry k() { exit; }", "a.ptx");
  REQUIRE_FALSE(crowded);
  CHECK(crowded.error().message == "a function has at most 16777216 registers");
  const auto deep = Parse(std::string(kHead) + ".global .b32 x[] = " + std::string(100000, '{'), "a.ptx");
  CHECK(deep.error().message == "brackets nest deeper than 256");
  CHECK(deep.error().at.line == 4);
}

TEST_CASE("hostile texts cost no more than linear time") {
  const auto start = std::chrono::steady_clock::now();
  for (const char* piece : {"/*", ".section a {", "\"", "(.s64", "{", "@@ ", "!", "a::", "a.", "0x", "a[1]",
                            "?1:", ".entry a", "a:", "}", "-", "\\"}) {
    std::string text(kHead);
    for (int i = 0; i < test::QuickPart(100000); ++i) text += piece;
    Parse(text, "a.ptx");  // @@ is a comment, so not all of them are wrong
    CHECK_FALSE(Parse(std::string(kHead) + ".entry k() {" + text.substr(kHead.size()), "a.ptx"));
    CHECK_FALSE(Parse(std::string(kHead) + ".global .b32 x = 1 " + text.substr(kHead.size()), "a.ptx"));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(seconds < 60);  // a few seconds; quadratic time would take hours
}

}  // namespace ptx2cpu::ptx::tests
