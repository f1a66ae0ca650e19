// Several relocatable modules: functions, variables and shared memory that one declares and another defines.
#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

struct Linked {
  std::vector<ast::Module> trees;
  Result<ir::Module> module = Fail(ErrorCode::kInternal, "not linked yet");
};

Linked Link(const std::vector<std::string>& texts, std::string_view kernel = "k") {
  Linked linked;
  for (size_t i = 0; i < texts.size(); ++i) {
    Result<ast::Module> tree = Parse(texts[i], "part" + std::to_string(i) + ".ptx");
    if (!tree) FAIL(tree.error().Render());
    linked.trees.push_back(std::move(*tree));
  }
  std::vector<const ast::Module*> pointers;
  for (const ast::Module& tree : linked.trees) pointers.push_back(&tree);
  linked.module = TranslateLinked(pointers, kernel);
  return linked;
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
  }
  CHECK(found);
}

TEST_CASE("what no module defines stays a declaration") {
  Linked linked = Link({FirstModule(), Header(".visible .global .u32 other;\n")});
  if (!linked.module) FAIL(linked.module.error().Render());
  const ir::Function* scale = linked.module->FindFunction("scale");
  REQUIRE(scale != nullptr);
  CHECK(scale->is_declaration);
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
