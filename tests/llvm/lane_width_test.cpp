// How many lanes a vector holds where the row of threads is known: by what loops keep, on machines with large
// and small register files, and that each width computes the same.
#include <catch2/catch.hpp>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 128;

// out[i] = the sum of `values` floats that grow from in[i], over four trips of a loop or none.
std::string KernelOf(int values, bool has_loop, const std::string& shape) {
  std::string text = kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n" + shape + R"({
  .reg .pred %p; .reg .b32 %i, %k; .reg .f32 %v<100>, %s; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.f32 %v0, [%in];
)";
  const auto number = [](int n) { return "%v" + std::to_string(n); };
  for (int n = 1; n < values; ++n)
    text += "  add.f32 " + number(n) + ", " + number(n - 1) + ", 0f3F800000;\n";
  if (has_loop) text += "  mov.u32 %k, 0;\nLOOP:\n";
  for (int n = 0; n < values; ++n)
    text +=
        "  fma.rn.f32 " + number(n) + ", " + number(n) + ", " + number((n + 1) % values) + ", 0f3F000000;\n";
  if (has_loop) text += "  add.u32 %k, %k, 1;\n  setp.lt.u32 %p, %k, 4;\n  @%p bra LOOP;\n";
  text += "  mov.f32 %s, 0f00000000;\n";
  for (int n = 0; n < values; ++n) text += "  add.f32 %s, %s, " + number(n) + ";\n";
  return text + "  st.global.f32 [%out], %s;\n  ret;\n}\n";
}

lowering::JitOptions Options(const std::string& target, uint32_t width = 0) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

uint32_t WidthOf(const std::string& text, const std::string& target) {
  auto jit = lowering::Jit::Create(Options(target));
  REQUIRE(jit);
  auto report = (*jit)->ReportLanes(BuildKernel(text, "k"), "k");
  REQUIRE(report);
  std::erase_if(report->loops, [](const auto& loop) { return loop.within_rows; });  // the same code once more
  REQUIRE(report->loops.size() == 1);
  return report->loops[0].width;
}

std::vector<float> Run(const std::string& text, const lowering::JitOptions& options) {
  auto jit = lowering::Jit::Create(options);
  REQUIRE(jit);
  auto compiled = (*jit)->Add(BuildKernel(text, "k"));
  if (!compiled) FAIL(compiled.error().Render());
  std::vector<float> in(kThreads), out(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) in[i] = static_cast<float>(i) / 16;
  struct {
    const float* in;
    float* out;
  } params{in.data(), out.data()};
  const auto error = rt::Launch(*compiled->kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
  if (error) FAIL(error->message);
  return out;
}

// Each thread adds up a row of its own, of `n` floats, in its word of memory.
const std::string kOwnRows = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 128
{
  .reg .pred %p; .reg .b32 %i, %n, %k; .reg .f32 %s, %x; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  mul.lo.u32 %i, %i, %n;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  mov.f32 %s, 0f00000000;
  mov.u32 %k, 0;
LOOP:
  ld.global.f32 %x, [%in];
  add.f32 %s, %s, %x;
  st.global.f32 [%out], %s;
  add.s64 %in, %in, 4;
  add.u32 %k, %k, 1;
  setp.lt.u32 %p, %k, %n;
  @%p bra LOOP;
  ret;
}
)";

// out[i] = in[i % n + (i / n) * m], where rows of n may be shorter than a vector.
const std::string kRowsOfData = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn, .param .u32 pm)
.reqntid 128
{
  .reg .b32 %i, %n, %m, %q, %r; .reg .f32 %x; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %m, [pm];
  mov.u32 %i, %tid.x;
  div.s32 %q, %i, %n;
  rem.s32 %r, %i, %n;
  mad.lo.s32 %r, %q, %m, %r;
  mul.wide.s32 %at, %r, 4;
  add.s64 %in, %in, %at;
  ld.global.f32 %x, [%in];
  mul.wide.s32 %at, %i, 4;
  add.s64 %out, %out, %at;
  st.global.f32 [%out], %x;
  ret;
}
)";

}  // namespace

TEST_CASE("vectors hold as many lanes as loops keep values for, in rows of known length", "[width]") {
  struct {
    int values;
    bool has_loop;
    uint32_t on_v4, on_v3;
  } constexpr kCases[] = {
      {60, false, 64, 32},  // a long chain: four registers
      {3, true, 64, 32},    // and where a loop keeps few values
      {6, true, 64, 16},    // two registers of 16
      {12, true, 32, 8},    // one of 16
      {24, true, 16, 8},
      {40, true, 16, 32},  // beyond 16 registers by far: on the stack, with a warp in a vector
      {80, true, 32, 32},
  };
  test::Sample sample(4);
  for (const auto& [values, has_loop, on_v4, on_v3] : kCases) {
    INFO(values << " values" << (has_loop ? " in a loop" : ""));
    const std::string known = KernelOf(values, has_loop, ".reqntid 128\n");
    CHECK(WidthOf(known, "x86-64-v4") == on_v4);
    CHECK(WidthOf(known, "x86-64-v3") == on_v3);
    CHECK(WidthOf(KernelOf(values, has_loop, ""), "x86-64-v3") <= 16);
    const std::vector<float> expected = Run(known, Options("native", 1));
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      INFO(target);
      if (!sample.Skips()) CHECK(Run(known, Options(target)) == expected);
    }
  }
}

namespace {

// out[hash(in[i]) & 15] += i.
std::string Counters(const std::string& shape) {
  return kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n" + shape + R"({
  .reg .b32 %i, %b; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  cvt.u64.u32 %at, %i;
  add.s64 %in, %in, %at;
  ld.global.u8 %b, [%in];
)" + [] {
    std::string text;  // a hash, so that vectors pay
    for (int n = 0; n < 12; ++n) text += "  mad.lo.u32 %b, %b, 5, 7;\n  xor.b32 %b, %b, %i;\n";
    return text;
  }() + R"(  and.b32 %b, %b, 15;
  mul.wide.u32 %at, %b, 4;
  add.s64 %out, %out, %at;
  red.global.add.u32 [%out], %i;
  ret;
}
)";
}

std::vector<uint32_t> Count(const std::string& text, const lowering::JitOptions& options) {
  const SharedKernel kernel = CompileText(text, options);
  harness::KernelCall call{{3, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  auto bytes = rt::ParseSpec("inout:u8:[0]"), counts = rt::ParseSpec("inout:u32:[0]");
  REQUIRE(bytes);
  REQUIRE(counts);
  for (uint32_t i = 1; i < kThreads; ++i) bytes->data.push_back(static_cast<std::byte>(i * i * 7));
  counts->data.resize(16 * sizeof(uint32_t));
  call.arguments = {std::move(*bytes), std::move(*counts)};
  RunOrFail(*kernel, call);
  std::vector<uint32_t> result(16);
  std::memcpy(result.data(), call.arguments[1].data.data(), 16 * sizeof(uint32_t));
  return result;
}

}  // namespace

TEST_CASE("what updates memory lane by lane takes four registers of lanes where masks are registers",
          "[width]") {
  const std::string known = Counters(".reqntid 128\n");
  CHECK(WidthOf(known, "x86-64-v4") == 64);
  CHECK(WidthOf(known, "x86-64-v3") <= 32);
  const std::vector<uint32_t> expected = Count(known, Options("native", 1));
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    INFO(target);
    CHECK(Count(known, Options(target)) == expected);
    CHECK(Count(Counters(""), Options(target)) == expected);
  }
}

namespace {

// out[i] = a sum of `values` words of 64 bits that grow from i, over three trips of a loop.
std::string LongKernel(int values) {
  std::string text = kHead + R"(.visible .entry k(.param .u64 pin, .param .u64 pout)
.reqntid 128
{
  .reg .pred %p; .reg .b32 %i, %k, %low; .reg .f32 %f;
  .reg .b64 %v<100>, %t, %s, %out, %at;
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  cvt.u64.u32 %v0, %i;
)";
  const auto number = [](int n) { return "%v" + std::to_string(n); };
  for (int n = 1; n < values; ++n)
    text += "  mad.lo.u64 " + number(n) + ", " + number(n - 1) + ", 6364136223846793005, 1442695040888963;\n";
  text += "  mov.u32 %k, 0;\nLOOP:\n";
  for (int n = 0; n < values; ++n) {
    text += "  shl.b64 %t, " + number((n + 1) % values) + ", 13;\n";
    text += "  xor.b64 " + number(n) + ", " + number(n) + ", %t;\n";
  }
  text += "  add.u32 %k, %k, 1;\n  setp.lt.u32 %p, %k, 3;\n  @%p bra LOOP;\n  mov.u64 %s, 0;\n";
  for (int n = 0; n < values; ++n) text += "  add.u64 %s, %s, " + number(n) + ";\n";
  // A float of few bits.
  return text + R"(  shr.u64 %s, %s, 48;
  cvt.u32.u64 %low, %s;
  cvt.rn.f32.u32 %f, %low;
  st.global.f32 [%out], %f;
  ret;
}
)";
}

}  // namespace

TEST_CASE("vectors hold as many lanes as loops keep words of 64 bits for", "[width]") {
  struct {
    int values;
    uint32_t on_v4;
  } constexpr kCases[] = {{5, 64}, {12, 16}, {25, 8}};
  for (const auto& [values, on_v4] : kCases) {
    INFO(values << " values");
    const std::string text = LongKernel(values);
    CHECK(WidthOf(text, "x86-64-v4") == on_v4);
    const std::vector<float> expected = Run(text, Options("native", 1));
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      INFO(target);
      CHECK(Run(text, Options(target)) == expected);
    }
  }
}

TEST_CASE("vectors are as short as the lines of rows that one set of a cache holds", "[width]") {
  CHECK(WidthOf(kOwnRows, "x86-64-v4") == 8);
}

TEST_CASE("vectors take two registers where places are divided into rows of the data", "[width]") {
  CHECK(WidthOf(kRowsOfData, "x86-64-v4") == 32);
}
