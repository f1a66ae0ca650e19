// Registers as local variables: their names, and that kernels compute what they do without.
#include <algorithm>

#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

constexpr const char* kBody = R"(
  .reg .v4 .u32 %quad;
  .reg .pred %odd;
  and.b32 %r1, %r0, 1;
  setp.ne.u32 %odd, %r1, 0;
  mul.wide.u32 %rd2, %r0, 16;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];
  @%odd add.u32 %r2, %r3, %r4;
  @!%odd st.global.u32 [%rd3+4], %r5;
  @%odd bra SKIP;
  mov.v4.u32 %quad, {%r2, %r3, %r4, %r5};
  add.u32 %r2, %quad.x, %quad.w;
SKIP:
  st.global.u32 [%rd3], %r2;
)";

std::vector<uint32_t> Words() {
  std::vector<uint32_t> words(32);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = i * i + 7;
  return words;
}

ir::Module Translated(const TranslateOptions& options) {
  const Result<ast::Module> tree = Parse(Kernel(kBody), "test.ptx");
  REQUIRE(tree);
  Result<ir::Module> module = Translate(*tree, "k", options);
  if (!module) FAIL(module.error().Render());
  REQUIRE(ir::Verify(*module));
  return *std::move(module);
}

std::vector<uint32_t> RunOn(const ir::Module& module, std::vector<uint32_t> words) {
  ir::ModuleStorage storage(module);
  uint32_t* address = words.data();
  std::vector<std::byte> params(8);
  std::memcpy(params.data(), &address, 8);
  ir::InterpretOptions options;
  options.block.x = 8;
  REQUIRE(ir::Interpret(module, module.functions[0], storage, params, options));
  return words;
}

}  // namespace

TEST_CASE("kept registers: local variables have the names of the text") {
  const ir::Module module = Translated({.keeps_registers = true});
  const auto& locals = module.functions[0].locals;
  for (const char* name : {"%r1", "%r5", "%rd3", "%odd", "%quad.0", "%quad.3"}) {
    INFO(name);
    CHECK(std::ranges::count(locals, name, &ir::LocalVariable::name) == 1);
  }
  CHECK(Translated({}).functions[0].locals.empty());
}

TEST_CASE("kept registers: results are the same") {
  CHECK(RunOn(Translated({.keeps_registers = true}), Words()) == RunOn(Translated({}), Words()));
}

}  // namespace ptx2cpu::ptx::test
