// The report names what is fast and what is slow in loops over threads.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// A kernel (in: u64, out: u64) with %i, the thread's number, and %in, %out, addresses of its words.
lowering::LaneReport ReportOf(const std::string& body, uint32_t width = 0,
                              const std::string& target = "x86-64-v4") {
  const std::string ptx = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .b32 %i, %v, %w, %u; .reg .b64 %base, %in, %out, %at; .reg .b128 %q;
  ld.param.u64 %base, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %base, %at;
  add.s64 %out, %out, %at;
)" + body + "  ret;\n}\n";
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width});
  REQUIRE(jit);
  auto report = (*jit)->ReportLanes(BuildKernel(ptx, "k"), "k");
  REQUIRE(report);
  return *report;
}

}  // namespace

TEST_CASE("the report counts accesses by what they are in vectors") {
  const auto report = ReportOf(R"(
  ld.global.u32 %v, [%in];
  ld.global.u32 %w, [%base];
  add.u32 %v, %v, %w;
  mul.wide.u32 %at, %v, 4;
  add.s64 %at, %base, %at;
  ld.global.u32 %w, [%at];
  atom.global.add.u32 %v, [%at], %w;
  st.global.u32 [%out], %v;
)",
                               16);
  REQUIRE(report.loops.size() == 1);
  const lowering::LaneReport::Loop& loop = report.loops[0];
  CHECK(loop.width == 16);
  CHECK(loop.loads.consecutive == 1);
  CHECK(loop.loads.gathers == 1);
  CHECK(loop.loads.uniform >= 1);
  CHECK(loop.stores.consecutive == 1);
  CHECK(loop.others_one_by_one == 1);
  CHECK(loop.slow.size() == 2);
  CHECK(loop.why.empty());
}

TEST_CASE("the report states why threads run one by one") {
  const auto asked = ReportOf("  ld.global.u32 %v, [%in];\n  st.global.u32 [%out], %v;\n", 1);
  REQUIRE(asked.loops.size() == 1);
  CHECK(asked.loops[0].width == 1);
  CHECK(asked.loops[0].why.find("width of 1") != std::string::npos);

  const auto atomics = ReportOf("  atom.global.add.u32 %v, [%in], 1;\n  st.global.u32 [%out], %v;\n");
  REQUIRE(atomics.loops.size() == 1);
  CHECK(atomics.loops[0].width == 1);
  CHECK(atomics.loops[0].why.find("operations") != std::string::npos);
}

TEST_CASE("strong accesses of one address are one access of all lanes") {
  const auto report = ReportOf(R"(
  ld.volatile.global.u32 %v, [%base];
  ld.relaxed.gpu.global.u32 %w, [%base+4];
  add.u32 %v, %v, %w;
  st.relaxed.gpu.global.u32 [%base+8], %w;
  ld.volatile.global.u32 %w, [%in+64];
  add.u32 %v, %v, %w;
  st.global.u32 [%out], %v;
)",
                               16);
  REQUIRE(report.loops.size() == 1);
  const lowering::LaneReport::Loop& loop = report.loops[0];
  CHECK(loop.loads.uniform >= 2);
  CHECK(loop.loads.one_by_one == 1);  // each lane's own word
  CHECK(loop.stores.uniform == 1);
  CHECK(loop.stores.consecutive == 1);
}

TEST_CASE("parts of records smaller than words are one run") {
  const auto report = ReportOf(R"(
  .reg .b16 %a, %b, %c, %d;
  ld.global.v4.u8 {%a, %b, %c, %d}, [%in];
  st.global.v4.u8 [%out], {%d, %c, %b, %a};
)",
                               16);
  REQUIRE(report.loops.size() == 1);
  CHECK(report.loops[0].loads.consecutive == 1);
  CHECK(report.loops[0].stores.consecutive == 1);
}

TEST_CASE("long code becomes vectors where the kernel repeats it", "[long]") {
  const std::string exchange =
      "  st.shared.u32 [%own], %v;\n  bar.sync 0;\n  ld.shared.u32 %w, [%other];\n  bar.sync 0;\n";
  std::string steps;
  for (int i = 0; i < 1700; ++i)
    steps += "  mad.lo.u32 %v, %v, %w, " + std::to_string(i) + ";\n  xor.b32 %v, %v, %i;\n";
  const std::string head = R"(
  .shared .align 4 .b8 tile[4096];
  .reg .b32 %own, %other, %n; .reg .pred %p;
  shl.b32 %own, %i, 2;
  xor.b32 %other, %own, 4;
  mov.u32 %v, %i;
  mov.u32 %n, 0;
)";
  const std::string again = "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p, %n, 100;\n  @%p bra $L;\n";
  const auto width_of_longest = [](const lowering::LaneReport& report) {
    uint32_t width = 0, longest = 0;
    for (const lowering::LaneReport::Loop& loop : report.loops) {
      if (loop.last_line - loop.first_line < longest) continue;
      longest = loop.last_line - loop.first_line;
      width = loop.width;
    }
    CHECK(longest > 3000);
    return width;
  };
  CHECK(width_of_longest(ReportOf(head + exchange + steps + "  st.global.u32 [%out], %v;\n")) == 1);
  CHECK(width_of_longest(
            ReportOf(head + "$L:\n" + exchange + steps + "  st.global.u32 [%out], %v;\n" + again)) > 1);
}

// Rows of quantised bytes, one of each thread: one by one, a product of four bytes takes a dozen operations.
TEST_CASE("products of bytes at each thread's own addresses are vectors") {
  std::string body = "  mul.wide.u32 %at, %i, 40;\n  add.s64 %in, %base, %at;\n  mov.u32 %w, 0;\n$L:\n";
  for (const int word : {0, 20, 8, 28, 16, 36}) {
    body += "  ld.global.u32 %v, [%in+" + std::to_string(word) + "];\n";
    body += "  ld.global.u32 %u, [%in+" + std::to_string(word + 400) + "];\n  dp4a.s32.s32 %w, %v, %u, %w;\n";
  }
  body +=
      "  add.s64 %in, %in, 1280;\n  add.u32 %i, %i, 32;\n  setp.lt.u32 %more, %i, 1000;\n  @%more bra $L;\n";
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    const auto report = ReportOf("  .reg .pred %more;\n" + body + "  st.global.u32 [%out], %w;\n", 0, target);
    REQUIRE(!report.loops.empty());
    for (const auto& loop : report.loops) CHECK(loop.width > 1);
  }
}
