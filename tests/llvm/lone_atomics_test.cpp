// Atomics of launches that are alone are loads and stores; of others, and of scope sys, they are not.
#include "analysis/lanes/lone_atomics.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "ir/function.h"
#include "runtime/abi/lone_launches.h"
#include "runtime/worker/thread_pool.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 100, kBlocks = 3, kWords = 16;

// Thread i of the grid does `code` with %at the address of word 7 * i % 16, %f the float of i, and stores %v
// to out[i].
std::string KernelOf(const std::string& code, uint32_t bytes = 4) {
  return kHead + R"(
.visible .entry k(.param .u64 ptable, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %a, %b, %v, %m; .reg .b64 %table, %out, %at, %own, %d; .reg .f32 %f, %g; .reg .f64 %h;
  ld.param.u64 %table, [ptable];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a, %ctaid.x;
  mov.u32 %b, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %a, %b, %i;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mul.wide.u32 %own, %i, 4;
  add.s64 %own, %out, %own;
  mul.lo.u32 %m, %i, 7;
  and.b32 %m, %m, 15;
  mul.wide.u32 %at, %m, )" +
         std::to_string(bytes) + R"(;
  add.s64 %at, %table, %at;
  cvt.rn.f32.u32 %f, %i;
  cvt.rn.f64.u32 %h, %i;
  add.u32 %b, %i, 1;
  mov.u32 %v, %i;
)" + code +
         "  st.global.u32 [%own], %v;\ndone:\n  ret;\n}\n";
}

struct Results {
  std::vector<uint64_t> table = std::vector<uint64_t>(kWords);
  std::vector<uint32_t> out = std::vector<uint32_t>(kThreads * kBlocks);
};

Results Run(const ptx2cpu_kernel& kernel, uint32_t n) {
  Results results;
  struct {
    uint64_t* table;
    uint32_t* out;
    uint32_t n;
  } parameters{results.table.data(), results.out.data(), n};
  rt::LaunchOptions options;
  options.max_workers = 1;
  const auto error =
      rt::Launch(kernel, {{kBlocks, 1, 1}, {kThreads, 1, 1}},
                 std::as_bytes(std::span(&parameters, 1)).subspan(0, kernel.parameter_bytes), options);
  if (error) FAIL(error->message);
  return results;
}

template <typename Check>
void RunAll(const std::string& text, bool may_be_alone, Check check) {
  const std::pair<const char*, uint32_t> machines[] = {
      {"native", 0}, {"native", 1}, {"x86-64-v3", 8}, {"x86-64-v4", 32}};
  for (const auto& [target, width] : machines) {
    auto jit = lowering::Jit::Create(
        {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width});
    REQUIRE(jit);
    const auto added = (*jit)->Add(BuildKernel(text, "k"), "k");
    if (!added) FAIL(added.error().Render());
    const ptx2cpu_kernel& kernel = *added->kernel;
    INFO(text << target << ", " << width);
    CHECK(((kernel.flags & PTX2CPU_KERNEL_MAY_RUN_ALONE) != 0) == may_be_alone);
    for (const uint32_t n : {1u, 33u, 290u, 300u}) {
      check(Run(kernel, n), n);
      rt::RunningLaunches::Scope other(rt::ThreadPool::Get().launches(), false);
      check(Run(kernel, n), n);
    }
  }
}

// By word: threads below n that update it.
std::vector<uint32_t> ThreadsOf(uint32_t word, uint32_t n) {
  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < n; ++i) {
    if (7 * i % kWords == word) threads.push_back(i);
  }
  return threads;
}
uint32_t WordAt(const Results& results, uint32_t word) {
  uint32_t value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(results.table.data()) + 4 * word, sizeof value);
  return value;
}

}  // namespace

// A launch that waits for another one must let it begin: no loop's end may depend on what memory holds.
TEST_CASE("kernels that may wait for other launches are never alone", "[alone]") {
  const auto may = [](const std::string& body) {
    const BuiltKernel built =
        BuildKernel(kHead +
                        ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n  .reg .pred %p, %q; .reg .b32 "
                        "%a, %i, %n, %o; .reg .b64 %s;\n  ld.param.u64 %s, [p];\n  ld.param.u32 %n, [n];\n"
                        "  mov.u32 %i, 0;\n  ld.global.u32 %o, [%s];\n" +
                        body + "  ret;\n}\n",
                    "k");
    return analysis::MayRunAlone(built.module().functions[0]);
  };
  CHECK(
      may("$L:\n  atom.global.add.u32 %a, [%s], %i;\n  st.global.u32 [%s+4], %a;\n  add.u32 %i, %i, 1;\n"
          "  setp.lt.u32 %p, %i, %n;\n  @%p bra $L;\n"));
  // A semaphore is taken: the word that is compared with is a new one in each turn.
  CHECK(
      !may("$L:\n  mov.u32 %a, %o;\n  sub.u32 %n, %a, 1;\n  max.s32 %n, %n, 0;\n"
           "  atom.global.cas.b32 %o, [%s], %a, %n;\n  setp.ne.u32 %p, %o, %a;\n  @%p bra $L;\n"
           "  setp.eq.u32 %q, %a, 0;\n  @%q bra $L;\n"));
  CHECK(
      !may("$L:\n  red.global.add.u32 [%s], 1;\n  ld.global.u32 %a, [%s+4];\n  setp.eq.u32 %p, %a, 0;\n"
           "  @%p bra $L;\n"));
  // What is loaded decides which number ends the loop.
  CHECK(!may(
      "$L:\n  red.global.add.u32 [%s], 1;\n  ld.global.u32 %a, [%s+4];\n  setp.eq.u32 %p, %a, 0;\n"
      "  @%p bra $M;\n  mov.u32 %i, 1;\n  bra $N;\n$M:\n  mov.u32 %i, 0;\n  red.global.add.u32 [%s], 2;\n"
      "$N:\n  setp.eq.u32 %q, %i, 0;\n  @%q bra $L;\n"));
}

TEST_CASE("counters give each thread a number of its own, alone and beside others", "[alone]") {
  for (const bool is_sys : {false, true}) {
    const std::string scope = is_sys ? ".sys" : "";
    RunAll(KernelOf("  atom.global" + scope + ".add.u32 %v, [%at], 1;\n"), !is_sys,
           [](const Results& results, uint32_t n) {
             for (uint32_t word = 0; word < kWords; ++word) {
               std::vector<uint32_t> numbers;
               for (const uint32_t i : ThreadsOf(word, n)) numbers.push_back(results.out[i]);
               std::ranges::sort(numbers);
               CHECK(WordAt(results, word) == numbers.size());
               for (uint32_t k = 0; k < numbers.size(); ++k) CHECK(numbers[k] == k);
             }
           });
  }
}

TEST_CASE("sums, extrema and words that one thread claims, alone and beside others", "[alone]") {
  RunAll(KernelOf("  red.global.add.f32 [%at], %f;\n"), true, [](const Results& results, uint32_t n) {
    for (uint32_t word = 0; word < kWords; ++word) {
      float sum = 0;
      for (const uint32_t i : ThreadsOf(word, n)) sum += static_cast<float>(i);
      CHECK(std::bit_cast<float>(WordAt(results, word)) == sum);
    }
  });
  RunAll(KernelOf("  red.global.add.f64 [%at], %h;\n", 8), true, [](const Results& results, uint32_t n) {
    for (uint32_t word = 0; word < kWords; ++word) {
      double sum = 0;
      for (const uint32_t i : ThreadsOf(word, n)) sum += i;
      CHECK(std::bit_cast<double>(results.table[word]) == sum);
    }
  });
  RunAll(KernelOf("  red.global.max.u32 [%at], %b;\n"), true, [](const Results& results, uint32_t n) {
    for (uint32_t word = 0; word < kWords; ++word) {
      const auto threads = ThreadsOf(word, n);
      CHECK(WordAt(results, word) == (threads.empty() ? 0 : threads.back() + 1));
    }
  });
  RunAll(KernelOf("  atom.global.cas.b32 %v, [%at], 0, %b;\n"), true, [](const Results& results, uint32_t n) {
    for (uint32_t word = 0; word < kWords; ++word) {
      uint32_t owners = 0;
      for (const uint32_t i : ThreadsOf(word, n)) {
        owners += results.out[i] == 0;
        if (results.out[i] == 0) CHECK(WordAt(results, word) == i + 1);
        if (results.out[i] != 0) CHECK(results.out[i] == WordAt(results, word));
      }
      CHECK(owners == (ThreadsOf(word, n).empty() ? 0 : 1));
    }
  });
  RunAll(KernelOf("  red.global.add.f32 [%table], %f;\n"), true, [](const Results& results, uint32_t n) {
    CHECK(std::bit_cast<float>(WordAt(results, 0)) == static_cast<float>(n * (n - 1) / 2));
  });
  RunAll(KernelOf("  add.s64 %at, %table, 0;\n  shl.b32 %a, %m, 2;\n  atom.global.exch.b32 %v, [%at], %b;\n"),
         true, [](const Results& results, uint32_t n) {
           std::vector<uint32_t> seen(results.out.begin(), results.out.begin() + n);
           seen.push_back(WordAt(results, 0));
           std::ranges::sort(seen);
           for (uint32_t k = 0; k <= n; ++k) CHECK(seen[k] == k);
         });
}
