// Strong accesses of several elements are one access of the machine where it has one: what another block
// reads are the elements of one store. PTX leaves that open; a GPU does it, and a scan's look-back relies on
// it.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Blocks of even numbers store n times n, the others count the loads whose elements differ.
std::string Kernel(const std::string& bits, const std::string& order) {
  return kHead + R"(
.visible .entry k(.param .u64 pwords, .param .u64 pcounts)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %torn, %at; .reg .b)" +
         bits + R"( %v<4>; .reg .b64 %words, %counts, %d;
  ld.param.u64 %words, [pwords];
  ld.param.u64 %counts, [pcounts];
  mov.u32 %i, %ctaid.x;
  mul.wide.u32 %d, %i, 4;
  add.s64 %counts, %counts, %d;
  mov.u32 %n, 300000;
  mov.u32 %torn, 0;
  and.b32 %at, %i, 1;
  setp.ne.u32 %p0, %at, 0;
TURN:
  @%p0 bra READ;
  cvt.u)" +
         bits +
         R"(.u32 %v0, %n;
  st.)" + order +
         ".v2.u" + bits + R"( [%words], {%v0, %v0};
  bra NEXT;
READ:
  ld.)" + order +
         ".v2.u" + bits + R"( {%v1, %v2}, [%words];
  setp.ne.u)" +
         bits +
         R"( %p1, %v1, %v2;
  @%p1 add.u32 %torn, %torn, 1;
NEXT:
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p2, %n, 0;
  @%p2 bra TURN;
  st.global.u32 [%counts], %torn;
  ret;
}
)";
}

}  // namespace

TEST_CASE("strong accesses of two elements are not torn", "[torn]") {
  for (const char* bits : {"32", "64"}) {
    for (const char* order : {"relaxed.gpu.global", "volatile.global"}) {
      for (const int optimisation : {0, 3}) {
        CAPTURE(bits, order, optimisation);
        auto kernel =
            JitKernel::Create(BuildKernel(Kernel(bits, order), "k"), {.optimisation = optimisation});
        if (!kernel) FAIL(kernel.error().Render());
        harness::KernelCall call{{4, 1, 1}, {1, 1, 1}, 0, {}, {}, {}};
        for (const size_t bytes : {size_t{64}, size_t{16}}) {
          auto parsed = rt::ParseSpec("inout:u32:[0]");
          REQUIRE(parsed);
          parsed->data.resize(bytes);
          call.arguments.push_back(std::move(*parsed));
        }
        RunOrFail(**kernel, call, 4);
        uint32_t torn[4];
        std::memcpy(torn, call.arguments[1].data.data(), sizeof torn);
        for (const uint32_t count : torn) CHECK(count == 0);
      }
    }
  }
}
