// Variables of a program keep the names that they have in PTX, whatever the emitter calls its own.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Reads a surface that is not bound, then exchanges words of a variable with this name between threads.
std::string Kernel(const std::string& name) {
  return kHead + ".global .align 8 .b8 " + name + R"([256];
.visible .entry k(.param .u64 pout, .param .u64 psurface)
{
  .reg .b32 %t, %a, %b; .reg .b64 %out, %surface, %at;
  ld.param.u64 %out, [pout];
  ld.param.u64 %surface, [psurface];
  mov.u32 %t, %tid.x;
  shl.b32 %b, %t, 2;
  suld.b.1d.b32.zero %a, [%surface, {%b}];
  mov.u64 %at, )" +
         name + R"(;
  mad.wide.u32 %at, %t, 4, %at;
  add.u32 %b, %t, 100;
  st.global.u32 [%at], %b;
  bar.sync 0;
  xor.b32 %t, %t, 1;
  mov.u64 %at, )" +
         name + R"(;
  mad.wide.u32 %at, %t, 4, %at;
  ld.global.u32 %b, [%at];
  add.u32 %a, %a, %b;
  mad.wide.u32 %out, %t, 4, %out;
  st.global.u32 [%out], %a;
  ret;
}
)";
}

}  // namespace

TEST_CASE("a program may name a variable as the emitter names its own", "[names]") {
  for (const char* name : {"surface_without_texels", "ptx2cpu_zeros", "k_words"}) {
    INFO(name);
    const std::string text = Kernel(name);
    const SharedKernel kernel = CompileText(text, {});
    harness::KernelCall call{{1, 1, 1}, {64, 1, 1}, 0, {}, {}, {}};
    call.arguments = {MixedWords(64), *rt::ParseSpec("u64:0")};
    harness::KernelCall same = call;
    REQUIRE(harness::RunInterpreter(BuildKernel(text, "k"), same));
    RunOrFail(*kernel, call);
    CHECK(call.arguments[0].data == same.arguments[0].data);
  }
}
