// Threads that are numbered through rows of data, whose steps end where a row does: results are those of
// threads one by one, for rows of every length, where rows divide each other or not, and where places wrap
// around.
#include <catch2/catch.hpp>
#include <functional>
#include <tuple>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 200, kBlocks = 3;

// out[thread] of `body`, which sets %v from %i, the thread's place (its number in the grid and an offset),
// and the numbers %a and %b. %in has 4096 words.
std::string Kernel(const std::string& body, const std::string& required = "") {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 poffset, .param .u32 pa, .param .u32 pb)
)" + required +
         R"(
{
  .reg .pred %p<4>; .reg .b32 %t, %i, %a, %b, %v, %r<16>; .reg .b64 %in, %out, %at, %d<8>;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %i, [poffset];
  ld.param.u32 %a, [pa];
  ld.param.u32 %b, [pb];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %t, %r0, %r1, %r2;
  add.u32 %i, %i, %t;
)" + body +
         R"(
  mul.wide.u32 %at, %t, 4;
  add.s64 %out, %out, %at;
  st.global.u32 [%out], %v;
  ret;
}
)";
}

// The element in a row and the row's own, where there is one.
const std::string kLoads = R"(
  and.b32 %r7, %r5, 1023;
  mul.wide.u32 %d0, %r7, 4;
  add.s64 %d0, %in, %d0;
  ld.global.u32 %r8, [%d0];
  setp.lt.u32 %p0, %r6, 2048;
  mov.u32 %r9, 77;
  mul.wide.s32 %d1, %r6, 4;
  add.s64 %d1, %in, %d1;
  @%p0 ld.global.u32 %r9, [%d1+4096];
  mad.lo.u32 %v, %r8, 3, %r9;
  mad.lo.u32 %v, %r5, 5, %v;
  mad.lo.u32 %v, %r6, 7, %v;
)";

const std::string kSigned = "  div.s32 %r5, %i, %a;\n  rem.s32 %r6, %i, %a;\n" + kLoads;
const std::string kUnsigned = "  div.u32 %r5, %i, %a;\n  rem.u32 %r6, %i, %a;\n" + kLoads;
// Planes of rows: i / (a * b), (i / a) % b, i - i / a * a.
const std::string kPlanes = R"(
  mul.lo.s32 %r3, %a, %b;
  div.s32 %r4, %i, %a;
  div.s32 %r10, %i, %r3;
  rem.s32 %r5, %r4, %b;
  mul.lo.s32 %r11, %r4, %a;
  sub.s32 %r6, %i, %r11;
)" + kLoads + "  mad.lo.u32 %v, %r10, 11, %v;\n";
// By two numbers of which none need divide the other.
const std::string kTwo = "  div.s32 %r5, %i, %a;\n  rem.s32 %r6, %i, %b;\n" + kLoads;
const std::string kByNumber = "  div.u32 %r5, %i, 56;\n  rem.u32 %r6, %i, 56;\n" + kLoads;
// In an arm that some threads take; 64 bits.
const std::string kArm = R"(
  mov.u32 %v, %b;
  setp.gt.u32 %p1, %t, %b;
  @%p1 bra DONE;
)" + kSigned + "DONE:\n";
const std::string kLong = R"(
  cvt.u64.u32 %d2, %t;
  cvt.u64.u32 %d3, %a;
  add.s64 %d2, %d2, 4294967290;
  div.u64 %d4, %d2, %d3;
  rem.u64 %d5, %d2, %d3;
  cvt.u32.u64 %r5, %d4;
  cvt.u32.u64 %r6, %d5;
)" + kLoads;

using Compiled = std::shared_ptr<JitKernel>;

Compiled Compile(const std::string& text, const lowering::JitOptions& options) {
  auto kernel = JitKernel::Create(BuildKernel(text, "k"), options);
  if (!kernel) FAIL(kernel.error().Render());
  return *kernel;
}

std::vector<std::byte> Run(const Compiled& kernel, uint32_t offset, uint32_t a, uint32_t b) {
  harness::KernelCall call{{kBlocks, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const std::string& spec :
       {std::string("in:u32:gen(iota,4096,1)"), "out:u32:" + std::to_string(kThreads * kBlocks),
        "u32:" + std::to_string(offset), "u32:" + std::to_string(a), "u32:" + std::to_string(b)}) {
    auto argument = rt::ParseSpec(spec);
    REQUIRE(argument);
    call.arguments.push_back(std::move(*argument));
  }
  const Status status = kernel->Run(call);
  if (!status) FAIL(status.error().Render());
  return call.arguments[1].data;
}

const std::string kShape = ".reqntid 200, 1, 1";

lowering::LaneReport ReportOf(const std::string& body, const std::string& omit = "") {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .omit = omit});
  REQUIRE(jit);
  auto report = (*jit)->ReportLanes(BuildKernel(Kernel(body, kShape), "k"), "k");
  REQUIRE(report);
  return *report;
}

bool IsWithinRows(const lowering::LaneReport& report) {
  return std::ranges::any_of(report.loops, &lowering::LaneReport::Loop::within_rows);
}

}  // namespace

TEST_CASE("steps that end with the rows of data do what their threads do", "[quotients][long]") {
  const std::tuple<const char*, uint32_t, std::string> forms[] = {
      {"native", 0, ""},        {"native", 0, kShape}, {"native", 8, kShape}, {"native", 64, ""},
      {"x86-64-v3", 0, kShape}, {"x86-64-v3", 8, ""},  {"x86-64-v2", 0, ""}};
  for (const std::string& body : {kSigned, kUnsigned, kPlanes, kTwo, kByNumber, kArm, kLong}) {
    const Compiled plain = Compile(Kernel(body), {.lane_width = 1});
    for (const auto& [target, width, required] : forms) {
      const Compiled kernel =
          Compile(Kernel(body, required), {.target = *lowering::ResolveTarget(target), .lane_width = width});
      for (uint32_t a : {0u, 1u, 7u, 8u, 9u, 14u, 24u, 33u, 56u, 64u, 199u, 300u, 0x7fffff00u, 0xfffffff0u}) {
        for (uint32_t b : {0u, 1u, 4u, 56u, 112u}) {
          for (uint32_t offset : {0u, 5u, 0x7ffffff0u, 0xffffff80u}) {
            INFO(body << target << ", " << width << required << ": " << offset << ", " << a << ", " << b);
            CHECK(Run(kernel, offset, a, b) == Run(plain, offset, a, b));
          }
        }
      }
    }
  }
}

TEST_CASE("within rows of data what depends on the row is computed once", "[quotients]") {
  for (const std::string& body : {kSigned, kUnsigned, kPlanes, kByNumber, kArm}) {
    const lowering::LaneReport report = ReportOf(body);
    CHECK(IsWithinRows(report));
    const auto rows = std::ranges::find_if(report.loops, &lowering::LaneReport::Loop::within_rows);
    CHECK(rows->loads.gathers == 0);
    CHECK(rows->loads.consecutive == 1);  // what lies in the row
    CHECK(rows->loads.tested == 0);       // the row's own element is uniform
    CHECK(!IsWithinRows(ReportOf(body, "divide-rows")));
  }
  // Short rows, and places of two kinds.
  CHECK(!IsWithinRows(ReportOf("  div.u32 %r5, %i, 5;\n  rem.u32 %r6, %i, 5;\n" + kLoads)));
  CHECK(!IsWithinRows(
      ReportOf("  div.u32 %r5, %i, %a;\n  add.u32 %r3, %i, 3;\n  rem.u32 %r6, %r3, %a;\n" + kLoads)));
}
