// What is contracted to fma, and what is not. The bits are in tests/ptx/contraction.gpu.
#include <algorithm>

#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

ptrdiff_t CountFused(std::string_view body, const TranslateOptions& options = {}) {
  Result<ast::Module> tree =
      Parse(Kernel(std::string("ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4];\n") +
                   std::string(body) + "\nst.global.f32 [%rd1], %f9;"),
            "test.ptx");
  REQUIRE(tree);
  const Result<ir::Module> module = Translate(*tree, "k", options);
  REQUIRE(module);
  REQUIRE(ir::Verify(*module));
  return std::ranges::count(module->functions[0].insts, ir::Opcode::kFFma, &ir::Inst::op);
}

TEST_CASE("contraction: only without a rounding modifier, and only if the options have it") {
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; add.f32 %f9, %f3, %f1;") == 1);
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; add.f32 %f9, %f3, %f1;", {.contract = false}) == 0);
  CHECK(CountFused("mul.rn.f32 %f3, %f1, %f2; add.f32 %f9, %f3, %f1;") == 0);
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; add.rn.f32 %f9, %f3, %f1;") == 0);
}

TEST_CASE("contraction: the same where registers are kept") {
  const TranslateOptions keeps{.keeps_registers = true};
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; add.f32 %f9, %f3, %f1;", keeps) == 1);
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; st.global.f32 [%rd1+8], %f3; add.f32 %f9, %f3, %f1;", keeps) == 0);
}

TEST_CASE("contraction: a volatile store to local memory is a use") {
  const char* const body =
      ".local .f32 x; mul.f32 %f3, %f1, %f2; st.volatile.local.f32 [x], %f3; add.f32 %f9, %f3, %f1;";
  CHECK(CountFused(body) == 0);
}

TEST_CASE("contraction: all uses of a product or none") {
  CHECK(
      CountFused(
          "mul.f32 %f3, %f1, %f2; add.f32 %f4, %f3, %f1; sub.f32 %f5, %f2, %f3; add.rn.f32 %f9, %f4, %f5;") ==
      2);
  CHECK(CountFused(
            "mul.f32 %f3, %f1, %f2; add.f32 %f4, %f3, %f1; st.global.f32 [%rd1+8], %f3; mov.f32 %f9, %f4;") ==
        0);
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; add.f32 %f9, %f3, %f3;") == 0);
  CHECK(CountFused(
            "mul.f32 %f3, %f1, %f2; setp.gt.f32 %p1, %f1, %f2; @%p1 bra L; add.f32 %f9, %f3, %f1; L:") == 0);
}

TEST_CASE("contraction: one of two products in a sum") {
  CHECK(CountFused("mul.f32 %f3, %f1, %f2; mul.f32 %f4, %f1, %f1; add.f32 %f9, %f3, %f4;") == 1);
  // The second product loses one sum and so has another use in the other.
  CHECK(
      CountFused("mul.f32 %f3, %f1, %f2; mul.f32 %f4, %f1, %f1; add.f32 %f5, %f3, %f4; add.f32 %f6, %f4, %f2;"
                 "add.rn.f32 %f9, %f5, %f6;") == 1);
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
