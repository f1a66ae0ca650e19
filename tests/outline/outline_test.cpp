#include "ptx-parser/outline/outline.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "ir/text/text.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/parse/parse.h"
#include "ptx-parser/translate/translate.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using Kind = ptx::OutlineItem::Kind;

namespace {

constexpr const char* kModule =
    "//\n// .entry not_a_kernel\n.version 8.3\n.target sm_90, texmode_independent\n.address_size 64 /* { "
    "*/\n.file 1 \"a{.cu\"\n"
    ".visible .global .align 4 .b8 bytes[4] = {1, 2}, more;\n.const .u64 where = generic(bytes)+4;\n.global "
    ".u64 unused;\n"
    ".extern .func (.param .b32 r) helper (.param .b32 a) ;\n"
    ".func (.param .b32 r) helper (.param .b32 a)\n{\n  // }\n  .pragma \"}\";\n  ld.global.u64 %rd1, "
    "[where];\n  ret;\n}\n"
    ".visible .entry one(.param .u64 a, .param .u64 b)\n.maxntid 32, 1, 1\n{ { call (r), helper, (x); } ret; "
    "}\n"
    ".entry two() { .global .u32 inside; mov.u64 %where, 1; }\n"
    ".section .debug_str { info: .b8 1 }\n.alias nick, helper;\n";

std::vector<std::string> Names(const ptx::Outline& outline, const std::vector<uint32_t>& items) {
  std::vector<std::string> names;
  for (const uint32_t i : items) {
    for (const std::string_view name : outline.items()[i].names) names.emplace_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("a module's parts are found with their places and names") {
  const auto outline = ptx::Outline::Of(kModule);
  REQUIRE(outline);
  std::vector<Kind> kinds;
  for (const auto& item : outline->items()) kinds.push_back(item.kind);
  using enum Kind;
  CHECK(kinds == std::vector<Kind>{kDirective, kDirective, kDirective, kDirective, kVariable, kVariable,
                                   kVariable, kPrototype, kFunction, kFunction, kFunction, kSection,
                                   kDirective});
  CHECK(outline->items()[4].names == std::vector<std::string_view>{"bytes", "more"});
  CHECK(outline->items()[9].line == 18);
  CHECK(outline->items()[10].may_hold_variables);
  CHECK_FALSE(outline->items()[8].may_hold_variables);
  CHECK(outline->HasKernel("one"));
  CHECK_FALSE(outline->HasKernel("helper"));
  CHECK_FALSE(outline->HasKernel("not_a_kernel"));
}

TEST_CASE("a kernel needs what its text names, and what that names") {
  const auto outline = ptx::Outline::Of(kModule);
  REQUIRE(outline);
  CHECK(Names(*outline, outline->Reach("one")) ==
        std::vector<std::string>{"bytes", "more", "where", "helper", "helper", "one", "nick", "helper"});
  CHECK(Names(*outline, outline->Reach("two")) == std::vector<std::string>{"two"});
  CHECK(outline->Reach("three").empty());
  const std::string text = outline->TextOf(outline->Reach("two"));
  const std::string whole = kModule;
  CHECK(text.find("unused") == std::string::npos);
  const auto lines_before = [](const std::string& in) {
    return std::count(in.begin(), in.begin() + static_cast<ptrdiff_t>(in.find(".entry two")), '\n');
  };
  CHECK(lines_before(text) == lines_before(whole));
  CHECK(Names(*outline, outline->ReachOfVariables()) ==
        std::vector<std::string>{"bytes", "more", "where", "unused", "two"});
}

TEST_CASE("a call through a register needs all functions whose address anybody takes") {
  const std::string other = ".func f()\n{ ret; }\n.entry other() { mov.u64 %x, f; }\n";
  const auto reaches_all = [&](const std::string& call) {
    const std::string text = ".version 8.0\n" + other + ".entry k() { " + call +
                             " ret; }\n.func (.param .b32 r) g(.param .b32 a) { ret; }\n";
    const auto outline = ptx::Outline::Of(text);
    REQUIRE(outline);
    return outline->Reach("k").size() == outline->items().size();
  };
  CHECK(reaches_all("call (r), %f, (a), proto;"));
  CHECK(reaches_all("call.uni %f, proto;"));
  CHECK(reaches_all("@%p call.uni\n (r),\n %f,\n (a, b),\n proto;"));
  CHECK(reaches_all("call %f, (a), proto;"));
  CHECK_FALSE(reaches_all("call.uni (r), g, (a);"));
  CHECK_FALSE(reaches_all("call g;"));
  CHECK_FALSE(reaches_all("call g, (a, b);"));
}

TEST_CASE("a prototype of a .func ends where the next item begins") {
  const std::string text =
      ".version 2.1\n.target sm_20\n.visible .func (.param .u32 r) f (.param .u32 a)\n\n.func g\n.file 1 "
      "\"a.cu\"\n@@DWARF .section \"{\"\n"
      ".func g { ret; }\n.visible .func (.param .u32 r) f (.param .u32 a)\n{ call g; ret; }\n.entry k "
      ".maxntid 1,1,1 { call (r), f, (a); exit; }\n";
  const auto outline = ptx::Outline::Of(text);
  REQUIRE(outline);
  CHECK(Names(*outline, outline->Reach("k")) == std::vector<std::string>{"f", "g", "g", "f", "k"});
  std::vector<Kind> kinds;
  for (const auto& item : outline->items()) kinds.push_back(item.kind);
  using enum Kind;
  CHECK(kinds == std::vector<Kind>{kDirective, kDirective, kPrototype, kPrototype, kDirective, kFunction,
                                   kFunction, kFunction});
}

TEST_CASE("what is not understood is left to the parser") {
  for (const char* text : {"bogus", ".visible .entry k() {", ".global .u32 r<4>;", ".reg .u32 %r;",
                           ".global .u32 x", ".version 8.0 /* no end", ".file 1 \"no end\n"}) {
    INFO(text);
    CHECK_FALSE(ptx::Outline::Of(text));
  }
  CHECK(ptx::Outline::Of(""));
}

TEST_CASE("every kernel of the corpus translates from its part as from the whole text") {
  size_t kernels = 0, smaller = 0;
  test::Sample sample(7);
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/corpus/bin")) {
    if (sample.Skips()) continue;
    const auto extraction = ptx::ExtractFile(entry.path());
    if (!extraction) continue;
    const auto images = ptx::PtxImages(*extraction);
    if (!images) continue;
    for (const ptx::PtxImage& image : *images) {
      const auto outline = ptx::Outline::Of(image.text);
      REQUIRE(outline);
      const auto whole = ptx::Parse(image.text, "k.ptx");
      REQUIRE(whole);
      for (const std::string& kernel : image.kernels) {
        INFO(entry.path().filename() << " " << kernel);
        const std::string text = outline->TextOf(outline->Reach(kernel));
        const auto part = ptx::Parse(text, "k.ptx");
        REQUIRE(part);
        const auto from_whole = ptx::Translate(*whole, kernel), from_part = ptx::Translate(*part, kernel);
        REQUIRE(from_whole.has_value() == from_part.has_value());
        if (!from_whole) continue;
        CHECK(ir::Print(*from_whole, from_whole->functions[0]) ==
              ir::Print(*from_part, from_part->functions[0]));
        ++kernels;
        smaller += text.size() < image.text.size();
      }
    }
  }
  CHECK(kernels > test::QuickPart(100u));
  CHECK(smaller > test::QuickPart(20u));
}
