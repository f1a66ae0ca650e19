// Accesses whose elements have gaps between them, or go downward: one run of memory that a shuffle divides.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/end_of_memory.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

struct Stride {
  int bytes;  // of an element
  int apart;  // elements from thread to thread
};
constexpr uint32_t kThreads = 96, kBase = 420;  // of the first thread, where they go downward

// Thread i < n with i % 8 != hole: out[at + i * apart] = 3 * in[at + i * apart]. Without tests: every thread.
std::string KernelOf(const Stride& stride, bool tests = true) {
  const std::string type = ".b" + std::to_string(8 * stride.bytes), reg = stride.bytes == 8 ? "%d" : "%w";
  const std::string number = stride.bytes == 8 ? "u64" : "u32";
  const std::string load = stride.bytes < 4 ? "u" + type.substr(2) : number;
  const std::string step = std::to_string(stride.bytes * stride.apart),
                    first = std::to_string(stride.apart < 0 ? static_cast<int>(kBase) * stride.bytes : 0);
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn, .param .u32 phole)
)" + (tests ? "" : ".reqntid 96") +
         R"(
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %hole, %low, %w; .reg .b64 %in, %out, %at, %d;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %hole, [phole];
  mov.u32 %i, %tid.x;
)" +
         (tests ? R"(
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra done;
  and.b32 %low, %i, 7;
  setp.eq.u32 %p1, %low, %hole;
  @%p1 bra done;
)"
                : "") +
         R"(
  mul.wide.s32 %at, %i, )" +
         step + ";\n  add.s64 %at, %at, " + first + R"(;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.)" +
         load + " " + reg + ", [%in];\n  mul.lo." + number + " " + reg + ", " + reg + ", 3;\n  st.global." +
         load + " [%out], " + reg + ";\ndone:\n  ret;\n}\n";
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

// Both arrays end with the last element that a thread may access, before memory that does not exist.
void CheckRun(const ptx2cpu_kernel& kernel, const Stride& stride, uint32_t n, uint32_t hole) {
  const auto bytes = static_cast<size_t>(stride.bytes);
  const auto place = [&](uint32_t i) {
    return static_cast<size_t>((stride.apart < 0 ? kBase : 0) + int64_t{i} * stride.apart) * bytes;
  };
  const size_t size = std::max(place(0), place(kThreads - 1)) + bytes;
  const EndOfMemory in_memory(size), out_memory(size);
  const std::span in(in_memory.As<uint8_t>(), size), out(out_memory.As<uint8_t>(), size);
  std::iota(in.begin(), in.end(), uint8_t{1});
  std::ranges::fill(out, uint8_t{7});
  std::vector<uint8_t> expected(out.begin(), out.end());
  for (uint32_t i = 0; i < n; ++i) {
    if (i % 8 == hole) continue;
    uint64_t word = 0;
    std::memcpy(&word, &in[place(i)], bytes);
    word *= 3;
    std::memcpy(&expected[place(i)], &word, bytes);
  }
  struct {
    const uint8_t* in;
    uint8_t* out;
    uint32_t n, hole;
  } params{in.data(), out.data(), n, hole};
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(std::ranges::equal(out, expected));
}

}  // namespace

TEST_CASE("accesses with a short stride are runs of memory, of each type and width", "[strided]") {
  test::Sample sample(7);
  for (const int bytes : {1, 2, 4, 8}) {
    for (const int apart : {-4, -3, -2, -1, 2, 3, 4}) {
      if (sample.Skips()) continue;
      const Stride stride{bytes, apart};
      INFO(bytes << " bytes, " << apart << " elements apart");
      const BuiltKernel module = BuildKernel(KernelOf(stride), "k");
      auto report_jit = lowering::Jit::Create(Options("x86-64-v4", 16));
      REQUIRE(report_jit);
      const auto report = (*report_jit)->ReportLanes(module, "k");
      REQUIRE(report);
      REQUIRE(report->loops.size() == 1);
      CHECK(report->loops[0].loads.strided == 1);
      CHECK(report->loops[0].stores.strided == 1);
      for (const uint32_t width : {8u, 32u}) {
        for (const std::string target : {"native", "x86-64-v3"}) {
          INFO("width " << width << ", " << target);
          auto jit = lowering::Jit::Create(Options(target, width));
          REQUIRE(jit);
          auto compiled = (*jit)->Add(module);
          if (!compiled) FAIL(compiled.error().Render());
          for (const uint32_t n : {0u, 1u, 33u, 96u}) {
            for (const uint32_t hole : {8u, 0u, 5u}) CheckRun(*compiled->kernel, stride, n, hole);
          }
        }
      }
    }
  }
}

TEST_CASE("the last register of a run ends with its last element", "[strided]") {
  test::Sample sample(11);
  for (const int bytes : {1, 2, 4, 8}) {
    for (const int apart : {-4, -2, 2, 3, 4}) {
      if (sample.Skips()) continue;
      const Stride stride{bytes, apart};
      const BuiltKernel module = BuildKernel(KernelOf(stride, false), "k");
      for (const uint32_t width : {4u, 8u, 16u, 32u, 64u}) {
        for (const std::string target : {"native", "x86-64-v4", "x86-64-v3"}) {
          INFO(bytes << " bytes, " << apart << " elements apart, width " << width << ", " << target);
          auto jit = lowering::Jit::Create(Options(target, width));
          REQUIRE(jit);
          auto compiled = (*jit)->Add(module);
          if (!compiled) FAIL(compiled.error().Render());
          CheckRun(*compiled->kernel, stride, kThreads, 8);
        }
      }
    }
  }
}

TEST_CASE("a run of memory of which all lanes are active is loaded without masks", "[strided]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 32));
  REQUIRE(jit);
  const auto text =
      (*jit)->Explain(BuildKernel(KernelOf({4, 2}, false), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  CHECK(text->find("@llvm.masked.load") == std::string::npos);
  CHECK(text->find("load <16 x ") != std::string::npos);
}

TEST_CASE("longer strides are gathers, as are those that machines have no masks for", "[strided]") {
  for (const auto& [target, apart, strided] :
       {std::tuple("x86-64-v4", 5, 0u), std::tuple("x86-64-v3", 3, 0u), std::tuple("x86-64-v3", 2, 1u),
        std::tuple("x86-64-v3", -2, 1u), std::tuple("x86-64-v3", -1, 1u)}) {
    INFO(target << ", " << apart);
    auto jit = lowering::Jit::Create(Options(target, 8));
    REQUIRE(jit);
    const auto report = (*jit)->ReportLanes(BuildKernel(KernelOf({4, apart}), "k"), "k");
    REQUIRE(report);
    REQUIRE(report->loops.size() == 1);
    CHECK(report->loops[0].loads.strided == strided);
  }
}
