// Conditions on rows and columns in any order and nesting: results are those of threads one by one, and what
// is the same in all lanes is combined as bits.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kSide = 16, kThreads = kSide * kSide;

// Threads for which `tests` (of %x, %y and the parameters %a, %b) leaves %p false add %b to their word, three
// times.
std::string Kernel(const std::string& tests) {
  return kHead + R"(.visible .entry k(.param .u64 pout, .param .u32 pa, .param .u32 pb)
.reqntid 16, 16
{
  .reg .pred %p, %q, %r, %s; .reg .b32 %x, %y, %t, %v, %a, %b, %n; .reg .b64 %out, %d;
  ld.param.u64 %out, [pout];
  ld.param.u32 %a, [pa];
  ld.param.u32 %b, [pb];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %t, %y, 16, %x;
  mul.wide.u32 %d, %t, 4;
  add.s64 %out, %out, %d;
  mov.u32 %n, 0;
LOOP:
  )" + tests +
         R"(
  @%p bra NEXT;
  ld.global.u32 %v, [%out];
  mad.lo.u32 %v, %v, 5, %b;
  st.global.u32 [%out], %v;
NEXT:
  add.u32 %n, %n, 1;
  setp.lt.u32 %q, %n, 3;
  @%q bra LOOP;
  ret;
}
)";
}

const std::string kEdges = R"(setp.lt.u32 %p, %y, %a;
  setp.lt.or.u32 %p, %x, %a, %p;
  setp.gt.or.u32 %p, %y, %b, %p;
  setp.gt.or.u32 %p, %x, %b, %p;)";
const std::string kTests[] = {
    kEdges,
    // With the trip, and of both kinds.
    R"(setp.lt.u32 %q, %y, %a;
  setp.lt.and.u32 %q, %x, %b, %q;
  setp.gt.and.u32 %q, %y, %n, %q;
  setp.gt.or.u32 %p, %x, %b, %q;
  setp.eq.or.u32 %p, %n, %a, %p;)",
    // A part that is also used elsewhere.
    R"(setp.lt.u32 %q, %y, %a;
  setp.lt.or.u32 %q, %x, %a, %q;
  setp.gt.or.u32 %q, %y, %b, %q;
  setp.eq.u32 %r, %x, %n;
  and.pred %s, %q, %r;
  or.pred %p, %q, %r;
  setp.gt.or.u32 %p, %y, 12, %p;
  xor.pred %p, %p, %s;)",
};

std::vector<std::byte> Run(const SharedKernel& kernel, uint32_t a, uint32_t b) {
  harness::KernelCall call{{1, 1, 1}, {kSide, kSide, 1}, 0, {}, {}, {}};
  call.arguments = {MixedWords(kThreads), *rt::ParseSpec("u32:" + std::to_string(a)),
                    *rt::ParseSpec("u32:" + std::to_string(b))};
  RunOrFail(*kernel, call);
  return call.arguments[0].data;
}

// Bits that are made masks.
size_t BitsInMasks(const std::string& omit) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .omit = omit});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(Kernel(kEdges), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  size_t count = 0;
  const std::string made = "insertelement <16 x i1>";
  for (size_t at = code->find(made); at != std::string::npos; at = code->find(made, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("conditions of rows and columns in any order do what threads one by one do", "[regrouped]") {
  for (const std::string& tests : kTests) {
    const SharedKernel plain = CompileText(Kernel(tests), {.lane_width = 1});
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      for (const uint32_t width : {0u, 8u, 16u}) {
        const SharedKernel kernel =
            CompileText(Kernel(tests), {.target = *lowering::ResolveTarget(target), .lane_width = width});
        for (const uint32_t a : {0u, 1u, 2u, 9u, 16u}) {
          for (const uint32_t b : {0u, 3u, 14u, 15u}) {
            INFO(tests << "\n" << target << ", " << width << ": " << a << ", " << b);
            CHECK(Run(kernel, a, b) == Run(plain, a, b));
          }
        }
      }
    }
  }
}

TEST_CASE("conditions that are the same in all lanes are combined as bits", "[regrouped]") {
  CHECK(BitsInMasks("") == 1);
  CHECK(BitsInMasks("regroup-masks") == 2);
}
