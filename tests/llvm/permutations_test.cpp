// Threads that exchange elements of shared memory by permutations within a few lanes: loads and stores of
// known patterns, under masks, of words and double words, at every width.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kMaxThreads = 160, kElements = 1024;

struct Permutation {
  const char* what;
  const char* place;  // %q of the thread's number %i and a distance %d; %a, %b: for the way
  uint32_t (*at)(uint32_t i, uint32_t d);
};
constexpr Permutation kCases[] = {
    {"the other one of a pair", "xor.b32 %q, %i, %d;", [](uint32_t i, uint32_t d) { return i ^ d; }},
    {"the mirrored place", "sub.u32 %a, %d, 1; xor.b32 %q, %i, %a;",
     [](uint32_t i, uint32_t d) { return i ^ (d - 1); }},
    {"the lower one of a pair",
     "sub.u32 %a, %d, 1; and.b32 %a, %i, %a; shl.b32 %b, %i, 1; sub.u32 %q, %b, %a;",
     [](uint32_t i, uint32_t d) { return 2 * i - (i & (d - 1)); }},
    {"the upper one of a pair",
     "sub.u32 %a, %d, 1; and.b32 %a, %i, %a; shl.b32 %b, %i, 1; sub.u32 %q, %b, %a; add.u32 %q, %q, %d;",
     [](uint32_t i, uint32_t d) { return 2 * i - (i & (d - 1)) + d; }},
    {"rows that are three places apart",
     "div.u32 %a, %i, %d; rem.u32 %b, %i, %d; mul.lo.u32 %a, %a, 3; mad.lo.u32 %q, %a, %d, %b;",
     [](uint32_t i, uint32_t d) { return i / d * 3 * d + i % d; }},
};

// Each thread whose number leaves none of the bits %m stores its word, times 5, at its place; then each
// stores to memory what it loads from its own place and from the first element on.
std::string KernelOf(const Permutation& permutation, bool is_long) {
  const std::string type = is_long ? "u64" : "u32", bytes = is_long ? "8" : "4",
                    value = is_long ? "%w" : "%v";
  return kHead + ".shared .align 16 .b8 tile[8192];\n" + R"(
.visible .entry k(.param .u64 pout, .param .u32 pd, .param .u32 pm)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %d, %m, %a, %b, %q, %t, %v, %f; .reg .b64 %out, %w, %x;
  ld.param.u64 %out, [pout];
  ld.param.u32 %d, [pd];
  ld.param.u32 %m, [pm];
  mov.u32 %i, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %t, tile;
  mov.u32 %f, %i;
FILL:
  mad.lo.u32 %a, %f, )" +
         bytes + R"(, %t;
  mul.lo.u32 %v, %f, 77;
  cvt.u64.u32 %w, %v;
  st.shared.)" +
         type + " [%a], " + value + R"(;
  add.u32 %f, %f, %n;
  setp.lt.u32 %p0, %f, )" +
         std::to_string(kElements) + R"(;
  @%p0 bra FILL;
  bar.sync 0;
  )" + permutation.place +
         R"(
  mad.lo.u32 %q, %q, )" +
         bytes + R"(, %t;
  mul.lo.u32 %v, %i, 5;
  cvt.u64.u32 %w, %v;
  and.b32 %a, %i, %m;
  setp.ne.u32 %p1, %a, 0;
  @%p1 bra SKIP;
  st.shared.)" +
         type + " [%q], " + value + R"(;
SKIP:
  bar.sync 0;
  )" + permutation.place +
         R"(
  mad.lo.u32 %q, %q, )" +
         bytes + R"(, %t;
  ld.shared.)" +
         type + " " + value + R"(, [%q];
  mad.lo.u32 %a, %i, )" +
         bytes + R"(, %t;
  mul.wide.u32 %x, %i, 16;
  add.s64 %out, %out, %x;
  st.global.)" +
         type + " [%out], " + value + R"(;
  ld.shared.)" +
         type + " " + value + R"(, [%a];
  st.global.)" +
         type + " [%out+8], " + value + R"(;
  ret;
}
)";
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

std::vector<uint64_t> Expected(const Permutation& permutation, uint32_t threads, uint32_t d, uint32_t m) {
  std::vector<uint64_t> tile(kElements), out(2 * kMaxThreads);
  for (uint32_t i = 0; i < kElements; ++i) tile[i] = i * 77;
  for (uint32_t i = 0; i < threads; ++i) {
    if ((i & m) == 0) tile[permutation.at(i, d)] = i * 5;
  }
  for (uint32_t i = 0; i < threads; ++i) {
    out[2 * i] = tile[permutation.at(i, d)];
    out[2 * i + 1] = tile[i];
  }
  return out;
}

void CheckAll(const Permutation& permutation, bool is_long, const std::string& target, uint32_t width) {
  const ir::Module module = BuildKernel(KernelOf(permutation, is_long), "k");
  auto jit = lowering::Jit::Create(Options(target, width));
  REQUIRE(jit);
  auto compiled = (*jit)->Add(module);
  if (!compiled) FAIL(compiled.error().Render());
  for (uint32_t threads : {kMaxThreads, 64u, 37u}) {
    for (uint32_t d : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
      for (uint32_t m : {0u, d, 1u, 5u, 16u}) {
        INFO(target << ", width " << width << ", " << threads << " threads, distance " << d << ", mask "
                    << m);
        std::vector<uint64_t> out(2 * kMaxThreads);
        struct {
          uint64_t* out;
          uint32_t d, m;
        } params{out.data(), d, m};
        const auto error = rt::Launch(*compiled->kernel, {{1, 1, 1}, {threads, 1, 1}, 0},
                                      std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
        if (error) FAIL(error->message);
        REQUIRE(out == Expected(permutation, threads, d, m));
      }
    }
  }
}

}  // namespace

TEST_CASE("permutations of a few lanes are loads, stores and shuffles, whatever the width",
          "[permutations]") {
  for (const Permutation& permutation : kCases) {
    for (bool is_long : {false, true}) {
      INFO(permutation.what << (is_long ? ", double words" : ", words"));
      for (const auto& [target, width] :
           {std::pair("native", 0u), std::pair("native", 1u), std::pair("native", 8u),
            std::pair("native", 16u), std::pair("native", 32u), std::pair("native", 64u),
            std::pair("x86-64-v3", 0u), std::pair("x86-64-v3", 8u), std::pair("x86-64-v3", 32u),
            std::pair("x86-64-v2", 4u)})
        CheckAll(permutation, is_long, target, width);
    }
  }
}

TEST_CASE("of a permutation over a small distance no access is a gather", "[permutations]") {
  for (const Permutation& permutation : kCases) {
    INFO(permutation.what);
    const ir::Module module = BuildKernel(KernelOf(permutation, false), "k");
    auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
    REQUIRE(jit);
    const auto report = (*jit)->ReportLanes(module, "k");
    REQUIRE(report);
    const auto gathering = std::ranges::count_if(
        report->loops, [](const auto& loop) { return loop.loads.gathers + loop.stores.gathers != 0; });
    CHECK(gathering == 0);
    CHECK(report->loops.size() > 10);
  }
}
