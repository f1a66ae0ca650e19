#include "ptx-parser/parse/print.h"

#include <catch2/catch.hpp>

#include "ptx-parser/parse/parse.h"
#include "tests/parse/same_tree.h"
#include "tests/parse/samples.h"

namespace ptx2cpu::ptx::tests {

TEST_CASE("what is printed parses to the same tree") {
  for (const std::string& text : Samples()) {
    const auto first = Parse(text, "first.ptx");
    INFO((first ? "" : first.error().Render()));
    REQUIRE(first);
    const std::string printed = Print(*first);
    const auto second = Parse(printed, "second.ptx");
    INFO(printed);
    INFO((second ? "" : second.error().Render()));
    REQUIRE(second);
    CHECK(Difference(*first, *second) == "");
    CHECK(Print(*second) == printed);
  }
}

TEST_CASE("the comparison of trees sees differences") {
  const std::string text(kModern);
  const auto original = Parse(text, "a.ptx");
  REQUIRE(original);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"16, 31, -1", "16, 31, -2"},
                                                        {"%rs1, %rs2", "%rs2, %rs1"},
                                                        {".maxnreg 64", ".maxnreg 32"},
                                                        {"[structure+8]", "[structure+4]"},
                                                        {"mov.u32 %r3, WARP_SZ", "mov.b32 %r3, WARP_SZ"},
                                                        {"0xFF00(message+2)", "0xFF0000(message+2)"},
                                                        {"tile[16][17]", "tile[17][16]"},
                                                        {"inlined_at 1 21 3", "inlined_at 1 22 3"},
                                                        {"%vec.y", "%vec.x"},
                                                        {"@!%p1", "@%p1"}}) {
    std::string changed = text;
    const size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, from.size(), to);
    const auto other = Parse(changed, "b.ptx");
    REQUIRE(other);
    CHECK(Difference(*original, *other) != "");
  }
}

TEST_CASE("one instruction prints as one line") {
  const auto module = Parse(
      ".version 8.5 .target sm_90 .address_size 64 .shared .align 16 .b8 s[4][2];\n"
      ".entry k() { .reg .pred %p<2>; .reg .b32 %r<4>;\n"
      "@!%p1   ld.shared .v2.u32 { %r1,%r2 } , [ s + 4*3 ] ; }",
      "a.ptx");
  REQUIRE(module);
  CHECK(Print(*module, module->instructions[0]) == "@!%p1 ld.shared.v2.u32 {%r1, %r2}, [s+12];");
  CHECK(Print(*module, module->variables[0]) == ".shared .align 16 .b8 s[4][2]");
}

}  // namespace ptx2cpu::ptx::tests
