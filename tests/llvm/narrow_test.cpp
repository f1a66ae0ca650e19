// Narrow elements at addresses of each lane's own: gathered as parts of words, stored lane by lane. Results
// are those of lanes one by one.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 200, kWords = 64;  // threads; words of the table that they read

// Threads with %i, their number, %v, a word, and %t, the address of a table of 256 bytes. They store %v, and
// what they like into the 8 bytes at %own.
std::string Kernel(const std::string& body) {
  return kHead + R"(
.visible .entry k(.param .u64 pt, .param .u64 pout, .param .u64 pown)
{
  .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %i, %v, %n, %a<8>; .reg .b64 %t, %at, %out, %own, %d<4>;
  .shared .align 4 .b8 tables[8192];
  ld.param.u64 %t, [pt];
  ld.param.u64 %out, [pout];
  ld.param.u64 %own, [pown];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %a0, %a1, %i;
  setp.ge.u32 %p0, %i, 200;
  @%p0 bra END;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  mul.wide.u32 %at, %i, 8;
  add.s64 %own, %own, %at;
  mul.lo.u32 %v, %i, 0x9e3779b1;
  shr.u32 %a0, %v, 11;
  and.b32 %a0, %a0, 252;
  cvt.u64.u32 %at, %a0;
  add.s64 %at, %at, %t;
)" + body +
         R"(
  st.global.u32 [%out], %v;
END:
  ret;
}
)";
}

const std::string kBodies[] = {
    "  ld.global.u8 %a1, [%at+3];\n  ld.global.s8 %a2, [%at+1];\n  mad.lo.u32 %v, %a1, 77, %a2;\n",
    "  ld.global.s16 %a1, [%at+2];\n  ld.global.u16 %a2, [%at];\n  mad.lo.u32 %v, %a1, 77, %a2;\n",
    "  ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%at];\n  ld.global.v2.u16 {%h4, %h5}, [%at];\n"
    "  xor.b16 %h0, %h0, %h5;\n  add.u16 %h1, %h1, %h4;\n  mul.lo.u16 %h2, %h2, %h3;\n  xor.b16 %h2, %h2, "
    "%h1;\n"
    "  mov.b32 %v, {%h0, %h2};\n",
    "  and.b64 %d0, %at, -8;\n  ld.global.v4.s16 {%h0, %h1, %h2, %h3}, [%d0];\n"
    "  ld.global.v2.u8 {%h4, %h5}, [%d0+6];\n  xor.b16 %h0, %h0, %h2;\n  add.u16 %h1, %h1, %h3;\n"
    "  xor.b16 %h0, %h0, %h4;\n  add.u16 %h1, %h1, %h5;\n  mov.b32 %v, {%h0, %h1};\n",
    // Only some lanes.
    "  and.b32 %a1, %v, 1024;\n  setp.eq.u32 %p1, %a1, 0;\n  mov.u32 %a2, 5;\n  @%p1 ld.global.u8 %a2, "
    "[%at+2];\n"
    "  @!%p1 st.global.u8 [%own+3], %v;\n  add.u32 %v, %v, %a2;\n",
    "  and.b32 %a1, %v, 4;\n  cvt.u64.u32 %d0, %a1;\n  add.s64 %d0, %d0, %own;\n  st.global.u8 [%d0+1], %v;\n"
    "  st.global.u16 [%d0+2], %i;\n",
    // Bytes of tables that lie interleaved in shared memory, exchanged in a loop that lanes leave one by one.
    "  mov.u32 %a1, %tid.x;\n  and.b32 %a1, %a1, 63;\n  mul.wide.u32 %d0, %a1, 4;\n  mov.u64 %d1, tables;\n"
    "  add.s64 %d0, %d0, %d1;\n  mov.u32 %n, 0;\nSET:\n  mul.wide.u32 %d1, %n, 256;\n  add.s64 %d1, %d1, "
    "%d0;\n"
    "  mul.lo.u32 %a2, %n, 0x07030201;\n  st.shared.u32 [%d1], %a2;\n  add.u32 %n, %n, 1;\n"
    "  setp.lt.u32 %p1, %n, 32;\n  @%p1 bra SET;\n  and.b32 %n, %v, 15;\n  shr.u32 %a3, %v, 7;\nTURN:\n"
    "  and.b32 %a4, %a3, 31;\n  mul.wide.u32 %d1, %a4, 256;\n  shr.u32 %a5, %a3, 5;\n  and.b32 %a5, %a5, 3;\n"
    "  cvt.u64.u32 %d2, %a5;\n  add.s64 %d1, %d1, %d2;\n  add.s64 %d1, %d1, %d0;\n  ld.shared.u8 %a6, "
    "[%d1];\n"
    "  ld.shared.u8 %a7, [%d0+1];\n  st.shared.u8 [%d1], %a7;\n  st.shared.u8 [%d0+1], %a6;\n"
    "  add.u32 %a3, %a3, %a6;\n  add.u32 %a3, %a3, 41;\n  mad.lo.u32 %v, %v, 31, %a6;\n  add.u32 %n, %n, 1;\n"
    "  setp.lt.u32 %p1, %n, 50;\n  @%p1 bra TURN;\n",
};

struct Memory {
  std::vector<uint32_t> stored;
  std::vector<std::byte> own;
  friend bool operator==(const Memory&, const Memory&) = default;
};

Memory Run(const std::string& text, const lowering::JitOptions& options, uint32_t block) {
  const SharedKernel kernel = CompileText(text, options);
  harness::KernelCall call{{(kThreads + block - 1) / block, 1, 1}, {block, 1, 1}, 0, {}, {}, {}};
  for (size_t bytes : {4 * size_t{kWords}, 4 * size_t{kThreads}, 8 * size_t{kThreads}}) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(bytes);
    for (size_t i = 0; i < bytes; ++i) parsed->data[i] = static_cast<std::byte>(i * 167 + 13);
    call.arguments.push_back(std::move(*parsed));
  }
  RunOrFail(*kernel, call);
  Memory memory{std::vector<uint32_t>(kThreads), call.arguments[2].data};
  std::memcpy(memory.stored.data(), call.arguments[1].data.data(), 4 * size_t{kThreads});
  return memory;
}

}  // namespace

TEST_CASE("narrow elements of lanes that run at once are those of lanes one by one", "[narrow][long]") {
  test::Sample sample(4);
  for (const std::string& body : kBodies) {
    const std::string text = Kernel(body);
    INFO(body);
    for (uint32_t block : {32u, 45u, 64u}) {
      if (sample.Skips()) continue;
      const Memory wanted = Run(text, {.lane_width = 1}, block);
      for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
        INFO(target);
        CHECK(Run(text, {.target = *lowering::ResolveTarget(target), .lane_width = 16}, block) == wanted);
      }
      CHECK(Run(text, {.optimisation = 0, .lane_width = 32}, block) == wanted);
    }
  }
}
