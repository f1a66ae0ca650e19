// Stores of some lanes to shared memory, without masks in hardware: what the others have there stays, and
// nothing outside the block's window is touched.
#include <catch2/catch.hpp>

#include "tests/llvm/kernels.h"
#include "tests/llvm/run_over_numbers.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96, kBlocks = 3;

// Threads below n, and every third thread, store their first word and a byte to shared memory, `up` elements
// further, over values that all threads have stored; the last threads' places are the window's last ones.
std::string Kernel(const std::string& up) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<3>; .reg .b32 %t, %n, %v, %w, %r<8>; .reg .b64 %in, %out, %at;
  .shared .align 4 .b8 bytes[96];
  .shared .align 4 .b8 words[384];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %t;
  mul.wide.u32 %at, %r0, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in];
  shl.b32 %r2, %t, 2;
  mov.u32 %r3, words;
  mov.u32 %r4, bytes;
  add.u32 %r3, %r3, %r2;
  add.u32 %r4, %r4, %t;
  st.shared.u32 [%r3], %r0;
  st.shared.u8 [%r4], %t;
  bar.sync 0;
  add.u32 %r5, %t, )" +
         up + R"(;
  setp.lt.u32 %p0, %r5, %n;
  rem.u32 %r6, %v, 3;
  setp.ne.and.u32 %p1, %r6, 1, %p0;
  @!%p1 bra NEXT;
  mad.lo.u32 %v, %v, 77, 1000;
  st.shared.u32 [%r3+)" +
         std::to_string(4 * std::stoi(up)) + R"(], %v;
  st.shared.u8 [%r4+)" +
         up + R"(], %v;
NEXT:
  bar.sync 0;
  ld.shared.u32 %v, [%r3];
  ld.shared.u8 %w, [%r4];
  mad.lo.u32 %v, %v, 256, %w;
  st.global.u32 [%out], %v;
  ret;
}
)";
}

SharedKernel Compiled(const std::string& up, const char* target, uint32_t width) {
  return CompileText(Kernel(up), {.target = *lowering::ResolveTarget(target), .lane_width = width});
}

std::vector<uint32_t> Run(JitKernel& kernel, uint32_t n) {
  return RunOverNumbers(kernel, {kBlocks, 1, 1}, {kThreads, 1, 1}, kThreads * kBlocks, n);
}

std::string CodeOf(const std::string& omit) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3"), .omit = omit});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(Kernel("1"), "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("stores of some lanes to shared memory leave the others' words", "[blended]") {
  test::Sample sample(4);
  for (const std::string up : {"0", "1", "5"}) {
    const SharedKernel scalar = Compiled(up, "native", 1);
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      for (const uint32_t width : {0u, 8u, 32u}) {
        if (sample.Skips()) continue;
        const SharedKernel kernel = Compiled(up, target, width);
        for (const uint32_t n : {0u, 1u, 30u, 64u, 95u, 96u}) {
          INFO(up << " up, " << n << ", " << target << ", " << width);
          CHECK(Run(*kernel, n) == Run(*scalar, n));
        }
      }
    }
  }
}

TEST_CASE("masked stores to shared memory are loads, blends and stores where masks are words", "[blended]") {
  CHECK(CodeOf("").find("%in_window") != std::string::npos);
  CHECK(CodeOf("blend-stores").find("%in_window") == std::string::npos);
}
