// A text of four times the length may take a little more than four times as long; a quadratic algorithm takes
// sixteen times as long. Times are processor times of one thread, the least of a few tries.
#include "tools/bench/growth.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/sanitized.h"

using namespace ptx2cpu::bench;

namespace {

// The limits on the ratio of the times for 4n and n. With a sanitizer most of the time is the sanitizer's,
// which grows differently: there the tests only show that large functions access no wrong memory.
#ifdef PTX2CPU_TEST_SANITIZED
constexpr double kMaxRatio = 1e6;
#else
constexpr double kMaxRatio = 9;
#endif
constexpr double kFloor = 12;  // milliseconds: shorter times are noise
constexpr int kTries = 3;

double LeastTime(const GrowthShape& shape, uint32_t n, int tries, bool code = false) {
  double least = 0;
  const std::string text = shape.text(n);
  for (int i = 0; i < tries; ++i) {
    const auto cost = MeasureCompile(text, {.code = code});
    INFO(shape.name << " with " << n);
    REQUIRE(cost);
    least = i == 0 ? cost->Total() : std::min(least, cost->Total());
  }
  return least;
}

}  // namespace

// A text that leaves the processor's caches takes longer an instruction, and the more so beside other
// programs. That happens once: a ratio above the limit counts if that of the next size is above it too, which
// it is, and larger, where the time grows with the square.
TEST_CASE("compiling up to LLVM takes time in proportion to the text") {
  for (const GrowthShape& shape : GrowthShapes()) {
    double ratio = 0;
    uint32_t n = shape.first;
    for (int tries = 1; tries <= kTries; ++tries) {
      const double one = std::max(LeastTime(shape, n, tries), kFloor), four = LeastTime(shape, 4 * n, tries);
      ratio = four / one;
      if (ratio <= kMaxRatio) break;
      if (tries == 2) n *= 4;
    }
    INFO(shape.name << ", from " << n << " to " << 4 * n << ": " << ratio << " times as long");
    CHECK(ratio <= kMaxRatio);
  }
}

// Where paths meet, what leaves loops, what decides about a loop and which loops wait is found without
// walking over a nest for each of its loops. Caches hold a shallow nest, and other programs take their share
// of them, which the factor allows for: with the square of the depth it was 37 and 53.
TEST_CASE("a nest of loops is compiled up to LLVM in proportion to its depth") {
  constexpr double kMaxFactor = 30;  // for eight times the depth
  struct Case {
    const char* shape;
    uint32_t depth;
  };
  for (const Case& each :
       {Case{"divergent_nested_loops", 400}, Case{"values_around_loops", 200}, Case{"branches_back", 1000}}) {
    const GrowthShape& shape = *std::ranges::find(GrowthShapes(), each.shape, &GrowthShape::name);
    double factor = 0;
    for (int tries = 1; tries <= kTries && (tries == 1 || factor > kMaxFactor); ++tries)
      factor =
          LeastTime(shape, 8 * each.depth, tries) / std::max(LeastTime(shape, each.depth, tries), kFloor);
    INFO(shape.name << ", from " << each.depth << " to " << 8 * each.depth << ": " << factor);
    CHECK(factor <= kMaxFactor);
  }
}

// Code generation included: a sum of all that a loop loads was 17 times, and its next doubling 5 times more.
TEST_CASE("long sums become code in proportion to their length") {
  const GrowthShape& shape = *std::ranges::find(GrowthShapes(), "scattered_loads", &GrowthShape::name);
  double ratio = 0;
  for (int tries = 1; tries <= kTries && (tries == 1 || ratio > kMaxRatio); ++tries)
    ratio = LeastTime(shape, 2000, tries, true) / LeastTime(shape, 500, tries, true);
  CHECK(ratio <= kMaxRatio);
}

// Each pass takes a small part of the time of all, however long the text. Passes that examined all accesses,
// loops, regions or early exits for each of them, or rewrote a block's list for each, took half of these
// times and more.
TEST_CASE("no single pass takes most of the time up to LLVM where a text is long") {
  constexpr double kMaxShare = 0.35;
  struct Case {
    const char* shape;
    uint32_t n;
    const char* pass;
  };
  for (const Case& each :
       {Case{"loops", 3200, "interchange-loops"}, Case{"variables", 16000, "join-neighbouring-accesses"},
        Case{"barriers", 3200, "compute-once"}, Case{"neighbours", 8000, "merge-slots"},
        Case{"packed_words", 8000, "merge-slots"}, Case{"exits_and_columns", 2000, "interchange-loops"}}) {
    const GrowthShape& shape = *std::ranges::find(GrowthShapes(), each.shape, &GrowthShape::name);
    double share = 1;
    for (int tries = 0; tries < kTries && share > kMaxShare; ++tries) {
      const auto cost = MeasureCompile(shape.text(each.n), {.code = false, .verify = false});
      REQUIRE(cost);
      const auto pass = std::ranges::find(cost->stages, each.pass, &StageCost::stage);
      REQUIRE(pass != cost->stages.end());
      share = pass->milliseconds / cost->Total();
    }
    INFO(each.pass << " with " << each.n << " of " << shape.name << ": " << share << " of the time");
    CHECK(share <= kMaxShare);
  }
}

// In one long block the values are connected with each other, and many have as many uses as the block has
// instructions: what walks over all of them for each takes sixteen times as long. So it is for compares of
// one value, for loops in a row and within each other, for values that are live at once, for blocks with many
// edges and for calls of one of many functions. In a block of many pieces each has copies of its own of what
// has many uses, and none is longer for the last scheduler.
TEST_CASE("code for long blocks, many branches, loops and targets does not take time with their square") {
  struct Case {
    const char* shape;
    uint32_t n;
  };
  for (const Case& each : {Case{"branches", 600},
                           Case{"straight_line", 1500},
                           Case{"live_at_once", 400},
                           Case{"straight_line", 4000},
                           Case{"deep_branches", 400},
                           Case{"local_array", 1000},
                           Case{"uniform_branches", 750},
                           Case{"loops", 200},
                           Case{"nested_loops", 200},
                           Case{"values_around_loops", 400},
                           Case{"switch", 1000},
                           Case{"switch_to_few", 5000},
                           Case{"shuffles", 200},
                           Case{"shuffles_in_arms", 40},
                           Case{"barriers", 100},
                           Case{"indirect_targets", 250},
                           Case{"indirect_waiting_targets", 50},
                           Case{"calls_in_pairs", 25},
                           Case{"votes", 250},
                           Case{"branches_back", 200},
                           Case{"surfaces", 12},
                           Case{"matches", 100},
                           Case{"loop_of_predicates", 400}}) {
    const GrowthShape& shape = *std::ranges::find(GrowthShapes(), each.shape, &GrowthShape::name);
    const auto time_of_code = [&](uint32_t n) {
      const auto cost = MeasureCompile(shape.text(n), {});
      REQUIRE(cost);
      double milliseconds = 0;
      for (const StageCost& stage : cost->stages)
        milliseconds += stage.stage.starts_with("llvm: ") ? stage.milliseconds : 0;
      return milliseconds;
    };
    double ratio = 0;
    for (int tries = 0; tries < kTries && (tries == 0 || ratio > kMaxRatio); ++tries)
      ratio = time_of_code(4 * each.n) / time_of_code(each.n);
    INFO(shape.name << ", from " << each.n << " to " << 4 * each.n << ": " << ratio << " times as long");
    CHECK(ratio <= kMaxRatio);
  }
}

// Where a kernel waits at many places, code in which whole warps resume at each of them is not made:
// allocating its registers took time with the square of their number, 27 s for 400.
TEST_CASE("kernels that wait at many places have the code of lanes only") {
  for (const char* name : {"waits", "spin_loops"}) {
    const GrowthShape& shape = *std::ranges::find(GrowthShapes(), name, &GrowthShape::name);
    const auto few = MeasureCompile(shape.text(50), {}), many = MeasureCompile(shape.text(100), {});
    REQUIRE(few);
    REQUIRE(many);
    INFO(name);
    CHECK(many->llvm_instructions < few->llvm_instructions);
  }
}

namespace {

// Products of matrices whose sums begin with 0 and live across barriers: each sum is memory for all threads.
std::string Products(uint32_t count) {
  std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %t, %i, %n, %v, %other, %s<400>; .reg .b64 %a, %q;
  .shared .align 4 .b8 tile[1024];
  ld.param.u64 %a, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %q, %t, 4;
  add.s64 %a, %a, %q;
  mov.u32 %i, 0;
)";
  for (uint32_t i = 0; i < 4 * count; ++i) text += "  mov.b32 %s" + std::to_string(i) + ", 0;\n";
  text += R"($L:
  add.u32 %i, %i, 1;
  shl.b32 %v, %t, 2;
  xor.b32 %other, %v, 132;
  st.shared.b32 [%v], %i;
  bar.sync 0;
  ld.shared.b32 %v, [%other];
  bar.sync 0;
)";
  for (uint32_t i = 0; i < count; ++i) {
    std::string sums;
    for (uint32_t k = 0; k < 4; ++k) sums += (k == 0 ? "%s" : ", %s") + std::to_string(4 * i + k);
    text +=
        "  mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {" + sums + "}, {%t, %v}, {%v}, {" + sums + "};\n";
  }
  text += "  setp.lt.u32 %p, %i, %n;\n  @%p bra $L;\n";
  for (uint32_t i = 1; i < 4 * count; ++i) text += "  xor.b32 %s0, %s0, %s" + std::to_string(i) + ";\n";
  return text + "  st.global.b32 [%a], %s0;\n  ret;\n}\n";
}

}  // namespace

// The sums are set to 0 by 16 stores each. In one block these took more time than all else.
TEST_CASE("code that fills much memory takes time as the instructions given to LLVM do") {
  constexpr double kMaxFactor = 1.8;
  CostOptions options;
  options.shape = ptx2cpu::analysis::LaunchShape{256, 1, 1};
  const auto measure = [&](uint32_t count) {
    const auto cost = MeasureCompile(Products(count), options);
    REQUIRE(cost);
    return *cost;
  };
  double factor = 0;
  for (int tries = 0; tries < kTries && (tries == 0 || factor > kMaxFactor); ++tries) {
    const CompileCost few = measure(4), many = measure(16);
    factor = many.Total() / few.Total() * static_cast<double>(few.llvm_instructions) /
             static_cast<double>(many.llvm_instructions);
  }
  INFO("factor " << factor);
  CHECK(factor <= kMaxFactor);
}
