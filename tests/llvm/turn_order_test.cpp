// What a thread stores and accesses again has its order, also where LLVM makes vectors of a loop over
// threads.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 256;

// Each thread has four words at %p; %q is one of them, which the launch chooses.
std::string KernelOf(const std::string& code) {
  return kHead + R"(.visible .entry k(.param .u64 pin, .param .u32 pn)
{
  .reg .b32 %t, %n, %a, %b, %c; .reg .b64 %in, %p, %q;
  ld.param.u64 %in, [pin];
  ld.param.u32 %n, [pn];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %p, %t, 16, %in;
  mad.wide.u32 %q, %n, 4, %p;
)" + code +
         "  ret;\n}\n";
}

const std::string kStoresPassLoad = KernelOf(R"(
  mul.lo.u32 %a, %t, 0x9E3779B1;
  st.global.v4.u32 [%p], {%t, %a, %n, 7};
  ld.global.u32 %b, [%q];
  xor.b32 %b, %b, %a;
  st.global.u32 [%p+4], %b;
)");
const std::string kStoresPassStore = KernelOf(R"(
  st.global.u32 [%p], %t;
  st.global.u32 [%q], 99;
  st.global.u32 [%p+4], %n;
  st.global.u32 [%p+8], %t;
  st.global.u32 [%p+12], %t;
)");
const std::string kLoadsPassStore = KernelOf(R"(
  ld.global.u32 %a, [%p];
  st.global.u32 [%q], %t;
  ld.global.u32 %b, [%p+4];
  ld.global.u32 %c, [%p+8];
  mad.lo.u32 %a, %a, 31, %b;
  mad.lo.u32 %a, %a, 31, %c;
  st.global.u32 [%p+12], %a;
)");

// Numbers that could wrap: LLVM tests in front of the loop that they do not, and joins the stores then.
const std::string kStoresThatMayWrap = KernelOf(R"(
  and.b32 %n, %n, 1;
  mul.lo.u32 %a, %t, 3;
  add.u32 %b, %a, 1;
  add.u32 %c, %a, 2;
  and.b32 %a, %a, 1023;
  and.b32 %b, %b, 1023;
  and.b32 %c, %c, 1023;
  mad.wide.u32 %q, %t, 12, %in;
  mad.wide.u32 %q, %n, 4, %q;
  mad.wide.u32 %p, %a, 4, %in;
  st.global.u32 [%p], %t;
  ld.global.u32 %a, [%q];
  xor.b32 %a, %a, 5;
  mad.wide.u32 %p, %b, 4, %in;
  st.global.u32 [%p], %a;
  mad.wide.u32 %p, %c, 4, %in;
  st.global.u32 [%p], %t;
)");

std::vector<uint32_t> Words(const harness::KernelCall& call) {
  std::vector<uint32_t> words(4 * kThreads);
  std::memcpy(words.data(), call.arguments[0].data.data(), 4 * words.size());
  return words;
}

}  // namespace

TEST_CASE("what a thread stores and accesses again has its order", "[turn_order]") {
  for (const std::string& text : {kStoresPassLoad, kStoresPassStore, kLoadsPassStore, kStoresThatMayWrap}) {
    const BuiltKernel module = BuildKernel(text, "k");
    for (const char* target : {"native", "x86-64-v3"}) {
      for (const uint32_t width : {1u, 0u}) {
        const SharedKernel kernel =
            CompileText(text, {.target = *lowering::ResolveTarget(target), .lane_width = width});
        for (const char* n : {"u32:0", "u32:1", "u32:2", "u32:3"}) {
          INFO(text << target << ", " << width << ", " << n);
          harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
          call.arguments = {MixedWords(4 * kThreads), *rt::ParseSpec(n)};
          harness::KernelCall same = call;
          REQUIRE(harness::RunInterpreter(module, same));
          RunOrFail(*kernel, call);
          CHECK(Words(call) == Words(same));
        }
      }
    }
  }
}
