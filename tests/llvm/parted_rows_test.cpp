// Rows of elements that neighbouring threads accessed side by side before their loops took as many trips
// each, or did not: one access where they still are, else each lane's own.
#include <catch2/catch.hpp>
#include <string>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96, kMaxTrips = 4;
constexpr size_t kParamBytes = 28;

struct Rows {
  int bytes;  // of an element
  int count;
};

// Thread i with first <= i < n: after 1 + (i * uneven) % 4 trips of a block's rows each, its row plus 1.
std::string KernelOf(const Rows& rows) {
  const std::string bits = std::to_string(rows.bytes * 8), row = std::to_string(rows.bytes * rows.count);
  std::string list, sums;
  for (int k = 0; k < rows.count; ++k) {
    const std::string word = "%w" + std::to_string(k);
    list += (k == 0 ? "" : ", ") + word;
    sums += "  add.u" + bits + " " + word + ", " + word + ", 1;\n";
  }
  const std::string access = ".global.v" + std::to_string(rows.count) + ".u" + bits;
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pfirst, .param .u32 pn, .param .u32 puneven)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %first, %uneven, %trips, %block; .reg .b64 %in, %out, %offset, %step;
  .reg .b)" +
         bits + R"( %w<4>;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %first, [pfirst];
  ld.param.u32 %n, [pn];
  ld.param.u32 %uneven, [puneven];
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ntid.x;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra done;
  setp.lt.u32 %p1, %i, %first;
  @%p1 bra done;
  mul.wide.u32 %offset, %i, )" +
         row + R"(;
  mul.wide.u32 %step, %block, )" +
         row + R"(;
  mul.lo.u32 %trips, %i, %uneven;
  and.b32 %trips, %trips, 3;
again:
  add.u64 %offset, %offset, %step;
  sub.s32 %trips, %trips, 1;
  setp.ge.s32 %p2, %trips, 0;
  @%p2 bra again;
  add.u64 %in, %in, %offset;
  add.u64 %out, %out, %offset;
  ld)" + access +
         " {" + list + "}, [%in];\n" + sums + "  st" + access + " [%out], {" + list +
         "};\ndone:\n  ret;\n}\n";
}

void CheckRun(const ptx2cpu_kernel& kernel, const Rows& rows, uint32_t first, uint32_t n, uint32_t uneven) {
  const auto bytes = static_cast<size_t>(rows.bytes), row = bytes * static_cast<size_t>(rows.count);
  std::vector<uint64_t> in(kThreads * (kMaxTrips + 1) * row / 8), out(in.size(), 7);
  for (size_t i = 0; i < in.size(); ++i) in[i] = i * i % 251 + (i << 32);
  std::vector<uint64_t> expected = out;
  for (uint32_t i = first; i < n; ++i) {
    const size_t at = (i + (1 + i * uneven % kMaxTrips) * kThreads) * row;
    for (size_t k = at; k < at + row; k += bytes) {
      uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const uint8_t*>(in.data()) + k, bytes);
      ++word;
      std::memcpy(reinterpret_cast<uint8_t*>(expected.data()) + k, &word, bytes);
    }
  }
  struct {
    const uint64_t* in;
    uint64_t* out;
    uint32_t first, n, uneven;
  } params{in.data(), out.data(), first, n, uneven};
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(kParamBytes), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(out == expected);
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

void CheckReport(const ir::Module& module) {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  const auto report = (*jit)->ReportLanes(module, "k");
  REQUIRE(report);
  REQUIRE(report->loops.size() == 1);
  CHECK(report->loops[0].loads.tested == 1);
  CHECK(report->loops[0].stores.tested == 1);
}

}  // namespace

TEST_CASE("rows that parted threads may still access side by side", "[own_rows][long]") {
  for (const Rows rows : {Rows{4, 2}, Rows{4, 4}, Rows{8, 2}}) {
    INFO(rows.count << " elements of " << rows.bytes << " bytes");
    const BuiltKernel module = BuildKernel(KernelOf(rows), "k");
    CheckReport(module);
    for (const uint32_t width : {4u, 16u, 32u}) {
      for (const std::string target : {"native", "x86-64-v3", "x86-64-v2"}) {
        INFO("width " << width << ", " << target);
        auto jit = lowering::Jit::Create(Options(target, width));
        REQUIRE(jit);
        auto compiled = (*jit)->Add(module);
        if (!compiled) FAIL(compiled.error().Render());
        for (const uint32_t n : {0u, 33u, 96u}) {
          for (const uint32_t first : {0u, 5u}) {
            for (const uint32_t uneven : {0u, 1u}) CheckRun(*compiled->kernel, rows, first, n, uneven);
          }
        }
      }
    }
  }
}
