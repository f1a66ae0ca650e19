// Minima and maxima of bytes and halves in words: results are those of threads one by one, also with numbers
// that are no bytes, and signs.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 64;

// Minima and maxima of two bytes and a half of each thread's word, and a number.
std::string Kernel(const std::string& sign) {
  std::string text = kHead + R"(.visible .entry k(.param .u64 pout, .param .u32 pn)
.reqntid 64
{
  .reg .b32 %t, %n, %a, %b, %c, %h; .reg .b64 %out, %d;
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 4;
  add.s64 %out, %out, %d;
  ld.global.u8 %a, [%out];
  ld.global.u8 %b, [%out+1];
  ld.global.u16 %h, [%out+2];
  min.S32 %c, %a, %b;
  max.S32 %b, %a, %b;
  min.S32 %a, %b, 200;
  max.S32 %c, %c, %a;
  min.S32 %h, %h, %c;
  max.S32 %b, %b, %n;
  mad.lo.u32 %c, %c, 256, %h;
  mad.lo.u32 %c, %b, 7, %c;
  st.global.u32 [%out], %c;
  ret;
}
)";
  for (size_t at = text.find(".S32"); at != std::string::npos; at = text.find(".S32"))
    text.replace(at, 4, sign);
  return text;
}

SharedKernel Compiled(const std::string& sign, const char* target, uint32_t width) {
  return CompileText(Kernel(sign), {.target = *lowering::ResolveTarget(target), .lane_width = width});
}

std::vector<std::byte> Run(JitKernel& kernel, uint32_t n) {
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  call.arguments = {MixedWords(kThreads), *rt::ParseSpec("u32:" + std::to_string(n))};
  RunOrFail(kernel, call);
  return call.arguments[0].data;
}

bool HasMinimaOfBytes(const std::string& omit) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .omit = omit});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(Kernel(".u32"), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  return code->find("i8 @llvm.umin.v") != std::string::npos ||
         code->find("i8> @llvm.umin.v") != std::string::npos;
}

}  // namespace

TEST_CASE("minima and maxima of bytes are those of words", "[extrema]") {
  for (const std::string sign : {".u32", ".s32"}) {
    const SharedKernel scalar = Compiled(sign, "native", 1);
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      for (const uint32_t width : {0u, 16u, 64u}) {
        const SharedKernel kernel = Compiled(sign, target, width);
        for (const uint32_t n : {0u, 90u, 255u, 256u, 70000u, 0x80000000u, 0xffffffffu}) {
          INFO(sign << ", " << target << ", " << width << ": " << n);
          CHECK(Run(*kernel, n) == Run(*scalar, n));
        }
      }
    }
  }
}

TEST_CASE("minima of bytes are computed as bytes", "[extrema]") {
  CHECK(HasMinimaOfBytes(""));
  CHECK_FALSE(HasMinimaOfBytes("narrow-extrema"));
}
