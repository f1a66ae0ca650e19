// Misaligned accesses are faults.
#include <cstdlib>

#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

// k(p): thread t touches the word at p + 8 t + 2.
std::string Touching(const std::string& access, const std::string& before = {}) {
  return before + R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<4>; .reg .b32 %r<4>;
  ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1;
)" + access +
         "\n  ret;\n}\n";
}
const std::string kStore = "  st.global.u32 [%d0+2], %r0;", kAtomic = "  red.global.add.u32 [%d0+2], 1;";
const std::string kCall = "  { .param .b64 a; st.param.b64 [a], %d0; call f, (a); }";
const std::string kFunction = R"(
.global .u64 table[1] = {f};
.func f(.param .b64 a) { .reg .b64 %d<4>; .reg .b32 %r; ld.param.b64 %d0, [a]; ld.u32 %r, [%d0+2]; st.u32 [%d0+8], %r; ret; }
)";
const std::string kIndirect =
    "  ld.global.u64 %d2, [table]; { .param .b64 a; st.param.b64 [a], %d0; P: .callprototype _ (.param .b64 "
    "_); call %d2, (a), P; }";

std::string ErrorOf(const std::string& text, const LoadOptions& options, Shape shape = {.block = {4}}) {
  alignas(64) static uint64_t words[64];
  uint64_t* const memory = words;
  const Status status = Get(Linked({text}, options), "k").Launch(shape, memory);
  return status ? "" : status.error().Render();
}

TEST_CASE("a misaligned access is a fault with its line", "[alignment]") {
  const auto check = [](const std::string& error, const std::string& line) {
    CHECK_THAT(error, Catch::Contains("misaligned") && Catch::Contains(line));
  };
  for (const bool at_access : {false, true}) {
    LoadOptions options;
    options.check_alignment = at_access;
    check(ErrorOf(Touching(kAtomic), options), "red.global.add");
    check(ErrorOf(Touching(kStore), options), "st.global.u32");
    check(ErrorOf(Touching(kIndirect, kFunction), options), "ld.u32 %r");
    CHECK((ErrorOf(Touching(kStore), options).find("thread (0,0,0)") != std::string::npos) == at_access);
    CHECK(ErrorOf(Touching("  st.global.u32 [%d0+4], %r0;"), options).empty());
    CHECK(ErrorOf(Touching("  st.global.u16 [%d0+2], %r0;"), options).empty());
    for (const char* exec : {"warp", "resumable", "lanes"}) {
      options.exec = exec;
      check(ErrorOf(Touching(kStore), options), "st.global.u32");
    }
  }
}

TEST_CASE("alignment is checked at the access: an access that is not reached faults no thread",
          "[alignment]") {
  const std::string guarded =
      "  .reg .pred %q; and.b64 %d2, %d0, 7; setp.eq.u64 %q, %d2, 1; @%q st.global.u32 [%d0+2], %r0;";
  for (const bool at_access : {false, true}) {
    LoadOptions options;
    options.check_alignment = at_access;
    CHECK(ErrorOf(Touching(guarded), options).empty());
  }
}

TEST_CASE("kernels that test their pointers' alignment take either way", "[alignment]") {
  const std::string either = R"(
  .reg .pred %q; .reg .b64 %p; .reg .b32 %a<4>;
  ld.param.u64 %p, [p]; and.b64 %d1, %p, 15; setp.ne.u64 %q, %d1, 0;
  mul.wide.u32 %d2, %r0, 16; add.u64 %p, %p, %d2;
  @%q bra APART;
  st.global.v4.u32 [%p], {%r0, %r0, %r0, %r0}; ret;
APART:
  add.u32 %a0, %r0, 100; st.global.u32 [%p], %a0; st.global.u32 [%p+4], %a0; st.global.u32 [%p+8], %a0; st.global.u32 [%p+12], %a0;
)";
  for (const char* exec : {"auto", "warp", "resumable", "lanes"}) {
    LoadOptions options;
    options.exec = exec;
    const Kernel kernel = Get(Linked({Touching(either)}, options), "k");
    alignas(64) uint32_t words[64] = {};
    for (const uint32_t first : {0u, 1u, 0u, 3u}) {
      INFO(exec << ", " << first);
      const Status status = kernel.Launch({.block = {8}}, words + first);
      if (!status) FAIL(status.error().Render());
      CHECK(words[first + 31] == (first == 0 ? 7 : 107));
    }
    const Status odd = kernel.Launch({.block = {8}}, reinterpret_cast<char*>(words) + 2);
    REQUIRE_FALSE(odd);
    CHECK_THAT(odd.error().Render(),
               Catch::Contains("misaligned") && Catch::Contains("st.global.u32 [%p], %a0"));
    CHECK(kernel.Launch({.block = {8}}, &words[0]).has_value());
  }
}

TEST_CASE("the environment sets whether misaligned accesses are checked", "[alignment]") {
  const auto with = [](const char* value) {
    setenv("PTX2CPU_CHECK_ALIGNMENT", value, 1);
    const std::string error = ErrorOf(Touching(kStore), {});
    unsetenv("PTX2CPU_CHECK_ALIGNMENT");
    return error;
  };
  CHECK(with("0").empty());
  CHECK_THAT(with("1"), Catch::Contains("misaligned") && Catch::Contains("thread (0,0,0)"));
  CHECK_THAT(with(""), Catch::Contains("misaligned"));
}

TEST_CASE("an access to address zero that the compiler knows of is a fault with its line", "[alignment]") {
  CHECK_THAT(
      ErrorOf(Touching("  mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];\n  st.global.u32 [%d0], %r1;"), {}),
      Catch::Contains("bad address 0x0") && Catch::Contains("ld.global.u32"));
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
  const std::string error =
      ErrorOf(Touching("  { .param .b32 y; .param .b32 s; st.param.b32 [y], %r0; call (s), f, (y); "
                       "ld.param.b32 %r1, [s]; }\n  st.global.u32 [%d0], %r1;",
                       deep),
              {}, {});
  CHECK_THAT(error, Catch::Contains("stack overflow"));
}

}  // namespace
}  // namespace ptx2cpu::api_test
