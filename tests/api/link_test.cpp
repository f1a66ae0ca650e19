// Linked programs, compiled: what modules share and what they keep to themselves.
#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

const std::string kMain = R"(
.extern .func (.param .b32 r) scaled(.param .b32 x);
.extern .global .align 4 .u32 counter;
.extern .global .align 8 .u64 table[3];
.common .global .align 4 .u32 pool;
.extern .shared .align 4 .b8 buffer[];
.global .align 4 .u32 mine = 5;
.weak .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) own() { .reg .b32 %a; ld.global.u32 %a, [mine]; st.param.b32 [r], %a; ret; }
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<8>; .reg .b32 %r<12>;
  ld.param.u64 %d0, [p];
  mov.u32 %r0, %tid.x;
  { .param .b32 x; .param .b32 r; st.param.b32 [x], %r0; call (r), scaled, (x); ld.param.b32 %r1, [r]; }
  mov.u32 %r2, buffer;
  shl.b32 %r3, %r0, 2;
  add.u32 %r3, %r3, %r2;
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [buffer];
  rem.u32 %r4, %r0, 3;
  mul.wide.u32 %d1, %r4, 8;
  mov.u64 %d2, table;
  add.u64 %d2, %d2, %d1;
  ld.global.u64 %d3, [%d2];
  add.u32 %r5, %r0, %r1;
  { .param .b32 x; .param .b32 r; st.param.b32 [x], %r5;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %d3, (x), P; ld.param.b32 %r6, [r]; }
  { .param .b32 r; call (r), own, (); ld.param.b32 %r7, [r]; }
  add.u32 %r6, %r6, %r7;
  atom.global.add.u32 %r8, [counter], 1;
  mul.wide.u32 %d4, %r0, 4;
  add.u64 %d4, %d4, %d0;
  st.global.u32 [%d4], %r6;
  ret;
}
)";

const std::string kOther = R"(
.visible .global .align 4 .u32 counter = 100;
.common .global .align 4 .u32 pool[16];
.global .align 4 .u32 mine = 7000;
.weak .func (.param .b32 r) twice(.param .b32 x) { trap; }
.visible .func (.param .b32 r) scaled(.param .b32 x) {
  .reg .b32 %a<4>;
  ld.param.b32 %a0, [x];
  { .param .b32 y; .param .b32 s; st.param.b32 [y], %a0; call (s), twice, (y); ld.param.b32 %a1, [s]; }
  ld.global.u32 %a2, [mine];
  add.u32 %a1, %a1, %a2;
  st.param.b32 [r], %a1;
  ret;
}
.func (.param .b32 r) own(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; st.param.b32 [r], %a; ret; }
.visible .func (.param .b32 r) plus(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 1000; st.param.b32 [r], %a; ret; }
.visible .func (.param .b32 r) square(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.visible .global .align 8 .u64 table[3] = {own, plus, square};
.visible .entry count(.param .u64 p) {
  .reg .b64 %d; .reg .b32 %r;
  ld.param.u64 %d, [p];
  ld.global.u32 %r, [counter];
  st.global.u32 [%d], %r;
  st.global.u32 [pool+60], %r;
  ret;
}
.visible .entry wants(.param .u64 p) { .reg .b32 %r; call missing, (); ret; }
)";

TEST_CASE("functions, variables and function pointers of another module", "[link]") {
  const Program program = Linked({kMain, ".extern .func missing();\n" + kOther});
  CHECK(program.KernelNames() == std::vector<std::string>{"k", "count", "wants"});
  const std::vector<uint32_t> out = Words(program, "k", 8, {.block = {8}, .shared_bytes = 32});
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t x = i + 7000;
    CHECK(out[i] == (i % 3 == 0 ? x : i % 3 == 1 ? x + 1000 : x * x) + 5);
  }
  CHECK(Words(program, "count", 1)[0] == 108);
  const auto pool = program.Variable("pool");
  REQUIRE(pool);
  CHECK(pool->size() == 64);
  uint32_t last = 0;
  std::memcpy(&last, &(*pool)[60], 4);
  CHECK(last == 108);
}

TEST_CASE("a kernel that reaches what no module defines fails, the others run", "[link]") {
  const Program program = Linked({kMain, ".extern .func missing();\n" + kOther});
  const auto wants = program.Get("wants");
  REQUIRE_FALSE(wants);
  CHECK(wants.error().code == ErrorCode::kLink);
  CHECK_THAT(wants.error().Render(), Catch::Contains("part1.ptx:31") && Catch::Contains("call missing"));
  CHECK(Words(program, "count", 1)[0] == 100);
}

TEST_CASE("a fault names its module and line", "[link]") {
  const Program program = Linked(
      {".extern .func bad(.param .b64 p);\n.visible .entry k(.param .u64 p) {\n .reg .b64 %d; ld.param.u64 "
       "%d, [p];\n"
       " { .param .b64 a; st.param.b64 [a], %d; call bad, (a); }\n ret; }\n",
       "\n\n.visible .func bad(.param .b64 p) {\n .reg .b64 %d<3>; .reg .b32 %t; ld.param.b64 %d1, [p]; "
       "mov.u32 %t, %tid.x; mul.wide.u32 %d2, %t, 4; add.u64 %d1, %d1, %d2;\n st.u32 [%d1], %t;\n ret; }\n"});
  const Status status = Get(program, "k").Launch({.block = {8}}, uint64_t{16});
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().Render(), Catch::Contains("part1.ptx:8") && Catch::Contains("st.u32 [%d1], %t"));
}

}  // namespace
}  // namespace ptx2cpu::api_test
