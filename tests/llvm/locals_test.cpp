// Local variables of lanes that run at once are interleaved words: results are those of lanes one by one.
#include <bit>
#include <catch2/catch.hpp>
#include <functional>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Threads with %v, a word of their own, and 96 bytes of local memory, of which 64 are set to %v * number, in
// a loop.
std::string Kernel(const std::string& body) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %i, %n, %m, %v, %a<8>; .reg .b64 %in, %out, %at, %frame, %d<8>;
  .local .align 16 .b8 frame[96];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %m, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %a0, %a1, %i;
  setp.ge.u32 %p0, %i, %m;
  @%p0 bra END;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in];
  mov.u64 %frame, frame;
  mov.u32 %n, 0;
  mov.u64 %at, %frame;
SET:
  add.u32 %n, %n, 1;
  mul.lo.u32 %a0, %v, %n;
  st.local.u32 [%at], %a0;
  add.s64 %at, %at, 4;
  setp.lt.u32 %p0, %n, 16;
  @%p0 bra SET;
)" + body +
         R"(
  st.global.u32 [%out], %v;
END:
  ret;
}
)";
}

// %at: an address of one of the words, another one in each lane.
const std::string kAnyWord =
    "  and.b32 %a1, %v, 15;\n  mul.wide.u32 %at, %a1, 4;\n  add.s64 %at, %at, %frame;\n";
// ... of one of the bytes, whose number is %a1.
const std::string kAnyByte =
    "  shr.u32 %a1, %v, 9;\n  and.b32 %a1, %a1, 63;\n  cvt.u64.u32 %at, %a1;\n  add.s64 %at, %at, %frame;\n";
// %v: the exclusive or of the 16 words, each rotated by its number, in a loop.
const std::string kSum =
    "  mov.u32 %n, 0; mov.u32 %v, 0; mov.u64 %d0, %frame;\nADD:\n  ld.local.u32 %a2, [%d0];\n"
    "  shf.l.wrap.b32 %a2, %a2, %a2, %n;\n  xor.b32 %v, %v, %a2;\n  add.s64 %d0, %d0, 4;\n  add.u32 %n, %n, "
    "1;\n"
    "  setp.lt.u32 %p1, %n, 16;\n  @%p1 bra ADD;\n";

const std::string kBodies[] = {
    kSum,
    kAnyWord + "  ld.local.u32 %v, [%at];\n",
    kAnyWord + "  st.local.u32 [%at], %i;\n" + kSum,
    // Only some lanes store, at one offset and at different ones.
    "  and.b32 %a3, %v, 1;\n  setp.eq.u32 %p2, %a3, 0;\n  @%p2 st.local.u32 [%frame+20], %i;\n" + kSum,
    kAnyWord +
        "  and.b32 %a3, %v, 32;\n  setp.eq.u32 %p2, %a3, 0;\n  @%p2 bra OVER;\n  st.local.u32 [%at], %i;\n"
        "  st.local.u32 [%frame+8], %i;\nOVER:\n" +
        kSum,
    // Larger accesses: two words, four at once, doubles.
    "  ld.local.u64 %d1, [%frame+8];\n  mul.lo.u64 %d1, %d1, %d1;\n  st.local.u64 [%frame+24], %d1;\n" + kSum,
    "  ld.local.v4.u32 {%a2, %a3, %a4, %a5}, [%frame+16];\n  xor.b32 %a2, %a2, %a5;\n"
    "  st.local.v4.u32 [%frame+32], {%a3, %a2, %i, %a4};\n" +
        kSum,
    "  and.b32 %a1, %v, 7;\n  mul.wide.u32 %at, %a1, 8;\n  add.s64 %at, %at, %frame;\n  ld.local.u64 %d1, "
    "[%at];\n"
    "  mul.lo.u64 %d1, %d1, %d1;\n  st.local.u64 [%at], %d1;\n" +
        kSum,
    // Smaller ones: the words are of their size.
    "  cvt.u16.u32 %h0, %v;\n  st.local.u16 [%frame+6], %h0;\n  ld.local.s16 %a2, [%frame+32];\n"
    "  st.local.u32 [%frame+36], %a2;\n" +
        kSum,
    "  st.local.u8 [%frame+7], %v;\n  ld.local.u8 %a2, [%frame+33];\n  st.local.u32 [%frame+36], %a2;\n" +
        kSum,
    kAnyWord + "  ld.local.u16 %a2, [%at+2];\n  st.local.u32 [%frame], %a2;\n" + kSum,
    // Bytes at addresses of each lane's own: all lanes exchange two, some lanes store one.
    kAnyByte +
        "  ld.local.u8 %a2, [%at];\n  ld.local.s8 %a3, [%frame+5];\n  st.local.u8 [%at], %a3;\n"
        "  st.local.u8 [%frame+5], %a2;\n" +
        kSum,
    kAnyByte +
        "  setp.gt.u32 %p2, %a1, 40;\n  @%p2 bra OVER;\n  st.local.u8 [%at], %i;\n"
        "  st.local.u8 [%frame+62], %v;\nOVER:\n" +
        kSum,
    // In a loop, at an offset that is one in all lanes, beside words of 64 bits that decide the layout.
    "  mov.u32 %n, 3;\nMIX:\n  xor.b32 %a2, %n, 7;\n  cvt.u64.u32 %at, %a2;\n  add.s64 %at, %at, %frame;\n"
    "  ld.local.u8 %a3, [%at];\n  add.u32 %a3, %a3, %v;\n  st.local.u8 [%at+1], %a3;\n"
    "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p2, %n, 40;\n  @%p2 bra MIX;\n"
    "  ld.local.v2.u64 {%d1, %d2}, [%frame+16];\n  mul.lo.u64 %d1, %d1, %d2;\n"
    "  st.local.v2.u64 [%frame+32], {%d1, %d2};\n  ld.local.u64 %d3, [%frame+40];\n"
    "  add.u64 %d3, %d3, %d1;\n  st.local.u64 [%frame], %d3;\n  st.local.v2.u32 [%frame+8], {%a3, %i};\n" +
        kSum,
    kAnyByte +
        "  and.b64 %at, %at, -4;\n  ld.local.v4.u8 {%h0, %h1, %h2, %h3}, [%at];\n"
        "  xor.b16 %h1, %h1, %h2;\n  st.local.v4.u8 [%at+4], {%h3, %h1, %h0, %h2};\n"
        "  st.local.v2.u8 [%at+2], {%h0, %h1};\n" +
        kSum,
};

std::vector<uint32_t> Run(JitKernel& kernel, uint32_t threads, uint32_t block) {
  harness::KernelCall call{{(threads + block - 1) / block, 1, 1}, {block, 1, 1}, 0, {}, {}, {}};
  std::vector<uint32_t> words(threads);
  for (uint32_t i = 0; i < threads; ++i) words[i] = (i + 1) * 2654435761u;
  for (int argument = 0; argument < 2; ++argument) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * words.size());
    std::memcpy(parsed->data.data(), words.data(), parsed->data.size());
    call.arguments.push_back(std::move(*parsed));
  }
  call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(threads)));
  RunOrFail(kernel, call);
  std::memcpy(words.data(), call.arguments[1].data.data(), 4 * words.size());
  return words;
}

}  // namespace

TEST_CASE("locals of lanes that run at once are those of lanes one by one", "[locals][long]") {
  for (const std::string& body : kBodies) {
    const std::string text = Kernel(body);
    INFO(body);
    const SharedKernel scalar = CompileText(text, {.lane_width = 1});
    for (const lowering::JitOptions& options : std::initializer_list<lowering::JitOptions>{
             {.lane_width = 32},
             {.optimisation = 0, .lane_width = 32},
             {.target = *lowering::ResolveTarget("x86-64-v3"), .lane_width = 16}}) {
      const SharedKernel kernel = CompileText(text, options);
      for (uint32_t block : {32u, 77u, 256u}) CHECK(Run(*kernel, 500, block) == Run(*scalar, 500, block));
    }
  }
}

TEST_CASE("long local arrays leave code vectors", "[locals]") {
  std::string text = Kernel(kSum);
  text.replace(text.find("frame[96]"), 9, "frame[13600]");
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(), .lane_width = 32});
  REQUIRE(jit);
  const auto report = (*jit)->ReportLanes(BuildKernel(text, "k"), "k");
  REQUIRE(report);
  REQUIRE(report->loops.size() == 1);
  CHECK(report->loops[0].width == 32);
  CHECK(report->loops[0].loads.one_by_one == 0);
  CHECK(report->loops[0].stores.one_by_one == 0);
  const SharedKernel vectors = CompileText(text, {.lane_width = 32});
  const SharedKernel scalar = CompileText(text, {.lane_width = 1});
  CHECK(Run(*vectors, 500, 77) == Run(*scalar, 500, 77));
}

namespace {

// What kSum makes of the thread's words, of which the second is `second` more.
uint32_t Expected(uint32_t thread, uint32_t second) {
  const uint32_t word = (thread + 1) * 2654435761u;
  uint32_t sum = 0;
  for (uint32_t n = 0; n < 16; ++n)
    sum ^= std::rotl(word * (n + 1) + (n == 1 ? second : 0), static_cast<int>(n));
  return sum;
}

void CheckAll(const std::string& text, const std::function<uint32_t(uint32_t)>& expected) {
  INFO(text);
  for (const uint32_t width : {1u, 32u}) {
    const SharedKernel kernel = CompileText(text, {.lane_width = width});
    for (const uint32_t block : {32u, 77u, 256u}) {
      const std::vector<uint32_t> words = Run(*kernel, 500, block);
      for (uint32_t i = 0; i < words.size(); ++i) REQUIRE(words[i] == expected(i));
    }
  }
}

uint32_t AccessesOneByOne(const std::string& text) {
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(), .lane_width = 32});
  REQUIRE(jit);
  const auto report = (*jit)->ReportLanes(BuildKernel(text, "k"), "k");
  REQUIRE(report);
  uint32_t count = 0;
  for (const auto& loop : report->loops) count += loop.loads.one_by_one + loop.stores.one_by_one;
  return count;
}

}  // namespace

TEST_CASE("locals that are needed before a barrier only are words of all lanes", "[locals]") {
  const std::string warp = "  mov.u32 %a3, 1;\n  shfl.sync.idx.b32 %a3, %a3, 0, 31, -1;\n";
  for (const std::string& after : {std::string("  bar.sync 0;\n"), "  bar.sync 0;\n" + warp}) {
    const std::string text = Kernel(kSum + after + "  add.u32 %v, %v, %i;\n");
    CHECK(AccessesOneByOne(text) == 0);
    if (after.size() < 20) CheckAll(text, [](uint32_t i) { return Expected(i, 0) + i; });
  }
}

TEST_CASE("locals that are needed after a barrier, or in each trip of a loop with one, stay", "[locals]") {
  CheckAll(Kernel("  bar.sync 0;\n" + kSum), [](uint32_t i) { return Expected(i, 0); });
  CheckAll(Kernel("  mov.u32 %a4, 0;\nTRIP:\n  bar.sync 0;\n  ld.local.u32 %a5, [%frame+4];\n"
                  "  add.u32 %a5, %a5, %i;\n  st.local.u32 [%frame+4], %a5;\n  add.u32 %a4, %a4, 1;\n"
                  "  setp.lt.u32 %p3, %a4, 3;\n  @%p3 bra TRIP;\n  bar.sync 0;\n" +
                  kSum),
           [](uint32_t i) { return Expected(i, 3 * i); });
}
