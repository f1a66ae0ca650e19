// Several relocatable modules: functions, variables and shared memory that one declares and another defines.
#include <memory>

#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

struct Linked {
  std::vector<std::unique_ptr<const ast::Module>> trees;
  Result<SymbolTable> symbols = Fail(ErrorCode::kInternal, "not linked yet");
  Result<ir::Module> module = Fail(ErrorCode::kInternal, "not translated yet");
};

// The modules are named part0.ptx, part1.ptx ...; their heads are two lines long.
Linked Link(const std::vector<std::string>& texts, std::string_view kernel = "k") {
  Linked linked;
  std::vector<const ast::Module*> pointers;
  for (size_t i = 0; i < texts.size(); ++i) {
    Result<ast::Module> tree = Parse(texts[i], "part" + std::to_string(i) + ".ptx");
    if (!tree) FAIL(tree.error().Render());
    linked.trees.push_back(std::make_unique<const ast::Module>(std::move(*tree)));
    pointers.push_back(linked.trees.back().get());
  }
  linked.symbols = SymbolTable::Link(pointers);
  if (!linked.symbols)
    linked.module = Fail(linked.symbols.error());
  else
    linked.module = Translate(*linked.symbols, kernel);
  return linked;
}

// The first word at p after the kernel ran with one thread.
uint32_t ValueOf(const std::vector<std::string>& texts, std::string_view kernel = "k") {
  Linked linked = Link(texts, kernel);
  if (!linked.module) FAIL(linked.module.error().Render());
  Status status = ir::Verify(*linked.module);
  if (!status) FAIL(status.error().Render());
  uint32_t buffer[4] = {};
  uint32_t* address = buffer;
  std::vector<std::byte> params(8);
  std::memcpy(params.data(), &address, 8);
  ir::ModuleStorage storage(*linked.module);
  status = ir::Interpret(*linked.module, linked.module->functions[0], storage, params, {});
  if (!status) FAIL(status.error().Render());
  return buffer[0];
}

std::string LinkError(const std::vector<std::string>& texts) {
  Linked linked = Link(texts);
  REQUIRE_FALSE(linked.module.has_value());
  return linked.module.error().Render();
}

constexpr std::string_view kFirst = R"(
.extern .func (.param .b32 r) scale (.param .b32 a);
.extern .global .align 4 .u32 factor;
.extern .shared .align 4 .b8 buffer[];
.func (.param .b32 r) local_one () { .reg .b32 %x; mov.u32 %x, 1; st.param.b32 [r], %x; ret; }
)";

constexpr std::string_view kSecond = R"(
.visible .global .align 4 .u32 factor = 3;
.global .align 4 .u32 hidden = 100;
.func (.param .b32 r) local_one () { .reg .b32 %x; mov.u32 %x, 1000; st.param.b32 [r], %x; ret; }
.visible .func (.param .b32 r) scale (.param .b32 a) {
  .reg .b32 %x<5>;
  .shared .align 8 .b8 area[8];
  ld.param.b32 %x0, [a];
  ld.global.u32 %x1, [factor];
  mul.lo.u32 %x0, %x0, %x1;
  { .param .b32 o; call (o), local_one, (); ld.param.b32 %x2, [o]; }
  add.u32 %x0, %x0, %x2;
  ld.global.u32 %x3, [hidden];
  add.u32 %x0, %x0, %x3;
  st.shared.u32 [area], %x0;
  ld.shared.u32 %x0, [area];
  st.param.b32 [r], %x0;
  ret;
}
)";

std::string FirstModule() {
  return Kernel(R"(
    ld.global.u32 %r1, [%rd1];
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), scale, (a); ld.param.b32 %r2, [r]; }
    { .param .b32 o; call (o), local_one, (); ld.param.b32 %r3, [o]; }
    ld.global.u32 %r4, [factor];
    st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r1};
    mov.u32 %r5, buffer; st.shared.u32 [%r5], %r1;
  )",
                kFirst);
}

TEST_CASE("a second module defines what the first declares") {
  Linked linked = Link({FirstModule(), Header(kSecond)});
  if (!linked.module) FAIL(linked.module.error().Render());
  const ir::Module& module = *linked.module;
  Status status = ir::Verify(module);
  if (!status) FAIL(status.error().Render());
  CHECK(module.functions.size() == 4);  // k, scale and both local_one
  CHECK(module.FindFunction("local_one") != nullptr);
  CHECK(module.FindFunction("local_one.1") != nullptr);
  CHECK(module.static_shared_bytes == 8);
  uint32_t buffer[4] = {7};
  uint32_t* address = buffer;
  std::vector<std::byte> params(8);
  std::memcpy(params.data(), &address, 8);
  ir::ModuleStorage storage(module);
  ir::InterpretOptions options;
  options.dynamic_shared_bytes = 64;
  status = ir::Interpret(module, module.functions[0], storage, params, options);
  if (!status) FAIL(status.error().Render());
  CHECK(buffer[0] == 7 * 3 + 1000 + 100);
  CHECK(buffer[1] == 1);
  CHECK(buffer[2] == 3);
}

TEST_CASE("lines of the second module follow those of the first, and so does the text") {
  Linked linked = Link({FirstModule(), Header(kSecond)});
  REQUIRE(linked.module);
  const ir::Function* scale = linked.module->FindFunction("scale");
  REQUIRE(scale != nullptr);
  bool found = false;
  for (const ir::Inst& inst : scale->insts) {
    if (inst.op != ir::Opcode::kMul || !inst.block.valid()) continue;
    found = true;
    CHECK(linked.module->Line(inst.at.ptx_line) == "  mul.lo.u32 %x0, %x0, %x1;");
    CHECK(linked.module->Place(inst.at.ptx_line).file == "part1.ptx");
    CHECK(linked.module->Place(inst.at.ptx_line).line == 13);
  }
  CHECK(found);
}

std::string CallsF(std::string_view declaration) {
  return Kernel("{ .param .b32 r; call (r), f, (); ld.param.b32 %r2, [r]; } st.global.u32 [%rd1], %r2;",
                declaration);
}
std::string ReadsV(std::string_view declaration) {
  return Kernel("ld.global.u32 %r2, [v]; st.global.u32 [%rd1], %r2;", declaration);
}
std::string F(std::string_view linkage, int value) {
  return std::string(linkage) + " .func (.param .b32 r) f() { .reg .b32 %x; mov.u32 %x, " +
         std::to_string(value) + "; st.param.b32 [r], %x; ret; }\n";
}
const std::string kExternF = ".extern .func (.param .b32 r) f();\n";

TEST_CASE("a function or variable that no module defines is an error where the kernel uses it") {
  CHECK_THAT(LinkError({CallsF("\n" + kExternF), Header(".visible .global .u32 other;\n")}),
             Catch::Contains("part0.ptx:10") && Catch::Contains("function `f` is used here") &&
                 Catch::Contains("call (r), f"));
  CHECK_THAT(LinkError({ReadsV(".extern .global .u32 v;\n"), Header(".global .u32 v;\n")}),
             Catch::Contains("part0.ptx:9") && Catch::Contains("variable `v` is used here"));
  // The user is in another module than the kernel.
  CHECK_THAT(
      LinkError(
          {CallsF(kExternF),
           Header(".extern .func g();\n\n.visible .func (.param .b32 r) f() {\n call g, ();\n ret; }\n")}),
      Catch::Contains("part1.ptx:7") && Catch::Contains("`g`"));
  const std::string unused = ".extern .global .u32 v;\n" + kExternF +
                             ".visible .func g() { .param .b32 r; call (r), f, (); ret; }\n";
  CHECK(ValueOf({Kernel("mov.u32 %r2, 5; st.global.u32 [%rd1], %r2;", unused), Header("")}) == 5);
  CHECK(Link({Kernel("{ .param .b32 r; .param .b64 a; .param .b64 b; call (r), vprintf, (a, b); }",
                     ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n")})
            .module.has_value());
}

TEST_CASE("definitions of one name: one visible, else the first weak") {
  CHECK(ValueOf({CallsF(F(".weak", 1)), Header(F(".weak", 2))}) == 1);
  CHECK(ValueOf({CallsF(F(".weak", 1)), Header(F(".visible", 2))}) == 2);
  CHECK(ValueOf({CallsF(F(".visible", 1)), Header(F(".weak", 2))}) == 1);
  CHECK(ValueOf({CallsF(F("", 1)), Header(F(".visible", 2))}) == 1);
  CHECK_THAT(LinkError({CallsF(F(".visible", 1)), Header(F(".visible", 2))}),
             Catch::Contains("part1.ptx:4") && Catch::Contains("`f` is defined in part0.ptx:4 already"));
  CHECK(ValueOf({ReadsV(".weak .global .u32 v = 1;\n"), Header(".weak .global .u32 v = 2;\n")}) == 1);
  CHECK(ValueOf({ReadsV(".weak .global .u32 v = 1;\n"), Header(".visible .global .u32 v = 2;\n")}) == 2);
  CHECK(ValueOf({ReadsV(".global .u32 v = 1;\n"), Header(".visible .global .u32 v = 2;\n")}) == 1);
  CHECK_THAT(LinkError({ReadsV(".visible .global .u32 v;\n"), Header("\n.visible .global .u32 v;\n")}),
             Catch::Contains("part1.ptx:5") && Catch::Contains("part0.ptx:4 already"));
}

TEST_CASE("common variables are one, as large as the largest; a definition holds them") {
  Linked common =
      Link({ReadsV(".common .global .u32 v;\n"), Header(".common .global .align 16 .u32 v[100];\n")});
  REQUIRE(common.module);
  REQUIRE(common.module->variables.size() == 1);
  CHECK(common.module->variables[0].size == 400);
  CHECK(common.module->variables[0].align == 16);
  CHECK(ValueOf({ReadsV(".common .global .u32 v;\n"), Header(".visible .global .u32 v = 4;\n")}) == 4);
  CHECK_THAT(LinkError({ReadsV(".common .global .u32 v[100];\n"), Header(".visible .global .u32 v = 4;\n")}),
             Catch::Contains("4 bytes here and 400"));
}

TEST_CASE("declarations must fit the definition") {
  CHECK(ValueOf({ReadsV(".extern .global .u32 v[];\n"), Header(".visible .global .u32 v[2] = {6, 7};\n")}) ==
        6);
  CHECK(ValueOf({ReadsV(".extern .global .f32 v;\n"), Header(".visible .global .u32 v = 6;\n")}) == 6);
  CHECK_THAT(LinkError({ReadsV(".extern .global .u32 v[4];\n"), Header(".visible .global .u32 v = 4;\n")}),
             Catch::Contains("bytes here"));
  CHECK_THAT(LinkError({ReadsV(".extern .global .u32 v;\n"), Header(".visible .const .u32 v = 4;\n")}),
             Catch::Contains("another space"));
  const std::string wide = ".visible .func (.param .b64 r) f() { ret; }\n",
                    real = ".visible .func (.param .f32 r) f() { ret; }\n",
                    more = ".visible .func (.param .b32 r) f(.param .b32 a) { ret; }\n";
  for (const std::string& other : {wide, real, more}) {
    CHECK_THAT(LinkError({CallsF(kExternF), Header(other)}), Catch::Contains("part0.ptx:4") &&
                                                                 Catch::Contains("prototype") &&
                                                                 Catch::Contains("part1.ptx:4"));
  }
  CHECK(ValueOf({CallsF(".extern .func (.param .s32 r) f();\n"), Header(F(".visible", 3))}) == 3);
}

TEST_CASE("kernels of all modules, once each, internal ones too") {
  const std::string k2 =
      ".entry k2(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], ";
  Linked linked = Link({Header(".weak .entry k() { ret; }\n" + k2 + "1; ret; }\n"),
                        Header(".weak .entry k() { trap; }\n" + k2 + "2; ret; }\n")});
  REQUIRE(linked.symbols);
  CHECK(ListKernels(*linked.symbols) == std::vector<std::string>{"k", "k2", "k2.1"});
  const std::vector<std::string> both = {Header(k2 + "1; ret; }\n"), Header(k2 + "2; ret; }\n")};
  CHECK(ValueOf(both, "k2") == 1);
  CHECK(ValueOf(both, "k2.1") == 2);
}

TEST_CASE("an indirect call brings the functions of its type whose address the program takes") {
  const std::string functions =
      ".func (.param .b32 r) one(.param .b32 x) { ret; }\n.func (.param .b32 r) called(.param .b32 x) { ret; "
      "}\n"
      ".func (.param .f32 r) real(.param .f32 x) { ret; }\n.func (.param .b32 r) two(.param .b32 x, .param "
      ".b32 y) { ret; }\n"
      ".global .u64 table[3] = {one, real, two};\n.visible .entry other() { .param .b32 x; .param .b32 r; "
      "call (r), called, (x); ret; }\n";
  Linked linked = Link({Kernel("{ .param .b32 x; .param .b32 r; P: .callprototype (.param .b32 _) _ (.param "
                               ".b32 _); call (r), %rd1, (x), P; }",
                               {}),
                        Header(functions)});
  if (!linked.module) FAIL(linked.module.error().Render());
  const auto is_target = [&](std::string_view name) {
    const ir::Function* function = linked.module->FindFunction(name);
    return function != nullptr && !function->is_declaration && function->is_indirect_target;
  };
  CHECK(is_target("one"));
  CHECK(is_target("real"));
  CHECK_FALSE(is_target("two"));
  CHECK(linked.module->FindFunction("called") == nullptr);
}

TEST_CASE("dynamic shared memory of several modules begins at one place") {
  Linked linked =
      Link({Kernel("mov.u32 %r2, s; st.shared.u32 [%r2], 1; call g, ();",
                   ".extern .shared .align 4 .b8 s[];\n.extern .func g();\n.shared .b8 own[40];\n"),
            Header(".extern .shared .align 64 .b8 s[];\n.shared .b8 own[24];\n"
                   ".visible .func g() { .reg .b32 %a; mov.u32 %a, s; st.shared.u32 [%a], 2; st.shared.u32 "
                   "[own], 3; ret; }\n")});
  if (!linked.module) FAIL(linked.module.error().Render());
  CHECK(linked.module->static_shared_bytes == 24);
  for (const ir::Variable& variable : linked.module->variables) {
    if (variable.name == "s") CHECK(variable.shared_offset == 64);
  }
}

TEST_CASE("static variables of two function bodies may have one name") {
  const std::string body = "() { .global .u32 count; .reg .b32 %x; ld.global.u32 %x, [count]; ret; }\n";
  Linked linked = Link({Kernel("call a, (); call b, ();", ".func a" + body + ".func b" + body)});
  if (!linked.module) FAIL(linked.module.error().Render());
  REQUIRE(linked.module->variables.size() == 2);
  CHECK(linked.module->variables[0].name != linked.module->variables[1].name);
}

TEST_CASE("link: modules whose functions share registers of the module are refused") {
  const std::string head = ".version 2.3\n.target sm_20\n.address_size 64\n";
  CHECK_THAT(
      LinkError({head + ".reg .u32 %n;\n.func f { add.u32 %n, %n, 1; ret; }\n.entry k { call f; exit; }\n",
                 head + ".global .u32 other;\n"}),
      Catch::Contains("functions share are not translated where several modules are linked"));
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
