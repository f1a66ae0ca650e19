// Columns of a tile that all rows of threads read are gathered once: results are those of threads one by one,
// also where a loop stores what it gathers, or a gather is reached by no thread.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kSide = 16, kThreads = kSide * kSide;

// A tile of 16 rows of 17 words: out[y][x] = sum over k of (in[y][k] + 1) * tile[x][k].
std::string Distances() {
  std::string text = kHead + R"(.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 16, 16
{
  .reg .b32 %x, %y, %t, %at, %row, %s, %a, %b; .reg .b64 %in, %out, %d;
  .shared .align 4 .b8 tile[1088];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %t, %y, 16, %x;
  mul.wide.u32 %d, %t, 4;
  add.s64 %out, %out, %d;
  add.s64 %d, %in, %d;
  ld.global.u32 %a, [%d];
  mad.lo.u32 %t, %y, 17, %x;
  shl.b32 %t, %t, 2;
  mov.u32 %at, tile;
  add.u32 %t, %t, %at;
  st.shared.u32 [%t], %a;
  bar.sync 0;
  mad.lo.u32 %at, %x, 68, %at;
  mul.wide.u32 %d, %y, 64;
  add.s64 %in, %in, %d;
  mov.u32 %s, 0;
)";
  for (uint32_t k = 0; k < kSide; ++k) {
    text += "  ld.global.u32 %a, [%in+" + std::to_string(4 * k) + "];\n  ld.shared.u32 %b, [%at+" +
            std::to_string(4 * k) + "];\n  add.u32 %a, %a, 1;\n  mad.lo.u32 %s, %a, %b, %s;\n";
  }
  return text + "  st.global.u32 [%out], %s;\n  ret;\n}\n";
}

// Three times, where `pn` is not 0: in[37 * t % 256] is added to the thread's sum and then raised. If the
// launch has a 17th block, it reads what is no memory.
const std::string kUpdates = kHead + R"(.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 256, 1
{
  .reg .pred %p; .reg .b32 %t, %at, %s, %v, %n, %block; .reg .b64 %in, %out, %d;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %block, %ctaid.x;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 4;
  add.s64 %out, %out, %d;
  mul.lo.u32 %at, %t, 37;
  and.b32 %at, %at, 255;
  mul.wide.u32 %d, %at, 4;
  add.s64 %in, %in, %d;
  mov.u32 %s, 0;
  setp.eq.u32 %p, %n, 0;
  @%p bra DONE;
  mov.u32 %n, 3;
LOOP:
  setp.lt.u32 %p, %block, 16;
  @%p bra IN;
  ld.global.u32 %v, [%d];
  add.u32 %s, %s, %v;
IN:
  ld.global.u32 %v, [%in];
  add.u32 %s, %s, %v;
  mad.lo.u32 %v, %v, 3, 1;
  st.global.u32 [%in], %v;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra LOOP;
DONE:
  st.global.u32 [%out], %s;
  ret;
}
)";

std::vector<uint32_t> Run(const std::string& text, uint32_t width, const char* target, uint32_t n) {
  const bool is_row = text == kUpdates;
  harness::KernelCall call{{1, 1, 1}, {is_row ? kThreads : kSide, is_row ? 1 : kSide, 1}, 0, {}, {}, {}};
  const SharedKernel kernel =
      CompileText(text, {.target = *lowering::ResolveTarget(target), .lane_width = width});
  call.arguments = {MixedWords(kThreads), MixedWords(kThreads, 1000),
                    *rt::ParseSpec("u32:" + std::to_string(n))};
  RunOrFail(*kernel, call);
  std::vector<uint32_t> words(2 * kThreads);
  for (size_t i = 0; i < 2; ++i)
    std::memcpy(words.data() + i * kThreads, call.arguments[i].data.data(), size_t{4} * kThreads);
  return words;
}

std::string CodeOf(const std::string& omit) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .omit = omit});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(Distances(), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("gathers before the loop over rows read what those in it would", "[hoisted]") {
  for (const std::string& text : {Distances(), kUpdates}) {
    for (const uint32_t n : {0u, 1u}) {
      const std::vector<uint32_t> expected = Run(text, 1, "native", n);
      for (const char* target : {"native", "x86-64-v3"}) {
        for (const uint32_t width : {0u, 8u, 16u}) {
          INFO(text << n << ", " << target << ", " << width);
          CHECK(Run(text, width, target, n) == expected);
        }
      }
    }
  }
}

TEST_CASE("a column that all rows of threads read is gathered once", "[hoisted]") {
  const auto last_gather_is_first = [](const std::string& code) {
    const size_t product = code.find(" mul <16 x i32>");
    REQUIRE(product != std::string::npos);
    REQUIRE(code.find("call <16 x i32> @llvm.masked.gather") != std::string::npos);
    return code.rfind("call <16 x i32> @llvm.masked.gather") < product;
  };
  CHECK(last_gather_is_first(CodeOf("gathers-by-loads")));
  CHECK_FALSE(last_gather_is_first(CodeOf("gathers-by-loads,hoist-gathers")));
}
