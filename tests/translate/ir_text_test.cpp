// The IR that small kernels become, as text: block parameters only where values merge, no casts where types
// agree, nothing unused.
#include "run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

// The body of the first function: one line per instruction, positions dropped.
std::string Body(const std::string& text, size_t function = 0) {
  ir::Module module = TranslateText(text);
  std::string printed = ir::Print(module, module.functions[function]), body;
  size_t at = printed.find('\n') + 1;
  while (at < printed.size()) {
    size_t end = printed.find('\n', at);
    std::string line = printed.substr(at, end - at);
    line = line.substr(0, line.find(" ; "));
    body += line + "\n";
    at = end + 1;
  }
  return body;
}

TEST_CASE("text: straight-line float code needs no casts, whatever the registers are declared") {
  CHECK(Body(Header(R"(
.visible .entry k(.param .u64 p, .param .f32 x) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.b64 %rd1, [p];
  ld.param.b32 %r1, [x];
  ld.global.b32 %r2, [%rd1];
  fma.rn.ftz.f32 %r3, %r1, %r2, %r2;
  st.global.b32 [%rd1+4], %r3;
  ret;
})")) == R"(^b0:
  %0 = param_base
  %1 = load i64 param %0
  %2 = param_base
  %3 = const i64 0x8
  %4 = add i64 %2, %3
  %5 = load f32 param %4
  %6 = load f32 global %1
  %7 = ffma f32 rn %5, %6, %6 {ftz}
  %8 = const i64 0x4
  %9 = add i64 %1, %8
  store f32 global %9, %7
  ret
}
)");
}

TEST_CASE("text: a loop has a parameter for each variable it changes and none for the others") {
  CHECK(Body(Header(R"(
.visible .entry k(.param .u64 p, .param .u32 n) {
  .reg .pred %p1; .reg .b32 %r<4>; .reg .b64 %rd1;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
LOOP:
  add.s32 %r2, %r2, %r1;
  setp.lt.u32 %p1, %r2, 100;
  @%p1 bra LOOP;
  st.global.u32 [%rd1], %r2;
  ret;
})")) == R"(^b0:
  %0 = param_base
  %1 = load i64 param %0
  %2 = param_base
  %3 = const i64 0x8
  %4 = add i64 %2, %3
  %5 = load i32 param %4
  %6 = const i32 0x0
  br ^b1(%6)
^b1(%7: i32) "LOOP":
  %8 = add i32 %7, %5
  %9 = const i32 0x64
  %10 = icmp i32 ult %8, %9
  cond_br %10, ^b1(%8), ^b2
^b2:
  store i32 global %1, %8
  ret
}
)");
}

TEST_CASE("text: guards become selects and branches") {
  CHECK(Body(Header(R"(
.visible .entry k(.param .u64 p) {
  .reg .pred %p1; .reg .b32 %r<4>; .reg .b64 %rd1;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  setp.eq.s32 %p1, %r1, 0;
  @!%p1 mov.u32 %r1, 7;
  @%p1 st.global.u32 [%rd1], %r1;
  ret;
})")) == R"(^b0:
  %0 = param_base
  %1 = load i64 param %0
  %2 = special i32 tid.x
  %3 = const i32 0x0
  %4 = icmp i32 eq %2, %3
  %5 = not i1 %4
  %6 = const i32 0x7
  %7 = select i32 %5, %6, %2
  cond_br %4, ^b1, ^b2
^b1:
  store i32 global %1, %7
  br ^b2
^b2:
  ret
}
)");
}

TEST_CASE("text: collectives keep their order and flags") {
  CHECK(Body(Header(R"(
.visible .entry k() {
  .reg .pred %p<3>; .reg .b32 %r<6>;
  mov.u32 %r1, %laneid;
  shfl.sync.down.b32 %r2|%p1, %r1, 4, 0x1f, -1;
  vote.sync.any.pred %p2, !%p1, 0xff;
  barrier.sync 1, 64;
  bar.sync 0;
  ret;
})")) == R"(^b0:
  %0 = special i32 laneid
  %1 = const i32 0xffffffff
  %2 = const i32 0x4
  %3 = const i32 0x1f
  %4, %5 = shuffle i32 down %0, %2, %3, %1
  %6 = const i32 0xff
  %7 = not i1 %5
  %8 = vote_any %7, %6
  %9 = const i32 0x1
  %10 = const i32 0x40
  barrier_block %9, %10
  %11 = const i32 0x0
  barrier_block %11 {aligned}
  ret
}
)");
}

TEST_CASE("text: a scalar function has no memory for its parameters") {
  CHECK(Body(Header(R"(
.func (.param .b32 o) f(.param .b32 a, .param .b64 b) {
  .reg .b32 %r<4>; .reg .b64 %rd1;
  ld.param.u32 %r1, [a];
  ld.param.u64 %rd1, [b];
  cvt.u32.u64 %r2, %rd1;
  add.s32 %r3, %r1, %r2;
  st.param.b32 [o], %r3;
  ret;
}
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd1;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, 5;
  { .param .b32 x; .param .b64 y; .param .b32 r;
    st.param.b32 [x], %r1; st.param.b64 [y], %rd1;
    call.uni (r), f, (x, y);
    ld.param.b32 %r2, [r]; }
  st.global.u32 [%rd1], %r2;
  ret;
})"),
             1) == R"(^b0(%0: i32, %1: i64):
  %2 = trunc i32 from i64 %1
  %3 = add i32 %0, %2
  ret %3
}
)");
}

TEST_CASE("text: a fragment whose elements do not fill the depth of its shape is an error") {
  const Error error = TranslateError(Kernel("wmma.load.a.sync.aligned.row.m8n8k4.f16 {%r1, %r2}, [%rd1];"));
  CHECK(error.code != ErrorCode::kInternal);
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
