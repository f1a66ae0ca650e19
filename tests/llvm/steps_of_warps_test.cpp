// Steps of warps of which all lanes are within the bounds of the data, in the same row and not at an edge:
// code without masks, beside that under masks. Neighbours of a grid of numbers, and a sum of the warp.
#include <catch2/catch.hpp>
#include <string>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 64, kBlocks = 2;

// Each point of `rows` rows of n: three times its number, less those of its neighbours that exist; all to
// out, and to sums what the points of a warp's lanes add up to.
const std::string kNeighbours = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 psums, .param .u32 pn, .param .u32 pall)
.reqntid 64
{
  .reg .pred %p<8>; .reg .b32 %i, %n, %all, %stride, %column, %row, %last, %sum, %v, %w, %other, %lane;
  .reg .b64 %in, %out, %sums, %at, %to, %near;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u64 %sums, [psums];
  ld.param.u32 %n, [pn];
  ld.param.u32 %all, [pall];
  mov.u32 %i, %ctaid.x;
  shl.b32 %i, %i, 6;
  mov.u32 %lane, %tid.x;
  add.u32 %i, %i, %lane;
  mov.u32 %stride, %nctaid.x;
  shl.b32 %stride, %stride, 6;
  mov.u32 %sum, 0;
  sub.u32 %last, %all, %n;
  setp.ge.u32 %p0, %i, %all;
  @%p0 bra summed;
again:
  rem.u32 %column, %i, %n;
  div.u32 %row, %i, %n;
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  mul.lo.u32 %v, %v, 3;
  setp.lt.u32 %p1, %i, %n;
  @%p1 bra no_row_before;
  sub.u32 %other, %i, %n;
  mul.wide.u32 %near, %other, 4;
  add.s64 %near, %in, %near;
  ld.global.u32 %w, [%near];
  sub.u32 %v, %v, %w;
no_row_before:
  setp.eq.u32 %p2, %column, 0;
  @%p2 bra no_column_before;
  add.u32 %other, %i, -1;
  mul.wide.u32 %near, %other, 4;
  add.s64 %near, %in, %near;
  ld.global.u32 %w, [%near];
  sub.u32 %v, %v, %w;
no_column_before:
  add.u32 %other, %column, 1;
  setp.ge.u32 %p3, %other, %n;
  @%p3 bra no_column_after;
  add.u32 %other, %i, 1;
  mul.wide.u32 %near, %other, 4;
  add.s64 %near, %in, %near;
  ld.global.u32 %w, [%near];
  sub.u32 %v, %v, %w;
no_column_after:
  mul.lo.u32 %other, %row, %n;
  setp.ge.u32 %p4, %other, %last;
  @%p4 bra no_row_after;
  add.u32 %other, %i, %n;
  mul.wide.u32 %near, %other, 4;
  add.s64 %near, %in, %near;
  ld.global.u32 %w, [%near];
  sub.u32 %v, %v, %w;
no_row_after:
  mul.wide.u32 %to, %i, 4;
  add.s64 %to, %out, %to;
  st.global.u32 [%to], %v;
  add.u32 %sum, %sum, %v;
  add.u32 %i, %i, %stride;
  setp.lt.u32 %p5, %i, %all;
  @%p5 bra again;
summed:
  shfl.sync.bfly.b32 %w, %sum, 16, 31, -1;
  add.u32 %sum, %sum, %w;
  mov.u32 %i, %ctaid.x;
  shl.b32 %i, %i, 6;
  add.u32 %i, %i, %lane;
  mul.wide.u32 %to, %i, 4;
  add.s64 %to, %sums, %to;
  st.global.u32 [%to], %sum;
  ret;
}
)";

struct Numbers {
  std::vector<uint32_t> out, sums;
  bool operator==(const Numbers&) const = default;
};

// The neighbour at i + 1, or none where its column is a sum that is always out of the row.
enum class After : uint8_t { kNeighbour, kNone };

Numbers Expected(const std::vector<uint32_t>& in, uint32_t n, uint32_t all, After after) {
  Numbers expected{std::vector<uint32_t>(all, 7), std::vector<uint32_t>(kThreads * kBlocks)};
  std::vector<uint32_t> sums(kThreads * kBlocks);
  for (uint32_t i = 0; i < all; ++i) {
    const uint32_t column = i % n, row = i / n;
    uint32_t v = in[i] * 3;
    if (i >= n) v -= in[i - n];
    if (column != 0) v -= in[i - 1];
    if (column + 1 < n && after == After::kNeighbour) v -= in[i + 1];
    if (row * n < all - n) v -= in[i + n];
    expected.out[i] = v;
    sums[i % (kThreads * kBlocks)] += v;
  }
  for (uint32_t i = 0; i < sums.size(); ++i) expected.sums[i] = sums[i] + sums[i ^ 16];
  return expected;
}

void CheckRun(const ptx2cpu_kernel& kernel, uint32_t n, uint32_t rows, After after = After::kNeighbour) {
  const uint32_t all = n * rows;
  std::vector<uint32_t> in(all);
  for (uint32_t i = 0; i < all; ++i) in[i] = i * 2654435761u >> 7;
  Numbers found{std::vector<uint32_t>(all, 7), std::vector<uint32_t>(kThreads * kBlocks)};
  struct {
    const uint32_t* in;
    uint32_t *out, *sums;
    uint32_t n, all;
  } params{in.data(), found.out.data(), found.sums.data(), n, all};
  const auto error = rt::Launch(kernel, {{kBlocks, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(found == Expected(in, n, all, after));
}

}  // namespace

TEST_CASE("steps of warps within bounds, rows and edges of the data are without masks", "[steps_of_warps]") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const BuiltKernel module = BuildKernel(kNeighbours, "k");
  auto text = (*jit)->Explain(module, "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  CHECK(text->find("part_of_step:") != std::string::npos);
  // What a thread reads in its next trip, of which the other threads' trips are in front: into the second
  // cache.
  CHECK(text->find(", i32 0, i32 2, i32 1)") != std::string::npos);
}

TEST_CASE("neighbours in rows of every length", "[steps_of_warps]") {
  for (const char* target : {"native", "x86-64-v3"}) {
    for (const uint32_t width : {0u, 1u, 4u, 16u}) {
      INFO(target << ", vectors of " << width);
      auto kernel = JitKernel::Create(
          BuildKernel(kNeighbours, "k"),
          {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width});
      REQUIRE(kernel);
      for (const uint32_t n : {1u, 2u, 15u, 31u, 32u, 33u, 63u, 64u, 65u, 100u, 128u, 200u, 256u}) {
        for (const uint32_t rows : {1u, 2u, 5u, 9u}) {
          INFO(rows << " rows of " << n);
          CheckRun(*(*kernel)->kernel().kernel, n, rows);
        }
      }
    }
  }
}

// The first lane's sum wraps around where that of all lanes saturates.
TEST_CASE("a sum that saturates is no place from which lanes count", "[steps_of_warps]") {
  const std::string step = "add.u32 %other, %column, 1;\n  setp.ge.u32";
  const size_t at = kNeighbours.find(step);
  REQUIRE(at != std::string::npos);
  for (const char* saturated : {"add.sat.s32 %other, %column, 2147483600;\n  setp.ge.s32",
                                "sub.sat.s32 %other, %column, -2147483600;\n  setp.ge.s32"}) {
    for (const char* target : {"native", "x86-64-v3"}) {
      INFO(saturated << " for " << target);
      auto kernel =
          JitKernel::Create(BuildKernel(std::string(kNeighbours).replace(at, step.size(), saturated), "k"),
                            {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target)});
      REQUIRE(kernel);
      for (const uint32_t n : {32u, 100u, 256u}) CheckRun(*(*kernel)->kernel().kernel, n, 9, After::kNone);
    }
  }
}
