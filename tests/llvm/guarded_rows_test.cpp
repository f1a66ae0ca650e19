// Rows of which only the threads below a bound do anything: results are those of threads one by one, for
// bounds of every kind, also where the places that are compared wrap around.
#include <catch2/catch.hpp>
#include <tuple>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kWidth = 96, kHeight = 3, kThreads = kWidth * kHeight;

// What threads do one by one rather than as vectors.
const std::string kExchange = "  add.u32 %t, %t, 5;\n  atom.global.exch.b32 %t, [%out], %t;\n";
const std::string kOneByOne = kExchange + kExchange + kExchange + "  st.global.u32 [%out], %t;\n";

// After a barrier, the threads for which `guard` (%i: the place, %n: a parameter) sets %p add to their word
// what a neighbour has put into shared memory, and do `more`. The place is tid.x and, for each row, another
// parameter.

std::string Kernel(const std::string& required, const std::string& guard, const std::string& more = "") {
  return kHead + R"(
.visible .entry k(.param .u64 pout, .param .u32 pn, .param .u32 pstep)
)" + required +
         R"(
{
  .reg .pred %p, %q; .reg .b32 %t, %x, %y, %i, %n, %step, %v, %at; .reg .b64 %out, %far;
  .shared .align 16 .b8 words[1152];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %step, [pstep];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %t, %ntid.x;
  mad.lo.u32 %t, %y, %t, %x;
  shl.b32 %at, %t, 2;
  mov.u32 %v, words;
  add.u32 %at, %at, %v;
  mad.lo.u32 %v, %t, 7, 3;
  st.shared.u32 [%at], %v;
  bar.sync 0;
  mad.lo.u32 %i, %y, %step, %x;
  )" + guard +
         R"(
  @!%p bra DONE;
  mul.wide.u32 %far, %t, 4;
  add.s64 %out, %out, %far;
  ld.global.u32 %t, [%out];
  xor.b32 %at, %at, 4;
  ld.shared.u32 %v, [%at];
  add.u32 %t, %t, %v;
  st.global.u32 [%out], %t;
)" + more +
         R"(
DONE:
  ret;
}
)";
}

// A tree whose first level is known at run time only: later ones are values of the block.
const std::string kTree = kHead + R"(
.visible .entry k(.param .u64 pout, .param .u32 pn, .param .u32 pstep)
.reqntid 96, 3, 1
{
  .reg .pred %p; .reg .b32 %t, %n, %step, %v, %at, %far, %w; .reg .b64 %out, %d;
  .shared .align 16 .b8 words[3072];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %step, [pstep];
  min.u32 %n, %n, 96;
  mov.u32 %t, %tid.x;
  mov.u32 %v, %tid.y;
  mad.lo.u32 %at, %v, 256, %t;
  shl.b32 %at, %at, 2;
  mad.lo.u32 %v, %v, 96, %t;
  mul.wide.u32 %d, %v, 4;
  add.s64 %out, %out, %d;
  ld.global.u32 %v, [%out];
  mov.u32 %w, words;
  add.u32 %at, %at, %w;
  st.shared.u32 [%at], %v;
  st.shared.u32 [%at+384], %step;
  bar.sync 0;
  setp.eq.u32 %p, %n, 0;
  @%p bra DONE;
LEVEL:
  setp.ge.u32 %p, %t, %n;
  @%p bra NEXT;
  shl.b32 %far, %n, 2;
  add.u32 %far, %at, %far;
  ld.shared.u32 %v, [%at];
  ld.shared.u32 %w, [%far];
  mad.lo.u32 %v, %w, 3, %v;
  st.shared.u32 [%at], %v;
NEXT:
  bar.sync 0;
  shr.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra LEVEL;
DONE:
  ld.shared.u32 %v, [%at];
  st.global.u32 [%out], %v;
  ret;
}
)";

std::vector<std::byte> Run(const SharedKernel& kernel, uint32_t n, uint32_t step) {
  harness::KernelCall call{{1, 1, 1}, {kWidth, kHeight, 1}, 0, {}, {}, {}};
  call.arguments.push_back(MixedWords(kThreads));
  for (uint32_t value : {n, step}) call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(value)));
  RunOrFail(*kernel, call);
  return call.arguments[0].data;
}

const std::string kShape = ".reqntid 96, 3, 1";

std::string CodeOfText(const std::string& text) {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3")});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  return *code;
}
std::string CodeOf(const std::string& guard, const std::string& more = "") {
  return CodeOfText(Kernel(kShape, guard, more));
}

}  // namespace

TEST_CASE("rows up to a bound do what their threads do", "[guarded][long]") {
  const char* guards[] = {
      "setp.lt.u32 %p, %i, %n;",
      "setp.le.s32 %p, %i, %n;",
      "setp.gt.s32 %p, %n, %i;",
      "setp.ge.u32 %p, %n, %i;",
      "setp.eq.s32 %p, %i, %n;",
      "setp.gt.u32 %p, %i, %n;\n  not.pred %p, %p;",
      "setp.ge.u32 %p, %i, %n;",  // no bound from above: all steps
      "setp.lt.u32 %q, %i, %n;\n  setp.lt.and.s32 %p, %x, 20, %q;",
      "setp.lt.u32 %q, %i, %n;\n  setp.lt.or.s32 %p, %x, 20, %q;",
      // Sequences, and limits, of each vector but not of the row.
      "and.b32 %i, %x, 31;\n  setp.lt.u32 %p, %i, %n;",
      "and.b32 %i, %x, 15;\n  setp.le.u32 %p, %i, %n;",
      "and.b32 %v, %x, -32;\n  add.u32 %v, %v, %n;\n  setp.lt.u32 %p, %x, %v;",
  };
  const std::tuple<const char*, std::string, std::string> forms[] = {
      {"native", "", ""},       {"native", kShape, ""},    {"native", kShape, kOneByOne},
      {"x86-64-v3", "", ""},    {"x86-64-v3", kShape, ""}, {"x86-64-v3", "", kOneByOne},
      {"x86-64-v2", kShape, ""}};
  for (const char* guard : guards) {
    for (const std::string& more : {std::string(), kOneByOne}) {
      const SharedKernel plain = CompileText(Kernel(kShape, guard, more), {.lane_width = 1});
      for (const auto& [target, required, body] : forms) {
        if (body != more) continue;
        const lowering::JitOptions options{.target = *lowering::ResolveTarget(target)};
        const SharedKernel kernel = CompileText(Kernel(required, guard, more), options);
        for (uint32_t n : {0u, 1u, 8u, 31u, 33u, 95u, 96u, 1000u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
          for (uint32_t step : {0u, 1u, 0x7fffffd0u, 0xffffffd0u, 0xfffffff0u}) {
            INFO(guard << ", " << target << ", " << required << ", n " << n << ", rows apart by " << step);
            CHECK(Run(kernel, n, step) == Run(plain, n, step));
          }
        }
      }
    }
  }
}

TEST_CASE("levels of a tree that the block counts do what their threads do", "[guarded]") {
  const SharedKernel plain = CompileText(kTree, {.lane_width = 1});
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    const SharedKernel kernel = CompileText(kTree, {.target = *lowering::ResolveTarget(target)});
    for (const uint32_t n : {0u, 1u, 5u, 16u, 48u, 64u, 95u, 128u}) {
      INFO(target << ", from " << n);
      CHECK(Run(kernel, n, 7) == Run(plain, n, 7));
    }
  }
}

TEST_CASE("steps of a row that a guard leaves empty are not walked", "[guarded]") {
  CHECK(CodeOfText(kTree).find("guarded_threads") != std::string::npos);
  const std::string walked = "guarded_threads";
  CHECK(CodeOf("setp.lt.u32 %p, %i, %n;").find(walked) != std::string::npos);
  CHECK(CodeOf("setp.lt.u32 %q, %i, %n;\n  setp.lt.and.s32 %p, %v, 20, %q;").find(walked) !=
        std::string::npos);
  CHECK(CodeOf("setp.ge.u32 %p, %i, %n;").find(walked) == std::string::npos);
  CHECK(CodeOf("setp.eq.u32 %p, %i, %n;", kOneByOne).find("\nguarded:") != std::string::npos);
  // The end of the data, which lies in one block.
  CHECK(
      CodeOf("mov.u32 %t, %ctaid.x;\n  mad.lo.u32 %t, %t, 96, %x;\n  setp.lt.u32 %p, %t, %n;").find(walked) ==
      std::string::npos);
}
