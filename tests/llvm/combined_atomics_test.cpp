// Atomics of all threads at one address: one of a vector of them goes to memory.
#include <algorithm>
#include <catch2/catch.hpp>

#include "lowering/llvm/module/lane_report.h"
#include "runtime/worker/thread_pool.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

struct Operation {
  std::string name, type;
  uint64_t start;
  uint64_t (*combine)(uint64_t, uint64_t);
};
uint64_t Signed(uint64_t word) { return static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)}); }
const std::vector<Operation> kOperations = {
    {"add", "u32", 5, [](uint64_t a, uint64_t b) { return a + b; }},
    {"add", "u64", 5, [](uint64_t a, uint64_t b) { return a + b; }},
    {"and", "b32", ~0u, [](uint64_t a, uint64_t b) { return a & b; }},
    {"or", "b32", 0, [](uint64_t a, uint64_t b) { return a | b; }},
    {"xor", "b64", 99, [](uint64_t a, uint64_t b) { return a ^ b; }},
    {"min", "u32", ~0u, [](uint64_t a, uint64_t b) { return std::min(a, b); }},
    {"max", "u32", 0, [](uint64_t a, uint64_t b) { return std::max(a, b); }},
    {"min", "s32", 7,
     [](uint64_t a, uint64_t b) {
       return static_cast<int64_t>(Signed(a)) < static_cast<int64_t>(Signed(b)) ? a : b;
     }},
    {"max", "s32", 0x80000000u,
     [](uint64_t a, uint64_t b) {
       return static_cast<int64_t>(Signed(a)) > static_cast<int64_t>(Signed(b)) ? a : b;
     }},
};

// Thread i < n, i % 3 != 1: op(total, word of i); `result`: and stores what was there to out[i].
std::string KernelOf(const Operation& op, bool result, const std::string& word = "") {
  const bool is_long = op.type.ends_with("64");
  const std::string reg = is_long ? "%d" : "%w", old = is_long ? "%e" : "%v", bits = is_long ? "64" : "32";
  return kHead + R"(
.visible .entry k(.param .u64 ptotal, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %rest, %w, %v; .reg .b64 %total, %out, %at, %d, %e;
  ld.param.u64 %total, [ptotal];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra done;
  rem.u32 %rest, %i, 3;
  setp.eq.u32 %p1, %rest, 1;
  @%p1 bra done;
  mul.lo.u32 %w, %i, 2654435761;
  cvt.u64.u32 %d, %w;
)" + word +
         (result ? "  atom.global." : "  red.global.") + op.name + "." + op.type +
         (result ? " " + old + "," : "") + " [%total], " + reg + ";\n" +
         (result ? "  mul.wide.u32 %at, %i, " + std::string(is_long ? "8" : "4") +
                       ";\n  add.s64 %at, %out, %at;\n  st.global.u" + bits + " [%at], " + old + ";\n"
                 : "") +
         "done:\n  ret;\n}\n";
}

uint64_t WordOf(uint32_t i) { return i * 2654435761u; }
bool TakesPart(uint32_t i, uint32_t n) { return i < n && i % 3 != 1; }

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

struct Ran {
  uint64_t total = 0;
  std::vector<uint64_t> old;  // 64-bit words, or 32-bit ones in halves
};
Ran RunOnce(const ptx2cpu_kernel& kernel, uint64_t start, uint32_t n) {
  Ran ran{start, std::vector<uint64_t>(128)};
  struct {
    uint64_t* total;
    uint64_t* out;
    uint32_t n;
  } params{&ran.total, ran.old.data(), n};
  const auto bytes = std::as_bytes(std::span(&params, 1)).first(kernel.parameter_bytes);
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {96, 1, 1}, 0}, bytes, {.max_workers = 1});
  if (error) FAIL(error->message);
  return ran;
}
// Alone, and as beside another launch.
Ran Run(const ptx2cpu_kernel& kernel, uint64_t start, uint32_t n) {
  const Ran alone = RunOnce(kernel, start, n);
  rt::RunningLaunches::Scope other(rt::ThreadPool::Get().launches(), false);
  Ran beside = RunOnce(kernel, start, n);
  CHECK(alone.total == beside.total);
  CHECK(alone.old == beside.old);
  return beside;
}

}  // namespace

TEST_CASE("atomics of all threads at one address are one of a vector", "[atomics]") {
  test::Sample sample(5);
  for (const Operation& op : kOperations) {
    INFO(op.name << "." << op.type);
    const BuiltKernel module = BuildKernel(KernelOf(op, false), "k");
    auto reporting = lowering::Jit::Create(Options("x86-64-v4", 16));
    REQUIRE(reporting);
    const auto report = (*reporting)->ReportLanes(module, "k");
    REQUIRE(report);
    REQUIRE(report->loops.size() == 1);
    CHECK(report->loops[0].others_one_by_one == 0);
    const uint64_t mask = op.type.ends_with("64") ? ~uint64_t{0} : 0xffffffff;
    for (const std::string target : {"native", "x86-64-v3"}) {
      for (const uint32_t width : {8u, 32u}) {
        if (sample.Skips()) continue;
        auto jit = lowering::Jit::Create(Options(target, width));
        REQUIRE(jit);
        auto compiled = (*jit)->Add(module);
        if (!compiled) FAIL(compiled.error().Render());
        for (const uint32_t n : {0u, 1u, 33u, 96u}) {
          uint64_t expected = op.start;
          for (uint32_t i = 0; i < n; ++i) {
            if (TakesPart(i, n)) expected = op.combine(expected, WordOf(i)) & mask;
          }
          CHECK((Run(*compiled->kernel, op.start, n).total & mask) == expected);
        }
      }
    }
  }
}

TEST_CASE("sums that threads take part in know what was there before each", "[atomics]") {
  for (size_t number : {0, 1}) {
    const Operation& op = kOperations[number];
    auto jit = lowering::Jit::Create(Options("native", 32));
    REQUIRE(jit);
    auto compiled = (*jit)->Add(BuildKernel(KernelOf(op, true), "k"));
    if (!compiled) FAIL(compiled.error().Render());
    const Ran ran = Run(*compiled->kernel, op.start, 90);
    const size_t bytes = number == 0 ? 4 : 8;
    // In some order each thread finds the sum of those before it.
    std::vector<std::pair<uint64_t, uint32_t>> order;
    for (uint32_t i = 0; i < 90; ++i) {
      uint64_t old = 0;
      std::memcpy(&old, reinterpret_cast<const std::byte*>(ran.old.data()) + i * bytes, bytes);
      if (TakesPart(i, 90)) order.push_back({old, i});
    }
    const uint64_t mask = number == 0 ? 0xffffffff : ~uint64_t{0};
    uint64_t sum = op.start;
    while (!order.empty()) {
      const auto next = std::ranges::find(order, sum, &std::pair<uint64_t, uint32_t>::first);
      REQUIRE(next != order.end());
      sum = (sum + WordOf(next->second)) & mask;
      order.erase(next);
    }
    CHECK((ran.total & mask) == sum);
  }
}

TEST_CASE("other atomics whose result is read go one by one, as those at addresses of their own",
          "[atomics]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto one_by_one = [&](const std::string& ptx) {
    const auto report = (*jit)->ReportLanes(BuildKernel(ptx, "k"), "k");
    REQUIRE(report);
    REQUIRE(report->loops.size() == 1);
    return report->loops[0].others_one_by_one;
  };
  CHECK(one_by_one(KernelOf(kOperations[0], true)) == 0);
  CHECK(one_by_one(KernelOf(kOperations[2], true)) == 1);
  CHECK(one_by_one(KernelOf(kOperations[0], false, "  add.s64 %total, %total, %d;\n")) == 1);
}
