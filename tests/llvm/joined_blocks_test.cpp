// Blocks that run as one with their neighbours: which kernels have such code, and that results are those of
// blocks one by one, wherever the grid and the data end.
#include "runtime/abi/joined_blocks.h"

#include <catch2/catch.hpp>
#include <optional>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kWidth = 16, kHeight = 3;
const std::string kRequired = ".reqntid 16, 3\n";
const std::string kPlace = "mad.lo.s32 %x, %cx, %nx, %tx;";

// For a thread at x, y below n: out[y * n + x] = the sum of in at its neighbours and of `value`, in as many
// rounds as the parameter states.
std::string Kernel(const std::string& required, const std::string& place, const std::string& value = "",
                   const std::string& bounds = "setp.ge.s32 %p0, %x, %n;") {
  return kHead +
         ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn, .param .u32 prounds)\n" +
         required + R"({
  .reg .pred %p<8>; .reg .b32 %x, %y, %n, %v, %s, %r, %i, %cx, %nx, %tx, %a<8>; .reg .b64 %in, %out, %at, %b<4>;
  .shared .align 4 .b8 tile[4096];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %r, [prounds];
  mov.u32 %cx, %ctaid.x;
  mov.u32 %nx, %ntid.x;
  mov.u32 %tx, %tid.x;
  )" + place +
         R"(
  mov.u32 %a0, %ctaid.y;
  mov.u32 %a1, %ntid.y;
  mov.u32 %a2, %tid.y;
  mad.lo.s32 %y, %a0, %a1, %a2;
  )" + bounds +
         R"(
  @%p0 bra DONE;
  mad.lo.s32 %i, %y, %n, %x;
  mul.wide.s32 %at, %i, 4;
  add.s64 %out, %out, %at;
  setp.gt.s32 %p1, %x, 0;
  selp.s32 %a3, -1, 0, %p1;
  add.s32 %a3, %i, %a3;
  mov.u32 %s, 0;
LOOP:
  mul.wide.s32 %at, %i, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  mad.lo.u32 %s, %v, 3, %s;
  mul.wide.s32 %at, %a3, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  mad.lo.u32 %s, %s, 5, %v;
  add.s32 %i, %i, %n;
  add.s32 %a3, %a3, %n;
  sub.u32 %r, %r, 1;
  setp.ne.u32 %p2, %r, 0;
  @%p2 bra LOOP;
  mov.u32 %a4, 0;
  )" + value +
         R"(
  add.u32 %s, %s, %a4;
  st.global.u32 [%out], %s;
DONE:
  ret;
}
)";
}

bool Joins(const SharedKernel& kernel) {
  return (kernel->kernel().kernel->flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0;
}

bool JoinsLongRows(const SharedKernel& kernel) {
  return (kernel->kernel().kernel->flags & PTX2CPU_KERNEL_JOINS_LONG_ROWS) != 0;
}

struct Launch {
  Dim3 grid;
  uint32_t n, rounds;
};

std::vector<uint32_t> Run(const SharedKernel& kernel, const Launch& launch, unsigned workers = 1) {
  harness::KernelCall call{{launch.grid.x, launch.grid.y, 1}, {kWidth, kHeight, 1}, 0, {}, {}, {}};
  const size_t rows = size_t{launch.grid.y} * kHeight;
  for (size_t words : {(rows + launch.rounds) * launch.n, rows * launch.n}) {
    call.arguments.push_back(MixedWords(words));
  }
  for (uint32_t number : {launch.n, launch.rounds})
    call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(number)));
  RunOrFail(*kernel, call, workers);
  std::vector<uint32_t> out(call.arguments[1].data.size() / 4);
  std::memcpy(out.data(), call.arguments[1].data.data(), 4 * out.size());
  return out;
}

}  // namespace

TEST_CASE("kernels that know only their place in the grid join blocks", "[joined]") {
  CHECK(Joins(CompileText(Kernel(kRequired, kPlace))));
  // Sums in any order, products with what the width is, nothing of the block after all.
  const char* places[] = {
      "shl.b32 %x, %cx, 4;\n  add.s32 %x, %tx, %x;",
      "mul.lo.s32 %a5, %cx, -16;\n  sub.s32 %x, %tx, %a5;",
      "mul.lo.s32 %a5, %cx, %nx;\n  add.s32 %a5, %a5, 7;\n  add.s32 %x, %a5, %tx;\n  sub.s32 %x, %x, 7;",
  };
  for (const char* place : places) {
    INFO(place);
    CHECK(Joins(CompileText(Kernel(kRequired, place))));
  }
  CHECK(
      Joins(CompileText(Kernel(kRequired, kPlace, "mov.u32 %a4, %nctaid.x;\n  mul.lo.u32 %a4, %a4, %nx;"))));
  CHECK_FALSE(Joins(CompileText(Kernel("", kPlace))));  // of any shape
}

TEST_CASE("kernels that know their block, or wait for others, do not", "[joined][long]") {
  const char* places[] = {
      "mad.lo.s32 %x, %cx, 15, %tx;",
      "mul.lo.s32 %x, %cx, %nx;\n  sub.s32 %x, %x, %tx;",
      "mul.lo.s32 %x, %cx, %nx;\n  or.b32 %x, %x, %tx;",
      "mov.u32 %x, %tx;",
      "mul.lo.s32 %x, %cx, %nx;",
  };
  for (const char* place : places) {
    INFO(place);
    CHECK_FALSE(Joins(CompileText(Kernel(kRequired, place))));
  }
  const char* values[] = {
      "mov.u32 %a4, %cx;",
      "and.b32 %a4, %tx, 3;",
      "mov.u32 %a4, %smid;",
      "mov.u32 %a4, %laneid;",
      "atom.global.add.u32 %a4, [%out], 1;",
      "ld.volatile.global.u32 %a4, [%out];",
      "ld.acquire.gpu.global.u32 %a4, [%out];",
      "shl.b32 %a5, %a2, 2;\n  mov.u32 %a6, tile;\n  add.u32 %a5, %a5, %a6;\n  st.shared.u32 [%a5], %x;\n"
      "  ld.shared.u32 %a4, [%a5];\n  st.shared.u32 [%a5], %n;",
      "cvt.u64.u32 %b1, %tx;\n  mul.lo.s32 %a5, %cx, 16;\n  cvt.u64.u32 %b2, %a5;\n  add.u64 %b1, %b1, %b2;\n"
      "  cvt.u32.u64 %a4, %b1;",
  };
  for (const char* value : values) {
    INFO(value);
    CHECK_FALSE(Joins(CompileText(Kernel(kRequired, kPlace, value))));
  }
}

TEST_CASE("joined blocks compute what blocks one by one do", "[joined]") {
  const std::string value = "mul.lo.s32 %a4, %x, 7;";
  const SharedKernel plain = CompileText(Kernel("", kPlace, value), {.lane_width = 1});
  test::Sample sample(4);
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    for (const unsigned width : {0u, 1u, 8u}) {
      if (sample.Skips()) continue;
      const lowering::JitOptions options{.target = *lowering::ResolveTarget(target), .lane_width = width};
      const SharedKernel joined = CompileText(Kernel(kRequired, kPlace, value), options);
      REQUIRE(Joins(joined));
      for (const Launch& launch : {Launch{{1, 1, 1}, 16, 1},
                                   {{2, 2, 1}, 30, 3},
                                   {{21, 2, 1}, 335, 2},
                                   {{43, 1, 1}, 688, 5},
                                   {{64, 3, 1}, 1000, 4},
                                   {{601, 1, 1}, 9600, 2},
                                   {{170, 2, 1}, 2720, 1}}) {
        INFO(target << ", width " << width << ", " << launch.grid.x << " blocks, n " << launch.n);
        CHECK(Run(joined, launch) == Run(plain, launch));
        CHECK(Run(joined, launch, 2) == Run(plain, launch));
      }
    }
  }
}

TEST_CASE("steps within the bounds of the data do what steps at its edges do", "[joined]") {
  const std::string all_sides = R"(setp.lt.s32 %p3, %y, 1;
  sub.s32 %a5, %n, 1;
  setp.ge.s32 %p4, %y, %a5;
  or.pred %p3, %p3, %p4;
  setp.lt.s32 %p4, %x, 1;
  or.pred %p3, %p3, %p4;
  setp.ge.s32 %p4, %x, %a5;
  or.pred %p0, %p3, %p4;)";
  const std::string above = R"(setp.gt.s32 %p3, %x, 40;
  setp.lt.and.s32 %p3, %x, %n, %p3;
  setp.lt.and.u32 %p3, %y, 900, %p3;
  not.pred %p0, %p3;)";
  const std::string wraps = "add.s32 %a5, %x, 0x7ffffff0;\n  setp.lt.s32 %p0, %a5, %n;";
  test::Sample sample(5);
  for (const std::string& bounds : {all_sides, above, wraps}) {
    const SharedKernel plain = CompileText(Kernel("", kPlace, "", bounds), {.lane_width = 1});
    for (const char* target : {"native", "x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
      for (const unsigned width : {0u, 8u, 64u}) {
        if (sample.Skips()) continue;
        const lowering::JitOptions options{.target = *lowering::ResolveTarget(target), .lane_width = width};
        const SharedKernel joined = CompileText(Kernel(kRequired, kPlace, "", bounds), options);
        for (const Launch& launch :
             {Launch{{1, 1, 1}, 16, 1}, {{2, 2, 1}, 31, 1}, {{21, 5, 1}, 300, 2}, {{64, 3, 1}, 1000, 1}}) {
          INFO(bounds << " " << target << ", width " << width << ", " << launch.grid.x << " blocks");
          CHECK(Run(joined, launch) == Run(plain, launch));
        }
      }
    }
  }
}

TEST_CASE("steps within the bounds of the data are without masks", "[joined]") {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .lane_width = 16});
  REQUIRE(jit);
  const auto code =
      (*jit)->Explain(BuildKernel(Kernel(kRequired, kPlace), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  CHECK(code->find("store <16 x i32>") != std::string::npos);
  CHECK(code->find("masked.store.v16i32") != std::string::npos);  // at the edges
}

// out[y * n + x] = 3 * in[y * n + x] + x + rounds
const std::string kWalk = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn, .param .u32 prounds)
.reqntid 16, 3
{
  .reg .pred %p; .reg .b32 %x, %y, %n, %v, %r, %i, %a<6>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %r, [prounds];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.s32 %x, %a0, %a1, %a2;
  mov.u32 %a3, %ctaid.y;
  mov.u32 %a4, %ntid.y;
  mov.u32 %a5, %tid.y;
  mad.lo.s32 %y, %a3, %a4, %a5;
  setp.ge.s32 %p, %x, %n;
  @%p bra DONE;
  mad.lo.s32 %i, %y, %n, %x;
  mul.wide.s32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in];
  mad.lo.u32 %v, %v, 3, %x;
  add.u32 %v, %v, %r;
  st.global.u32 [%out], %v;
DONE:
  ret;
}
)";

TEST_CASE("rows are long where threads walk memory side by side", "[joined]") {
  // A thread's place in memory is a row of its own.
  CHECK_FALSE(JoinsLongRows(CompileText(Kernel(kRequired, kPlace,
                                               "mad.lo.s32 %a5, %x, %n, %y;\n  mul.wide.s32 %b1, %a5, 4;\n"
                                               "  add.s64 %b1, %in, %b1;\n  ld.global.u32 %a4, [%b1];"))));
  const SharedKernel plain = CompileText(kWalk, {.lane_width = 1});
  for (const char* target : {"native", "x86-64-v3"}) {
    const SharedKernel joined = CompileText(kWalk, {.target = *lowering::ResolveTarget(target)});
    REQUIRE(JoinsLongRows(joined));
    for (const Launch& launch :
         {Launch{{601, 1, 1}, 9603, 7}, {{1200, 2, 1}, 19195, 1}, {{170, 5, 1}, 2720, 2}}) {
      INFO(target << ", " << launch.grid.x << " blocks, n " << launch.n);
      std::vector<uint32_t> expected(size_t{launch.grid.y} * kHeight * launch.n);
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto word = static_cast<uint32_t>((i + 1) * 2654435761u),
                   x = static_cast<uint32_t>(i % launch.n);
        expected[i] = x < launch.grid.x * kWidth ? 3 * word + x + launch.rounds : word;
      }
      CHECK(Run(joined, launch) == expected);
      CHECK(Run(joined, launch, 2) == expected);
      CHECK(Run(plain, launch) == expected);
    }
  }
}

TEST_CASE("a fault in joined blocks names the thread's own block", "[joined]") {
  const std::string fault = "setp.eq.s32 %p3, %x, 90;\n  setp.eq.and.s32 %p3, %a2, 2, %p3;\n  @%p3 trap;";
  const SharedKernel joined = CompileText(Kernel(kRequired, kPlace, fault));
  REQUIRE(Joins(joined));
  harness::KernelCall call{{8, 1, 1}, {kWidth, kHeight, 1}, 0, {}, {}, {}};
  for (int n = 0; n < 2; ++n) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * 128 * 8);
    call.arguments.push_back(std::move(*parsed));
  }
  call.arguments.push_back(*rt::ParseSpec("u32:128"));
  call.arguments.push_back(*rt::ParseSpec("u32:1"));
  const Status status = joined->Run(call);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Matchers::Contains("block (5,0,0), thread (10,2,0)"));
}
