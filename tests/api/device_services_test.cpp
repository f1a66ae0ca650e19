// Services that device code requests of the runtime: printf, assert, malloc and free, clocks.
#include <algorithm>
#include <chrono>
#include <map>

#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

const std::string kVprintf = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n";
const std::string kHeap =
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
    ".extern .func (.param .b64 r) __nv_aligned_device_malloc(.param .b64 n, .param .b64 a);\n";

std::string Bytes(const std::string& name, const std::string& text) {
  std::string list;
  for (const char c : text) list += std::to_string(static_cast<int>(static_cast<unsigned char>(c))) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {" + list + "0};\n";
}

// Prints block and thread as "%d:%d\n" `repeat` times.
std::string Printer(int repeat) {
  return kVprintf + Bytes("text", "%d:%d\n") + R"(
.visible .entry k(.param .u64 p) {
  .local .align 8 .b8 buffer[8]; .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %q;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.u32 %r2, )" +
         std::to_string(repeat) + R"(;
  st.local.u32 [buffer], %r0; st.local.u32 [buffer+4], %r1;
  mov.u64 %d0, buffer; cvta.local.u64 %d0, %d0; mov.u64 %d1, text; cvta.global.u64 %d1, %d1;
AGAIN:
  { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1; st.param.b64 [a], %d0; call (r), vprintf, (f, a); }
  sub.u32 %r2, %r2, 1; setp.ne.u32 %q, %r2, 0; @%q bra AGAIN;
  ret;
})";
}

std::string Printed(const Program& program, Shape shape) {
  std::string printed;
  shape.print = [&](std::string_view text) { printed += text; };
  Words(program, "k", 1, shape);
  return printed;
}

TEST_CASE("what independent blocks print comes in the order of the grid", "[services]") {
  const Program program = Linked({Printer(1)});
  std::string expected;
  for (int block = 0; block < 300; ++block) {
    for (int thread = 0; thread < 4; ++thread)
      expected += std::to_string(block) + ":" + std::to_string(thread) + "\n";
  }
  CHECK(Printed(program, {.grid = {300}, .block = {4}}) == expected);
}

TEST_CASE("beyond a megabyte the oldest of what was printed is lost", "[services]") {
  const std::string text = Printed(Linked({Printer(20000)}), {.grid = {1}, .block = {32}});
  CHECK(text.size() <= size_t{1} << 20);
  CHECK(text.size() > (size_t{1} << 20) - 16);
  CHECK(text.ends_with("0:31\n"));
}

TEST_CASE("the device heap has a limit, gives memory back, and keeps it between launches", "[services]") {
  // p[0] = malloc(p[0]); then writes a word there and reads it back.
  const Program program = Linked({kHeap + R"(
.visible .entry take(.param .u64 p) {
  .reg .b64 %d<4>; .reg .pred %q;
  ld.param.u64 %d0, [p]; ld.global.u64 %d1, [%d0];
  { .param .b64 n; .param .b64 r; st.param.b64 [n], %d1; call (r), malloc, (n); ld.param.b64 %d2, [r]; }
  st.global.u64 [%d0], %d2;
  setp.eq.u64 %q, %d2, 0;
  @!%q st.u64 [%d2], 77;
  ret;
}
.visible .entry take_aligned(.param .u64 p) {
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [p]; ld.global.u64 %d1, [%d0];
  { .param .b64 n; .param .b64 a; .param .b64 r; st.param.b64 [n], 40; st.param.b64 [a], %d1; call (r), __nv_aligned_device_malloc, (n, a); ld.param.b64 %d2, [r]; }
  st.global.u64 [%d0], %d2;
  ret;
}
.visible .entry give_back(.param .u64 p) {
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [p]; ld.global.u64 %d1, [%d0];
  { .param .b64 a; st.param.b64 [a], %d1; call free, (a); }
  ret;
}
)"});
  const auto run = [&](const char* kernel, uint64_t word) {
    const Status status = Get(program, kernel).Launch({}, &word);
    if (!status) FAIL(status.error().Render());
    return word;
  };
  std::vector<uint64_t> taken;
  for (uint64_t address = run("take", 1 << 20); address != 0; address = run("take", 1 << 20)) {
    CHECK(address % 16 == 0);
    taken.push_back(address);
    REQUIRE(taken.size() <= 8);
  }
  CHECK(taken.size() == 8);
  CHECK(run("take", 16) == 0);
  for (uint64_t address : taken) {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<void*>(address), 8);
    CHECK(word == 77);
    run("give_back", address);
  }
  run("give_back", 0);
  CHECK(run("take", uint64_t{9} << 20) == 0);
  const uint64_t aligned = run("take_aligned", 4096);
  CHECK(aligned % 4096 == 0);
  REQUIRE(aligned != 0);
  run("give_back", aligned);
  uint64_t twice = run("take", 100);
  run("give_back", twice);
  alignas(16) uint64_t mine[16] = {};
  uint64_t wrong = reinterpret_cast<uint64_t>(&mine[8]);
  const Status status = Get(program, "give_back").Launch({}, &wrong);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().Render(), Catch::Contains("malloc did not return"));
}

TEST_CASE("each thread whose assertion fails is named; the launch fails as an assertion", "[services]") {
  const Program program =
      Linked({".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param "
              ".b64 c) .noreturn;\n" +
              Bytes("message", "x < 3") + Bytes("file", "some.cu") + Bytes("function", "void k(int *)") + R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %q;
  ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x;
  setp.lt.u32 %q, %r0, 3;
  @%q bra FINE;
  { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
    mov.u64 %d1, message; cvta.global.u64 %d1, %d1; st.param.b64 [m], %d1;
    mov.u64 %d1, file; cvta.global.u64 %d1, %d1; st.param.b64 [f], %d1;
    st.param.b32 [l], 42;
    mov.u64 %d1, function; cvta.global.u64 %d1, %d1; st.param.b64 [n], %d1;
    st.param.b64 [c], 1;
    call __assertfail, (m, f, l, n, c); }
FINE:
  mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], 1;
  ret;
})"});
  std::vector<uint32_t> words(8);
  const Status status = Get(program, "k").Launch({.block = {5}}, words.data());
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kFault);
  CHECK_THAT(status.error().Render(),
             Catch::Contains("assertion failed: some.cu:42: void k(int *): `x < 3'") &&
                 Catch::Contains("thread (3,0,0)"));
  CHECK(std::ranges::count(words, 1u) == 3);
}

TEST_CASE("clocks: the threads of a block wait for a time together", "[services]") {
  // Each thread waits for 2 ms, then 1 ms; written: how long it waited, and 0 if time went back.
  const auto wait = [](const std::string& label, int nanoseconds) {
    return "mov.u64 %d3, %globaltimer;\n" + label +
           ": mov.u64 %d4, %globaltimer; sub.u64 %d5, %d4, %d3; setp.lt.u64 %q, %d5, " +
           std::to_string(nanoseconds) + "; @%q bra " + label + ";\n";
  };
  for (const std::string between :
       {"",
        "st.shared.u32 [tile], %r0; bar.sync 0; ld.shared.u32 %r0, [tile]; st.global.u32 [%d0+8], %r0;"}) {
    const Program program = Linked({R"(
.shared .align 4 .b8 tile[4];
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<10>; .reg .b32 %r<4>; .reg .pred %q;
  ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 12; add.u64 %d0, %d0, %d1;)" +
                                    wait("FIRST", 2000000) + R"(
  mov.u64 %d6, %d4; cvt.u32.u64 %r1, %d5;)" +
                                    between + wait("SECOND", 1000000) + R"(
  cvt.u32.u64 %r2, %d5; setp.ge.u64 %q, %d3, %d6; selp.u32 %r3, %r2, 0, %q;
  st.global.u32 [%d0], %r1; st.global.u32 [%d0+4], %r3;
  ret;
})"});
    constexpr uint32_t kThreads = 1024;
    Shape shape;
    shape.block = {kThreads, 1, 1};
    const auto begin = std::chrono::steady_clock::now();
    const auto words = Words(program, "k", 3 * kThreads, shape);
    const auto took = std::chrono::steady_clock::now() - begin;
    for (uint32_t i = 0; i < kThreads; ++i) {
      if (words[3 * i] < 2000000 || words[3 * i + 1] < 1000000)
        FAIL("thread " << i << " waited for " << words[3 * i] << " and " << words[3 * i + 1]);
    }
    CHECK(took < std::chrono::milliseconds(kThreads));  // one after the other it would be three times that
  }
}

TEST_CASE("clocks: a thread measures what it does, not what the threads before it did", "[services]") {
  const Program program = Linked({R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .pred %q;
  ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
  mov.u64 %d2, %clock64; mov.u32 %r1, 2000; mov.u32 %r2, %r0;
WORK:
  mul.lo.u32 %r2, %r2, 1664525; xor.b32 %r2, %r2, %r1; st.global.u32 [%d0], %r2;
  sub.u32 %r1, %r1, 1; setp.ne.u32 %q, %r1, 0; @%q bra WORK;
  mov.u64 %d3, %clock64; sub.u64 %d3, %d3, %d2; cvt.u32.u64 %r3, %d3; st.global.u32 [%d0], %r3;
  ret;
})"});
  constexpr uint32_t kThreads = 256;
  Shape shape;
  shape.block = {kThreads, 1, 1};
  auto words = Words(program, "k", kThreads, shape);
  CHECK(std::ranges::min(words) > 0);
  std::ranges::sort(words);
  CHECK(words[kThreads * 3 / 4] < 20 * words[kThreads / 4]);
}

TEST_CASE("clocks run", "[services]") {
  const Program program = Linked({R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .pred %q;
  ld.param.u64 %d0, [p];
  mov.u64 %d1, %clock64; mov.u64 %d3, %globaltimer; mov.u32 %r0, %clock;
AGAIN:
  nanosleep.u32 1000;
  mov.u64 %d4, %globaltimer; sub.u64 %d5, %d4, %d3; setp.lt.u64 %q, %d5, 2000000; @%q bra AGAIN;
  mov.u64 %d2, %clock64; sub.u64 %d2, %d2, %d1;
  mov.u32 %r1, %clock; sub.u32 %r1, %r1, %r0;
  st.global.u64 [%d0], %d2; st.global.u32 [%d0+8], %r1;
  ret;
})"});
  const auto words = Words(program, "k", 4);
  uint64_t ticks;
  std::memcpy(&ticks, words.data(), 8);
  CHECK(ticks > 100'000);  // at least 50 MHz over two milliseconds
  CHECK(words[2] != 0);
}

}  // namespace
}  // namespace ptx2cpu::api_test
