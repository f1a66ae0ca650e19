// Loops over vectors of many threads: results are those of threads one by one, wherever the data ends.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kElements = 1100;

// A thread's sum (of products of elements and their numbers) with a stride of the grid; with `warp`, also
// that of its neighbour.
std::string Kernel(const std::string& required, const std::string& compare, bool warp) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
)" + required +
         R"(
{
  .reg .pred %p<8>; .reg .b32 %i, %n, %step, %sum, %a<8>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mov.u32 %step, %nctaid.x;
  mul.lo.u32 %step, %step, %a1;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  mov.u32 %sum, 0;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra DONE;
LOOP:
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %a3, [%at];
  mad.lo.u32 %sum, %a3, 3, %sum;
  add.u32 %i, %i, %step;
  )" + compare +
         R"(
DONE:
)" + (warp ? "  shfl.sync.bfly.b32 %a4, %sum, 1, 31, 0xffffffff;\n  mad.lo.u32 %sum, %sum, 5, %a4;\n" : "") +
         R"(
  st.global.u32 [%out], %sum;
  ret;
}
)";
}

std::vector<uint32_t> Run(const SharedKernel& kernel, uint32_t block, uint32_t elements) {
  harness::KernelCall call{{2, 1, 1}, {block, 1, 1}, 0, {}, {}, {}};
  std::vector<uint32_t> words(kElements);
  for (uint32_t i = 0; i < kElements; ++i) words[i] = (i + 1) * 2654435761u;
  for (size_t size : {size_t{elements}, size_t{2} * block}) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * std::max<size_t>(size, 1));
    std::memcpy(parsed->data.data(), words.data(), 4 * size);
    call.arguments.push_back(std::move(*parsed));
  }
  call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(elements)));
  RunOrFail(*kernel, call);
  std::vector<uint32_t> sums(size_t{2} * block);
  std::memcpy(sums.data(), call.arguments[1].data.data(), 4 * sums.size());
  return sums;
}

}  // namespace

TEST_CASE("wide loops take the trips of each thread", "[wide][long]") {
  const std::string up = "setp.lt.u32 %p1, %i, %n;\n  @%p1 bra LOOP;";
  const std::string down = "setp.gt.u32 %p1, %n, %i;\n  @!%p1 bra DONE;\n  bra LOOP;";
  for (const auto& [compare, warp] : {std::pair(up, false), {up, true}, {down, true}}) {
    const SharedKernel plain = CompileText(Kernel("", compare, warp), {.lane_width = 1});
    std::vector<std::pair<uint32_t, SharedKernel>> wide;
    for (const char* target : {"native", "x86-64-v3"}) {
      const lowering::JitOptions options{.target = *lowering::ResolveTarget(target)};
      const SharedKernel any = CompileText(Kernel("", compare, warp), options);
      for (uint32_t block : {96u, 256u, 300u}) wide.push_back({block, any});
      for (uint32_t block : {128u, 256u})
        wide.push_back(
            {block, CompileText(Kernel(".reqntid " + std::to_string(block), compare, warp), options)});
    }
    for (const auto& [block, kernel] : wide) {
      for (uint32_t elements : {0u, 1u, 255u, 256u, 512u, 513u, 1024u, 1100u}) {
        INFO(compare << ", " << warp << ", blocks of " << block << ", " << elements << " elements");
        CHECK(Run(kernel, block, elements) == Run(plain, block, elements));
      }
    }
  }
}

TEST_CASE("trips that all lanes take are found by their places, not by vectors of bits", "[wide]") {
  const std::string text = Kernel(".reqntid 256", "setp.lt.u32 %p1, %i, %n;\n  @%p1 bra LOOP;", false);
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3"), .lane_width = 8});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  // Where the loop of such trips ends: its block is the one that leads there.
  const size_t ended = code->find("\ntrips_ended");
  REQUIRE(ended != std::string::npos);
  const size_t name = code->find("preds = %", ended) + 9;
  const size_t begin = code->find("\n" + code->substr(name, code->find('\n', name) - name) + ":");
  REQUIRE(begin != std::string::npos);
  const std::string trip = code->substr(begin, code->find("\n\n", begin) - begin);
  CHECK(trip.find("bitcast <8 x i1>") == std::string::npos);
}

TEST_CASE("where all lanes update shared memory, the next lane is counted, not searched", "[wide]") {
  std::string text = Kernel("", "setp.lt.u32 %p1, %i, %n;\n  @%p1 bra LOOP;", false);
  text.insert(text.find("{\n") + 2, "  .shared .align 4 .b8 counts[1024];\n  .reg .b32 %c;\n");
  text.insert(text.find("  mad.lo.u32 %sum"),
              "  and.b32 %c, %a3, 1020;\n  mov.u32 %a4, counts;\n  add.u32 %c, %c, %a4;\n"
              "  atom.shared.add.u32 %a4, [%c], 1;\n");
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  CHECK(code->find("all_lanes") != std::string::npos);
}

TEST_CASE("a loop with an exponential among warp operations is wider than a warp", "[wide]") {
  std::string text = Kernel(".reqntid 256", "setp.lt.u32 %p1, %i, %n;\n  @%p1 bra LOOP;", true);
  text.insert(text.find("{\n") + 2, "  .reg .f32 %e;\n");
  text.insert(text.find("  mad.lo.u32 %sum"),
              "  cvt.rn.f32.u32 %e, %a3;\n  ex2.approx.ftz.f32 %e, %e;\n  mov.b32 %a3, %e;\n");
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  CHECK(code->find("add <64 x i32>") != std::string::npos);
  CHECK(code->find("load <16 x i32>") != std::string::npos);  // in the order of memory
}

// The stride of the grid, or that of the block.
TEST_CASE("a loop that advances by rows of the block or grid is wider than the registers", "[wide]") {
  const std::string bound = "setp.lt.u32 %p1, %i, %n;\n  @%p1 bra LOOP;",
                    of_grid = "mul.lo.u32 %step, %step, %a1;";
  const std::string by_grid = Kernel(".reqntid 256", bound, true);
  std::string by_rows = by_grid;
  by_rows.replace(by_rows.find(of_grid), of_grid.size(), "mov.u32 %step, %a1;");
  const lowering::JitOptions options{.target = *lowering::ResolveTarget("x86-64-v3")};
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(), .target = options.target});
  REQUIRE(jit);
  for (const auto& [text, width] : {std::pair(by_grid, 64), {by_rows, 128}}) {
    const auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
    REQUIRE(code);
    CHECK(code->find("add <" + std::to_string(width) + " x i32>") != std::string::npos);
    CHECK(code->find("load <8 x i32>") != std::string::npos);  // in the order of memory
    const SharedKernel plain = CompileText(text, {.lane_width = 1}), wide = CompileText(text, options);
    for (uint32_t elements : {0u, 1u, 255u, 256u, 257u, 513u, 1100u}) {
      INFO(width << " threads, " << elements << " elements");
      CHECK(Run(wide, 256, elements) == Run(plain, 256, elements));
    }
  }
}

// A thread's sums with a stride of the grid, stored in every trip; after odd elements another one is added.
// They are more than a loop outside the one over threads would carry.
TEST_CASE("lanes that part within a trip do not keep masks for the loop", "[wide]") {
  const std::string text = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<8>; .reg .b32 %i, %n, %step, %sum, %all, %last, %a<8>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mov.u32 %step, %nctaid.x;
  mul.lo.u32 %step, %step, %a1;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  mov.u32 %sum, 0;
  mov.u32 %all, 0;
  mov.u32 %last, 5;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra DONE;
LOOP:
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %a3, [%at];
  mad.lo.u32 %sum, %sum, 3, %a3;
  xor.b32 %all, %all, %last;
  add.u32 %all, %all, %sum;
  mov.u32 %last, %a3;
  and.b32 %a4, %a3, 1;
  setp.eq.u32 %p1, %a4, 0;
  @%p1 bra NEXT;
  shr.u32 %a5, %i, 1;
  mul.wide.u32 %at, %a5, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %a6, [%at];
  mad.lo.u32 %sum, %a6, 7, %sum;
NEXT:
  add.u32 %a6, %sum, %all;
  st.global.u32 [%out], %a6;
  add.u32 %i, %i, %step;
  setp.lt.u32 %p2, %i, %n;
  @%p2 bra LOOP;
DONE:
  ret;
}
)";
  const SharedKernel plain = CompileText(text, {.lane_width = 1});
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    const SharedKernel vectors = CompileText(text, {.target = *lowering::ResolveTarget(target)});
    for (uint32_t block : {32u, 96u, 100u}) {
      for (uint32_t elements : {0u, 1u, 63u, 64u, 200u, 1024u, 1100u}) {
        INFO(target << ", blocks of " << block << ", " << elements << " elements");
        CHECK(Run(vectors, block, elements) == Run(plain, block, elements));
      }
    }
  }
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3"), .lane_width = 8});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  CHECK(code->find("\nwhole_trips") != std::string::npos);
}

TEST_CASE(
    "lanes that count their own trips take those without masks that all of them take, beside loads of pairs",
    "[wide][trips]") {
  // for (count = (n - 1 - i) / 64 & 3; count != 0; --count) sum += pairs[i].x * 3 + pairs[i].y, i += 64
  const std::string text = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<8>; .reg .b32 %i, %n, %count, %sum, %a<8>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  sub.u32 %count, %n, %a2;
  shr.u32 %count, %count, 6;
  and.b32 %count, %count, 3;
  mov.u32 %sum, 0;
  mul.wide.u32 %at, %a2, 8;
  add.s64 %at, %in, %at;
  setp.eq.u32 %p0, %count, 0;
  @%p0 bra DONE;
LOOP:
  ld.global.v2.u32 {%a3, %a4}, [%at];
  mad.lo.u32 %sum, %a3, 3, %sum;
  add.u32 %sum, %sum, %a4;
  add.s64 %at, %at, 512;
  add.u32 %count, %count, -1;
  setp.ne.u32 %p1, %count, 0;
  @%p1 bra LOOP;
DONE:
  st.global.u32 [%out], %sum;
  ret;
}
)";
  const SharedKernel plain = CompileText(text, {.lane_width = 1});
  for (const char* target : {"native", "x86-64-v4", "x86-64-v3"}) {
    INFO(target);
    const SharedKernel vectors = CompileText(text, {.target = *lowering::ResolveTarget(target)});
    for (uint32_t n : {576u, 600u, 640u, 671u, 672u, 703u, 704u, 767u, 768u, 800u, 1100u}) {
      INFO(n);
      CHECK(Run(vectors, 96, n) == Run(plain, 96, n));
    }
    auto jit =
        lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target)});
    REQUIRE(jit);
    const auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
    REQUIRE(code);
    CHECK(code->find("\nwhole_trips") != std::string::npos);
  }
}
