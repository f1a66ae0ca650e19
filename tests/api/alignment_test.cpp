// Misaligned accesses are faults: of atomics, called functions and lanes one by one always, of all where asked for.
#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

// k(p): thread t touches the word at p + 8 t + 2.
std::string Touching(const std::string& access, const std::string& before = {}) {
  return before + R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<4>; .reg .b32 %r<4>;
  ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1;
)" + access + "\n  ret;\n}\n";
}
const std::string kStore = "  st.global.u32 [%d0+2], %r0;", kAtomic = "  red.global.add.u32 [%d0+2], 1;";
const std::string kCall = "  { .param .b64 a; st.param.b64 [a], %d0; call f, (a); }";
const std::string kFunction = R"(
.global .u64 table[1] = {f};
.func f(.param .b64 a) { .reg .b64 %d<4>; .reg .b32 %r; ld.param.b64 %d0, [a]; ld.u32 %r, [%d0+2]; st.u32 [%d0+8], %r; ret; }
)";
const std::string kIndirect =
    "  ld.global.u64 %d2, [table]; { .param .b64 a; st.param.b64 [a], %d0; P: .callprototype _ (.param .b64 _); call %d2, (a), P; }";

std::string ErrorOf(const std::string& text, const LoadOptions& options, Shape shape = {.block = {4}}) {
  alignas(64) static uint64_t words[64];
  uint64_t* const memory = words;
  const Status status = Get(Linked({text}, options), "k").Launch(shape, memory);
  return status ? "" : status.error().Render();
}

TEST_CASE("a misaligned access is a fault with its line", "[alignment]") {
  const auto check = [](const std::string& error, const std::string& line) { CHECK_THAT(error, Catch::Contains("misaligned") && Catch::Contains(line)); };
  LoadOptions all;
  all.check_alignment = true;
  check(ErrorOf(Touching(kAtomic), {}), "red.global.add");
  check(ErrorOf(Touching(kStore), all), "st.global.u32");
  check(ErrorOf(Touching(kIndirect, kFunction), {}), "ld.u32 %r");
  LoadOptions lanes;
  lanes.exec = "lanes";
  check(ErrorOf(Touching(kStore), lanes), "st.global.u32");
  CHECK(ErrorOf(Touching("  st.global.u32 [%d0+4], %r0;"), all).empty());
  CHECK(ErrorOf(Touching("  st.global.u16 [%d0+2], %r0;"), all).empty());
}

TEST_CASE("alignment is checked where the access stands: an access that is not reached faults nobody", "[alignment]") {
  LoadOptions all;
  all.check_alignment = true;
  const std::string guarded = "  .reg .pred %q; and.b64 %d2, %d0, 7; setp.eq.u64 %q, %d2, 1; @%q st.global.u32 [%d0+2], %r0;";
  CHECK(ErrorOf(Touching(guarded), all).empty());
}

TEST_CASE("local memory that overflows is a fault: recursion without end", "[alignment]") {
  const std::string deep = R"(
.func (.param .b32 r) f(.param .b32 x) {
  .local .align 16 .b8 frame[512]; .reg .b32 %r<4>; .reg .b64 %d<3>;
  ld.param.b32 %r0, [x]; cvt.u64.u32 %d0, %r0; and.b64 %d0, %d0, 127; shl.b64 %d0, %d0, 2; mov.u64 %d1, frame; add.u64 %d1, %d1, %d0;
  st.local.u32 [%d1], %r0; add.u32 %r0, %r0, 1;
  { .param .b32 y; .param .b32 s; st.param.b32 [y], %r0; call (s), f, (y); ld.param.b32 %r1, [s]; }
  ld.local.u32 %r2, [%d1]; add.u32 %r1, %r1, %r2;
  st.param.b32 [r], %r1;
  ret;
}
)";
  const std::string error = ErrorOf(Touching("  { .param .b32 y; .param .b32 s; st.param.b32 [y], %r0; call (s), f, (y); ld.param.b32 %r1, [s]; }\n  st.global.u32 [%d0], %r1;", deep), {}, {});
  CHECK_THAT(error, Catch::Contains("stack overflow"));
}

}  // namespace
}  // namespace ptx2cpu::api_test
