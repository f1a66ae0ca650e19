// Several elements side by side at each lane's own address: one access for each lane, and shuffles.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96;
constexpr size_t kParamBytes = 36;
constexpr int kNowhere = 0x7ffffff0;  // what threads that access nothing have as their row

struct Rows {
  int bytes;  // of an element
  int count;
};

// Thread i < n with i % 8 != hole: all elements of row at[i] of `in`, in reverse, plus 1, to that of `out`.
std::string KernelOf(const Rows& rows) {
  const std::string type = rows.bytes == 8 ? "u64" : "u32", reg = rows.bytes == 8 ? "%d" : "%w";
  auto place = [&](int k) { return "+" + std::to_string(k * rows.bytes) + "]"; };
  std::string body;
  for (int k = 0; k < rows.count; ++k)
    body += "  ld.global." + type + " " + reg + std::to_string(k) + ", [%in" + place(k) + ";\n";
  for (int k = 0; k < rows.count; ++k) {
    const std::string from = reg + std::to_string(rows.count - 1 - k);
    body += "  add." + type + " " + from + ", " + from + ", 1;\n  st.global." + type + " [%out" + place(k) +
            ", " + from + ";\n";
  }
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pat, .param .u32 ppitch, .param .u32 pn,
                  .param .u32 phole)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %hole, %low, %row, %pitch, %w<4>; .reg .b64 %in, %out, %at, %d<4>;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u64 %at, [pat];
  ld.param.u32 %pitch, [ppitch];
  ld.param.u32 %n, [pn];
  ld.param.u32 %hole, [phole];
  mov.u32 %i, %tid.x;
  mad.wide.u32 %at, %i, 4, %at;
  ld.global.u32 %row, [%at];
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra done;
  and.b32 %low, %i, 7;
  setp.eq.u32 %p1, %low, %hole;
  @%p1 bra done;
  mad.wide.s32 %in, %row, %pitch, %in;
  mad.wide.s32 %out, %row, %pitch, %out;
)" + body +
         "done:\n  ret;\n}\n";
}

void CheckRun(const ptx2cpu_kernel& kernel, const Rows& rows, uint32_t n, uint32_t hole) {
  const auto pitch = static_cast<size_t>(rows.bytes) * 5, bytes = static_cast<size_t>(rows.bytes);
  std::vector<uint8_t> in(kThreads * pitch), out(in.size(), 7);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * i % 251);
  std::vector<uint8_t> expected = out;
  std::vector<int> at(kThreads, kNowhere);
  for (uint32_t i = 0; i < n; ++i) {
    if (i % 8 == hole) continue;
    at[i] = static_cast<int>(i * 7 % kThreads);
    const size_t row = static_cast<size_t>(at[i]) * pitch;
    for (size_t k = 0; k < static_cast<size_t>(rows.count); ++k) {
      uint64_t word = 0;
      std::memcpy(&word, &in[row + (static_cast<size_t>(rows.count) - 1 - k) * bytes], bytes);
      ++word;
      std::memcpy(&expected[row + k * bytes], &word, bytes);
    }
  }
  struct {
    const uint8_t* in;
    uint8_t* out;
    const int* at;
    uint32_t pitch, n, hole;
  } params{in.data(), out.data(), at.data(), static_cast<uint32_t>(pitch), n, hole};
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(kParamBytes), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(out == expected);
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

}  // namespace

TEST_CASE("rows at each thread's own address, of each type and width", "[own_rows]") {
  test::Sample sample(5);
  for (const int bytes : {4, 8}) {
    for (const int count : {2, 3, 4}) {
      const Rows rows{bytes, count};
      INFO(count << " elements of " << bytes << " bytes");
      const BuiltKernel module = BuildKernel(KernelOf(rows), "k");
      auto report_jit = lowering::Jit::Create(Options("x86-64-v4", 16));
      REQUIRE(report_jit);
      const auto report = (*report_jit)->ReportLanes(module, "k");
      REQUIRE(report);
      REQUIRE(report->loops.size() == 1);
      CHECK(report->loops[0].loads.gathers == 1);
      CHECK(report->loops[0].stores.gathers == 1);
      for (const uint32_t width : {4u, 8u, 32u}) {
        for (const std::string target : {"native", "x86-64-v3", "x86-64-v2"}) {
          INFO("width " << width << ", " << target);
          if (sample.Skips()) continue;
          auto jit = lowering::Jit::Create(Options(target, width));
          REQUIRE(jit);
          auto compiled = (*jit)->Add(module);
          if (!compiled) FAIL(compiled.error().Render());
          for (const uint32_t n : {0u, 1u, 33u, 96u}) {
            for (const uint32_t hole : {8u, 0u, 5u}) CheckRun(*compiled->kernel, rows, n, hole);
          }
        }
      }
    }
  }
}
