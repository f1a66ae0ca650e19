// Masks that are read as 16-bit floats, where these are a type of the processor.
#include <catch2/catch.hpp>

#include "lowering/llvm/output/object.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// %h is what a comparison leaves.
std::string Kernel(const std::string& compare) {
  return std::string(kHead) + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p, %q;
  .reg .b16 %h, %g, %high;
  .reg .b32 %i, %r;
  .reg .f64 %a, %b;
  .reg .b64 %in, %out, %d;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %d, %i, 8;
  add.s64 %in, %in, %d;
  add.s64 %out, %out, %d;
  ld.global.f64 %a, [%in];
  ld.global.f64 %b, [%in+1024];
  ld.global.b16 %g, [%in+2048];
)" + compare +
         R"(
  setp.gt.f16 %q, %h, %g;
  selp.u32 %r, 7, 9, %q;
  st.global.u32 [%out], %r;
  ret;
}
)";
}

}  // namespace

TEST_CASE("masks are read as 16-bit floats on every processor", "[half]") {
  test::Sample sample(7);
  for (const char* compare : {"  setp.eq.f64 %p, %a, %b;\n  selp.b16 %h, 1, 0, %p;",
                              "  set.eq.u32.f64 %r, %a, %b;\n  neg.s32 %r, %r;\n  cvt.u16.u32 %h, %r;",
                              "  setp.eq.f64 %p, %a, %b;\n  vote.sync.ballot.b32 %r, %p, -1;\n"
                              "  mov.b32 {%h, %high}, %r;",
                              "  setp.eq.f64 %p, %a, %b;\n  vote.sync.ballot.b32 %r, %p, -1;\n"
                              "  mov.b32 {%high, %h}, %r;"}) {
    const BuiltKernel module = BuildKernel(Kernel(compare), "k");
    const ir::Module* const kernels[] = {&module.module()};
    for (const char* cpu : {"sapphirerapids", "x86-64-v4"}) {
      for (const unsigned width : {1u, 16u, 32u}) {
        for (const int level : {0, 1, 2}) {
          INFO(compare << "\n" << cpu << ", width " << width << ", -O" << level);
          if (sample.Skips()) continue;
          const auto file = lowering::CompileFile(kernels, lowering::FileKind::kAssembly,
                                                  {.target = {cpu, "x86_64-unknown-linux-gnu", cpu, ""},
                                                   .optimisation = level,
                                                   .lane_width = width});
          if (!file) FAIL(file.error().Render());
          CHECK(file->find("ptx2cpu_block_k:") != std::string::npos);
        }
      }
    }
  }
}
