// Vectors at an edge of the data, of which some lanes are clamped, choose another distance, or are on the
// next row of a tile: two runs of memory.
#include <catch2/catch.hpp>
#include <functional>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// (in, out, u32 a, u32 b); %i is the thread's number in the grid.
std::string Kernel(const std::string& body) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pa, .param .u32 pb)
{
  .reg .pred %p<8>; .reg .b32 %i, %a, %b, %r<24>; .reg .b64 %in, %out, %at, %d<8>;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %a, [pa];
  ld.param.u32 %b, [pb];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %i, %r0, %r1, %r2;
)" + body +
         "DONE:\n  ret;\n}\n";
}

// `a` threads each take b steps of `a` words: out = 3 * left + 5 * right + itself.
const std::string kNeighbours = Kernel(R"(
  setp.ge.s32 %p0, %i, %a;
  @%p0 bra DONE;
  setp.gt.s32 %p1, %i, 0;
  selp.b32 %r3, -1, 0, %p1;
  add.s32 %r4, %i, %r3;
  add.s32 %r5, %i, 1;
  setp.lt.s32 %p2, %r5, %a;
  selp.u32 %r6, 1, 0, %p2;
  add.s32 %r7, %i, %r6;
  mov.u32 %r8, 0;
  mov.u32 %r9, %i;
AGAIN:
  mul.wide.s32 %d0, %r4, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r10, [%d1];
  mul.wide.s32 %d2, %r7, 4;
  add.s64 %d3, %in, %d2;
  ld.global.u32 %r11, [%d3];
  mul.wide.s32 %d4, %r9, 4;
  add.s64 %d5, %in, %d4;
  ld.global.u32 %r12, [%d5];
  mad.lo.u32 %r12, %r10, 3, %r12;
  mad.lo.u32 %r12, %r11, 5, %r12;
  add.s64 %d6, %out, %d4;
  st.global.u32 [%d6], %r12;
  add.s32 %r4, %r4, %a;
  add.s32 %r7, %r7, %a;
  add.s32 %r9, %r9, %a;
  add.s32 %r8, %r8, 1;
  setp.lt.s32 %p3, %r8, %b;
  @%p3 bra AGAIN;
)");

// out[i] = in[min(max(i + b, 0), a - 1)]
const std::string kClamped = Kernel(R"(
  add.s32 %r3, %i, %b;
  max.s32 %r3, %r3, 0;
  sub.s32 %r4, %a, 1;
  min.s32 %r3, %r3, %r4;
  mul.wide.s32 %d0, %r3, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r5, [%d1];
  mul.wide.s32 %d2, %i, 4;
  add.s64 %d3, %out, %d2;
  st.global.u32 [%d3], %r5;
)");

// out[i / a * b + i % a] = in[i / a * 100 + i % a]; `divide` makes %r4 of %i.
std::string Tile(const std::string& divide) {
  return Kernel(divide + R"(
  mul.lo.s32 %r5, %r4, %a;
  sub.s32 %r6, %i, %r5;
  mad.lo.s32 %r7, %r4, 100, %r6;
  mul.wide.s32 %d0, %r7, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r8, [%d1];
  mad.lo.s32 %r9, %r4, %b, %r6;
  mul.wide.s32 %d2, %r9, 4;
  add.s64 %d3, %out, %d2;
  st.global.u32 [%d3], %r8;
)");
}
const std::string kBySigned = "  div.s32 %r4, %i, %a;\n", kByUnsigned = "  div.u32 %r4, %i, %a;\n",
                  kBy20 =
                      "  mul.hi.s32 %r10, %i, 1717986919;\n  shr.u32 %r11, %r10, 31;\n"
                      "  shr.s32 %r12, %r10, 3;\n  add.s32 %r4, %r12, %r11;\n",
                  kBy70 =
                      "  mul.hi.s32 %r10, %i, -368140053;\n  add.s32 %r10, %r10, %i;\n"
                      "  shr.u32 %r11, %r10, 31;\n  shr.s32 %r12, %r10, 6;\n  add.s32 %r4, %r12, %r11;\n",
                  kBy36 =
                      "  shr.u32 %r10, %i, 2;\n  mul.hi.u32 %r11, %r10, 954437177;\n"
                      "  shr.u32 %r4, %r11, 1;\n";

// out[i] = 3 * in[at] + in[at + 64] + in[at + 200], where threads from b on have taken a trips of 8 words
// more to `at`: the rest of a loop that is repeated four times.
const std::string kMeeting = Kernel(R"(
  mov.u32 %r3, %i;
  setp.lt.s32 %p0, %i, %b;
  selp.b32 %r4, 0, %a, %p0;
  setp.eq.s32 %p1, %r4, 0;
  @%p1 bra MEET;
REST:
  add.s32 %r3, %r3, 8;
  sub.s32 %r4, %r4, 1;
  setp.ne.s32 %p1, %r4, 0;
  @%p1 bra REST;
MEET:
  mul.wide.s32 %d0, %r3, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r5, [%d1];
  ld.global.u32 %r6, [%d1+256];
  ld.global.u32 %r7, [%d1+800];
  mad.lo.s32 %r8, %r5, 3, %r6;
  add.s32 %r8, %r8, %r7;
  mul.wide.s32 %d2, %i, 4;
  add.s64 %d3, %out, %d2;
  st.global.u32 [%d3], %r8;
)");

// out[i] = in[at] + 3 * in[at + 1], at = plane * 400 + row * 52 + 2 * column of planes of b rows of a
// columns: how nets take the greatest of neighbours.
std::string Planes(const std::string& type) {
  return Kernel("  div." + type + " %r3, %i, %a;\n  rem." + type + " %r4, %i, %a;\n  rem." + type +
                " %r5, %r3, %b;\n  mul.lo.s32 %r6, %a, %b;\n  div." + type + R"( %r7, %i, %r6;
  mul.lo.s32 %r8, %r7, 400;
  mad.lo.s32 %r8, %r5, 52, %r8;
  shl.b32 %r9, %r4, 1;
  add.s32 %r8, %r8, %r9;
  mul.wide.s32 %d0, %r8, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r10, [%d1];
  add.s64 %d1, %d1, 4;
  ld.global.u32 %r11, [%d1];
  mad.lo.s32 %r11, %r11, 3, %r10;
  mul.wide.s32 %d2, %i, 4;
  add.s64 %d3, %out, %d2;
  st.global.u32 [%d3], %r11;
)");
}

// `a` threads each add to out[in[k] & 63] for k from in[i] & 1023 to (in[i + 1] & 1023) - 1: columns of a
// sparse matrix. The bound is read in each trip.
const std::string kColumns = Kernel(R"(
  setp.ge.s32 %p0, %i, %a;
  @%p0 bra DONE;
  mul.wide.s32 %d0, %i, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r3, [%d1];
  and.b32 %r3, %r3, 1023;
  mul.wide.s32 %d2, %r3, 4;
  add.s64 %d3, %in, %d2;
NEXT:
  ld.global.u32 %r4, [%d1+4];
  and.b32 %r4, %r4, 1023;
  setp.ge.s32 %p1, %r3, %r4;
  @%p1 bra DONE;
  ld.global.u32 %r5, [%d3];
  and.b32 %r6, %r5, 63;
  mul.wide.u32 %d4, %r6, 4;
  add.s64 %d5, %out, %d4;
  red.global.add.u32 [%d5], %r5;
  add.s32 %r3, %r3, 1;
  add.s64 %d3, %d3, 4;
  bra NEXT;
)");

constexpr uint32_t kWords = 4096;
using Words = std::vector<uint32_t>;

struct Launch {
  uint32_t grid, block, a, b;
};

Words Run(const ptx2cpu_kernel& kernel, const Launch& launch, const Words& in) {
  Words out(kWords, 7);
  struct {
    const uint32_t* in;
    uint32_t* out;
    uint32_t a, b;
  } params{in.data(), out.data(), launch.a, launch.b};
  const auto error = rt::Launch(kernel, {{launch.grid, 1, 1}, {launch.block, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
  if (error) FAIL(error->message);
  return out;
}

using Computes = std::function<void(const Launch&, const Words&, Words&)>;

void Check(const std::string& ptx, const std::vector<Launch>& launches, const Computes& computes) {
  Words in(kWords);
  for (uint32_t i = 0; i < kWords; ++i) in[i] = i * 2654435761u;
  const BuiltKernel module = BuildKernel(ptx, "k");
  static test::Sample sample(5);  // of all calls together
  for (const uint32_t width : {1u, 4u, 8u, 16u, 32u, 64u}) {
    for (const std::string target : {"native", "x86-64-v3"}) {
      if (sample.Skips()) continue;
      auto jit = lowering::Jit::Create(
          {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width});
      REQUIRE(jit);
      auto compiled = (*jit)->Add(module);
      if (!compiled) FAIL(compiled.error().Render());
      for (const Launch& launch : launches) {
        INFO("width " << width << ", " << target << ", blocks " << launch.grid << " of " << launch.block
                      << ", a = " << launch.a << ", b = " << static_cast<int32_t>(launch.b));
        Words expected(kWords, 7);
        computes(launch, in, expected);
        CHECK(Run(*compiled->kernel, launch, in) == expected);
      }
    }
  }
}

// The report of the threads' only loop, or of the last one where a loop is outside them; not of its version
// for steps within rows of the data.
lowering::LaneReport::Loop ReportOf(const std::string& ptx) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .lane_width = 16});
  REQUIRE(jit);
  auto report = (*jit)->ReportLanes(BuildKernel(ptx, "k"), "k");
  REQUIRE(report);
  std::erase_if(report->loops, [](const auto& loop) { return loop.within_rows; });
  REQUIRE_FALSE(report->loops.empty());
  return report->loops.back();
}

// Ends of 32 bits, where a quotient of what wraps around steps back, and numbers below 0.
const std::vector<Launch> kDivided = {{1, 96, 20, ~0u - 30},
                                      {1, 96, 20, 0x7fffffd0},
                                      {1, 96, ~0u - 2, ~0u - 30},
                                      {1, 96, 0, 3},
                                      {1, 64, 70, 5}};

struct Divided {
  uint32_t quotient = ~0u, rest = ~0u;  // by 0, as an H200 has them
};

Divided Divide(const std::string& type, uint32_t x, uint32_t by) {
  if (by == 0) return {};
  if (type == "u32") return {x / by, x % by};
  const int64_t a = static_cast<int32_t>(x), b = static_cast<int32_t>(by);
  return {static_cast<uint32_t>(a / b), static_cast<uint32_t>(a % b)};
}

}  // namespace

TEST_CASE("neighbours of words at an edge are two runs, in each trip of a loop", "[runs]") {
  Check(kNeighbours,
        {{1, 96, 96, 3}, {2, 64, 100, 4}, {3, 32, 65, 2}, {1, 40, 1, 5}, {2, 77, 130, 1}, {1, 128, 2, 2}},
        [](const Launch& launch, const Words& in, Words& out) {
          const uint32_t n = launch.a;
          for (uint32_t i = 0; i < std::min(n, launch.grid * launch.block); ++i) {
            for (uint32_t z = 0; z < launch.b; ++z) {
              const uint32_t left = i > 0 ? i - 1 : i, right = i + 1 < n ? i + 1 : i;
              out[i + z * n] = in[left + z * n] * 3 + in[right + z * n] * 5 + in[i + z * n];
            }
          }
        });
  const lowering::LaneReport::Loop loop = ReportOf(kNeighbours);
  CHECK(loop.loads.consecutive == 3);
  CHECK(loop.loads.tested == 0);
}

TEST_CASE("where lanes meet, one test decides whether what they bring is a sequence, or two", "[runs]") {
  std::vector<Launch> launches;
  for (const uint32_t trips : {1u, 3u, 17u}) {
    for (const uint32_t b : {0u, 1u, 13u, 32u, 63u, 64u, 90u, 200u}) launches.push_back({2, 48, trips, b});
  }
  Check(kMeeting, launches, [](const Launch& launch, const Words& in, Words& out) {
    for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
      const uint32_t at = i < launch.b ? i : i + 8 * launch.a;
      out[i] = in[at] * 3 + in[at + 64] + in[at + 200];
    }
  });
  const lowering::LaneReport::Loop loop = ReportOf(kMeeting);
  CHECK(loop.loads.consecutive == 3);
  CHECK(loop.loads.tested == 0);
}

TEST_CASE("rows that begin where memory has it are no sequence from thread to thread", "[runs][long]") {
  Check(kColumns, {{2, 64, 100, 0}, {1, 128, 128, 0}, {3, 32, 7, 0}},
        [](const Launch& launch, const Words& in, Words& out) {
          for (uint32_t i = 0; i < launch.a; ++i) {
            for (uint32_t k = in[i] & 1023; k < (in[i + 1] & 1023); ++k) out[in[k] & 63] += in[k];
          }
        });
  const lowering::LaneReport::Loop loop = ReportOf(kColumns);
  CHECK(loop.loads.tested == 0);
  CHECK(loop.loads.gathers == 1);
  // Nor does the bound, which each trip reads at one place, make a thread that runs alone slow.
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto report = (*jit)->ReportLanes(BuildKernel(kColumns, "k"), "k");
  REQUIRE(report);
  CHECK(report->loops.back().width == 1);
}

TEST_CASE("indices that are clamped on both sides are two runs", "[runs]") {
  std::vector<Launch> launches;
  for (const int shift : {-40, -3, -1, 0, 1, 2, 5, 33}) {
    for (const uint32_t n : {1u, 5u, 64u, 100u, 128u})
      launches.push_back({2, 64, n, static_cast<uint32_t>(shift)});
  }
  Check(kClamped, launches, [](const Launch& launch, const Words& in, Words& out) {
    for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
      const int at = static_cast<int>(i) + static_cast<int>(launch.b), last = static_cast<int>(launch.a) - 1;
      out[i] = in[static_cast<size_t>(std::min(std::max(at, 0), last))];
    }
  });
  CHECK(ReportOf(kClamped).loads.consecutive == 1);
}

TEST_CASE("rows of a tile that threads in one line fill are runs", "[runs][long]") {
  const Computes tile = [](const Launch& launch, const Words& in, Words& out) {
    for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
      const uint32_t row = i / launch.a, column = i % launch.a;
      out[row * launch.b + column] = in[row * 100 + column];
    }
  };
  for (const std::string& divide : {kBySigned, kByUnsigned})
    Check(Tile(divide), {{1, 96, 20, 20}, {2, 64, 18, 19}, {3, 33, 70, 70}, {1, 64, 5, 8}, {1, 128, 99, 100}},
          tile);
  struct Divisor {
    std::string divide;
    uint32_t number;
  };
  for (const auto& [divide, number] : {Divisor{kBy20, 20}, {kBy70, 70}, {kBy36, 36}}) {
    INFO("by " << number);
    Check(Tile(divide), {{1, 96, number, number}, {3, 64, number, number + 3}}, tile);
    const lowering::LaneReport::Loop loop = ReportOf(Tile(divide));
    CHECK(loop.loads.consecutive == 1);
    CHECK(loop.stores.consecutive == 1);
  }
}

TEST_CASE("rows of planes that threads in one line fill are runs with gaps", "[runs][long]") {
  for (const std::string type : {"s32", "u32"}) {
    Check(Planes(type),
          {{2, 64, 20, 7}, {1, 128, 26, 5}, {3, 32, 13, 1}, {1, 96, 5, 3}, {1, 64, 70, 2}, {1, 8, 1, 1}},
          [](const Launch& launch, const Words& in, Words& out) {
            for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
              const uint32_t row = i / launch.a, plane = i / (launch.a * launch.b);
              const uint32_t at = plane * 400 + row % launch.b * 52 + i % launch.a * 2;
              out[i] = in[at] + 3 * in[at + 1];
            }
          });
  }
}

TEST_CASE("what threads of a row share is loaded once for each row", "[runs]") {
  for (const std::string type : {"s32", "u32"}) {
    // A word, two words of a record and a byte of each row.
    const std::string ptx = Kernel("  div." + type + " %r3, %i, %a;\n  rem." + type + R"( %r4, %r3, %b;
  mul.wide.s32 %d0, %r4, 4;
  add.s64 %d1, %in, %d0;
  ld.global.u32 %r5, [%d1];
  mul.wide.s32 %d2, %r3, 8;
  add.s64 %d3, %in, %d2;
  ld.global.v2.u32 {%r6, %r7}, [%d3];
  cvt.s64.s32 %d4, %r4;
  add.s64 %d5, %in, %d4;
  ld.global.u8 %r8, [%d5];
  add.u32 %r5, %r5, %r6;
  mad.lo.u32 %r5, %r7, 3, %r5;
  mad.lo.u32 %r5, %r8, 5, %r5;
  mul.wide.s32 %d6, %i, 4;
  add.s64 %d7, %out, %d6;
  st.global.u32 [%d7], %r5;
)");
    Check(ptx, {{2, 64, 20, 7}, {1, 128, 32, 5}, {3, 32, 13, 1}, {1, 96, 5, 3}, {1, 64, 70, 2}, {1, 8, 1, 1}},
          [](const Launch& launch, const Words& in, Words& out) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(in.data());
            for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
              const uint32_t row = i / launch.a, rest = row % launch.b;
              out[i] = in[rest] + in[2 * row] + 3 * in[2 * row + 1] + 5 * bytes[rest];
            }
          });
    const lowering::LaneReport::Loop loop = ReportOf(ptx);
    CHECK(loop.loads.tested == 3);
    CHECK(loop.loads.gathers == 0);
  }
}

TEST_CASE("quotients of sequences that wrap around are those of each lane", "[runs][long]") {
  for (const std::string type : {"s32", "u32"}) {
    const std::string ptx = Kernel("  add.s32 %r3, %i, %b;\n  div." + type + " %r4, %r3, %a;\n  rem." + type +
                                   R"( %r5, %r3, %a;
  and.b32 %r6, %r4, 1023;
  and.b32 %r7, %r5, 1023;
  add.s32 %r8, %r4, %r5;
  mul.wide.s32 %d0, %i, 8;
  add.s64 %d1, %out, %d0;
  st.global.v2.u32 [%d1], {%r6, %r7};
  setp.gt.u32 %p0, %r8, 1000;
  @%p0 bra DONE;
  mul.wide.s32 %d2, %r8, 4;
  add.s64 %d3, %in, %d2;
  ld.global.u32 %r9, [%d3];
  st.global.u32 [%d1], %r9;
)");
    Check(ptx, kDivided, [&](const Launch& launch, const Words& in, Words& out) {
      for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
        const auto [quotient, rest] = Divide(type, i + launch.b, launch.a);
        out[2 * i] = quotient & 1023;
        out[2 * i + 1] = rest & 1023;
        if (quotient + rest <= 1000) out[2 * i] = in[quotient + rest];
      }
    });
  }
}

TEST_CASE("a sequence is divided once, also where no address contains the quotient", "[runs]") {
  for (const std::string type : {"s32", "u32"}) {
    const std::string ptx = Kernel("  add.s32 %r3, %i, %b;\n  div." + type + " %r4, %r3, %a;\n  rem." + type +
                                   R"( %r5, %r3, %a;
  mul.wide.s32 %d0, %i, 8;
  add.s64 %d1, %out, %d0;
  st.global.v2.u32 [%d1], {%r4, %r5};
)");
    Check(ptx, kDivided, [&](const Launch& launch, const Words&, Words& out) {
      for (uint32_t i = 0; i < launch.grid * launch.block; ++i) {
        const auto [quotient, rest] = Divide(type, i + launch.b, launch.a);
        out[2 * i] = quotient;
        out[2 * i + 1] = rest;
      }
    });
    auto jit = lowering::Jit::Create(
        {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3"), .lane_width = 8});
    REQUIRE(jit);
    const auto code = (*jit)->Explain(BuildKernel(ptx, "k"), "k", lowering::Jit::Stage::kLlvm);
    REQUIRE(code);
    CHECK(code->find("udiv i32") != std::string::npos);
  }
}
