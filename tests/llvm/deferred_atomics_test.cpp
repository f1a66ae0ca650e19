// Atomics that a worker collects before they reach memory: their sums, and when other threads see them.
#include "runtime/abi/deferred_atomics.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/worker/thread_pool.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Thread i < n of the grid does `code` with %w a word of its own, and %at the address of word i * step %
// words of the table; %own is the address of word i of `out`.
std::string Tally(const std::string& code, bool is_long = false) {
  return kHead + R"(
.visible .entry tally(.param .u64 ptable, .param .u64 pout, .param .u32 pn, .param .u32 pstep, .param .u32 pwords)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %step, %words, %w, %v, %a, %b; .reg .b64 %table, %out, %at, %own, %d, %e;
  ld.param.u64 %table, [ptable];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %step, [pstep];
  ld.param.u32 %words, [pwords];
  mov.u32 %a, %ctaid.x;
  mov.u32 %b, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %a, %b, %i;
  mul.wide.u32 %own, %i, 4;
  add.s64 %own, %out, %own;
  mul.lo.u32 %a, %i, %step;
  rem.u32 %a, %a, %words;
  mul.wide.u32 %at, %a, )" +
         (is_long ? "8" : "4") + R"(;
  add.s64 %at, %table, %at;
  mul.lo.u32 %w, %i, 2654435761;
  cvt.u64.u32 %d, %w;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra done;
)" + code +
         "done:\n  ret;\n}\n";
}

uint32_t WordOf(uint32_t i) { return i * 2654435761u; }

struct Machine {
  std::string target;
  uint32_t width;
};
const Machine kMachines[] = {{"native", 0}, {"native", 1}, {"x86-64-v3", 8}, {"x86-64-v4", 32}};

struct Kernel {
  std::unique_ptr<lowering::Jit> jit;
  const ptx2cpu_kernel* descriptor;
  bool Defers() const { return (descriptor->flags & PTX2CPU_KERNEL_DEFERS_ATOMICS) != 0; }
  bool Logs() const { return (descriptor->flags & PTX2CPU_KERNEL_LOGS_ATOMICS) != 0; }
};
Kernel Compile(const std::string& ptx, const Machine& machine = kMachines[0]) {
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(),
                                    .target = *lowering::ResolveTarget(machine.target),
                                    .lane_width = machine.width});
  REQUIRE(jit);
  auto compiled = (*jit)->Add(BuildKernel(ptx, "tally"));
  if (!compiled) FAIL(compiled.error().Render());
  return {std::move(*jit), compiled->kernel};
}

struct Launch {
  uint32_t blocks = 1, threads = 96, n = ~0u, step = 1, words = 64;
  unsigned workers = 1;
};
std::optional<rt::LaunchError> Run(const Kernel& kernel, const Launch& launch, void* table, void* out) {
  struct {
    void *table, *out;
    uint32_t n, step, words;
  } params{table, out, launch.n, launch.step, launch.words};
  rt::RunningLaunches::Scope other(rt::ThreadPool::Get().launches(), false);  // alone, nothing waits
  return rt::Launch(*kernel.descriptor, {{launch.blocks, 1, 1}, {launch.threads, 1, 1}, 0},
                    std::as_bytes(std::span(&params, 1)).first(kernel.descriptor->parameter_bytes),
                    {.max_workers = launch.workers});
}
void MustRun(const Kernel& kernel, const Launch& launch, void* table, void* out) {
  if (auto error = Run(kernel, launch, table, out)) FAIL(error->message);
}

template <typename Word, typename Combine>
void CheckSums(const std::string& operation, Combine combine) {
  INFO(operation);
  const bool is_long = sizeof(Word) == 8;
  const std::string ptx =
      Tally("  red.global." + operation + " [%at], " + (is_long ? "%d" : "%w") + ";\n", is_long);
  for (const Machine& machine : kMachines) {
    INFO(machine.target << " " << machine.width);
    const Kernel kernel = Compile(ptx, machine);
    CHECK(kernel.Defers());
    // Few words; as many as entries; far more, which push each other out; some that share an entry.
    for (const Launch& launch : {Launch{.blocks = 40, .n = 3800, .step = 7, .words = 61},
                                 Launch{.blocks = 40, .step = 1, .words = 1024, .workers = 4},
                                 Launch{.blocks = 700, .step = 5, .words = 60000, .workers = 4},
                                 Launch{.blocks = 300, .step = 1024, .words = 8 * 1024}}) {
      std::vector<Word> table(launch.words, 77), expected = table;
      for (uint32_t i = 0; i < std::min(launch.n, launch.blocks * launch.threads); ++i) {
        Word& word = expected[i * launch.step % launch.words];
        word = combine(word, Word{WordOf(i)});
      }
      MustRun(kernel, launch, table.data(), nullptr);
      CHECK(table == expected);
    }
  }
}

template <typename Word>
Word Least(Word a, Word b) {
  return static_cast<std::make_signed_t<Word>>(a) < static_cast<std::make_signed_t<Word>>(b) ? a : b;
}

}  // namespace

TEST_CASE("deferred atomics of all blocks and workers add up", "[deferred][long]") {
  CheckSums<uint32_t>("add.u32", [](auto a, auto b) { return a + b; });
  CheckSums<uint64_t>("add.u64", [](auto a, auto b) { return a + b; });
  CheckSums<uint32_t>("and.b32", [](auto a, auto b) { return a & b; });
  CheckSums<uint64_t>("or.b64", [](auto a, auto b) { return a | b; });
  CheckSums<uint32_t>("xor.b32", [](auto a, auto b) { return a ^ b; });
  CheckSums<uint32_t>("min.s32", [](auto a, auto b) { return Least(a, b); });
  CheckSums<uint64_t>("min.u64", [](auto a, auto b) { return std::min(a, b); });
  CheckSums<uint64_t>("max.s64", [](auto a, auto b) { return Least(a, b) == a ? b : a; });
  CheckSums<uint32_t>("max.u32", [](auto a, auto b) { return std::max(a, b); });
}

TEST_CASE("a block sees what its threads have added", "[deferred][long]") {
  struct Way {
    std::string name, code;
  };
  // Each leaves in %v what the thread's word of the table holds after its own atomic.
  const std::vector<Way> ways = {
      {"a load", "  ld.global.u32 %v, [%at];\n"},
      {"a generic load", "  ld.u32 %v, [%at];\n"},
      {"a load of its other half",
       "  ld.global.u16 %v, [%at];\n  ld.global.u16 %a, [%at+2];\n"
       "  shl.b32 %a, %a, 16;\n  or.b32 %v, %v, %a;\n"},
      {"a volatile load", "  ld.volatile.global.u32 %v, [%at];\n"},
      {"an atomic", "  atom.global.add.u32 %v, [%at], 0;\n"},
      {"another operation", "  atom.global.max.u32 %v, [%at], 0;\n"},
      {"compare and swap", "  atom.global.cas.b32 %v, [%at], 1, 1;\n"},
      {"a fence", "  membar.gl;\n  ld.global.u32 %v, [%at];\n"},
      {"an add of cta scope", "  atom.cta.global.add.u32 %v, [%at], 0;\n"},
  };
  for (const Way& way : ways) {
    INFO(way.name);
    for (const Machine& machine : kMachines) {
      const Kernel kernel = Compile(
          Tally("  red.global.add.u32 [%at], %w;\n" + way.code + "  st.global.u32 [%own], %v;\n"), machine);
      CHECK(kernel.Defers());
      std::vector<uint32_t> table(512, 3), out(512);
      MustRun(kernel, {.blocks = 4, .threads = 128, .n = 500, .step = 1, .words = 512}, table.data(),
              out.data());
      bool same = true;
      for (uint32_t i = 0; i < 500; ++i) same &= out[i] == WordOf(i) + 3;
      CHECK(same);
    }
  }
}

TEST_CASE("a barrier shows what other threads have added, and a store after an atomic stays",
          "[deferred][long]") {
  // Another thread reads the word; then its own adds to it and sets it.
  const std::string code = R"(
  red.global.add.u32 [%at], %w;
  bar.sync 0;
  xor.b32 %a, %i, 31;
  rem.u32 %a, %a, %words;
  mul.wide.u32 %e, %a, 4;
  add.s64 %e, %table, %e;
  ld.global.u32 %v, [%e];
  st.global.u32 [%own], %v;
  bar.sync 0;
  red.global.add.u32 [%at], 1;
  st.global.u32 [%at], 5;
)";
  for (const Machine& machine : kMachines) {
    INFO(machine.target << " " << machine.width);
    const Kernel kernel = Compile(Tally(code), machine);
    CHECK(kernel.Defers());
    std::vector<uint32_t> table(128, 9), out(128), expected(128);
    MustRun(kernel, {.blocks = 1, .threads = 128, .words = 128}, table.data(), out.data());
    for (uint32_t i = 0; i < 128; ++i) expected[i] = 9 + WordOf(i ^ 31);
    CHECK(out == expected);
    CHECK(std::ranges::all_of(table, [](uint32_t word) { return word == 5; }));
  }
}

TEST_CASE("histograms of bytes, of which the window holds all words, a part or none", "[deferred]") {
  // Thread i adds 1 + i to the bin of byte i % 251 of `out`, if the byte is less than `words`.
  const std::string code = R"(
  rem.u32 %a, %i, 251;
  cvt.u64.u32 %d, %a;
  add.s64 %d, %out, %d;
  ld.global.nc.u8 %v, [%d];
  setp.ge.u32 %p1, %v, %words;
  @%p1 bra done;
  mad.wide.u32 %at, %v, %step, %table;
  add.u32 %w, %i, 1;
  red.global.add.u32 [%at], %w;
)";
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 97 + i / 3);
  for (const Machine& machine : kMachines) {
    const Kernel kernel = Compile(Tally(code), machine);
    CHECK(kernel.Defers());
    // All bytes; most; few of a vector; bins that lie further apart than the window is wide, or half a page.
    for (const Launch& launch :
         {Launch{.blocks = 50, .step = 4, .words = 256},
          Launch{.blocks = 50, .step = 4, .words = 250, .workers = 3},
          Launch{.blocks = 50, .step = 4, .words = 9}, Launch{.blocks = 20, .step = 4096, .words = 256},
          Launch{.blocks = 20, .step = 132, .words = 256, .workers = 2},
          Launch{.blocks = 20, .step = 2048, .words = 40}}) {
      INFO(machine.target << " " << machine.width << ", " << launch.step << " " << launch.words);
      std::vector<uint32_t> table(256 * launch.step / 4, 5), expected = table;
      for (uint32_t i = 0; i < launch.blocks * launch.threads; ++i) {
        if (bytes[i % 251] < launch.words) expected[bytes[i % 251] * launch.step / 4] += i + 1;
      }
      MustRun(kernel, launch, table.data(), bytes.data());
      CHECK(table == expected);
    }
  }
}

TEST_CASE("words that a byte chooses by a power of two", "[deferred]") {
  const std::string code = R"(
  and.b32 %a, %i, 63;
  cvt.u64.u32 %d, %a;
  add.s64 %d, %out, %d;
  ld.global.nc.u8 %v, [%d];
  mov.u32 %a, 4;
  shl.b32 %a, %a, %v;
  cvt.u64.u32 %d, %a;
  add.s64 %at, %table, %d;
  red.global.add.u32 [%at], 3;
)";
  std::vector<uint8_t> bytes(64);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 9);
  for (const Machine& machine : kMachines) {
    INFO(machine.target << " " << machine.width);
    const Kernel kernel = Compile(Tally(code), machine);
    CHECK(kernel.Defers());
    std::vector<uint32_t> table(512), expected = table;
    const Launch launch{.blocks = 40};
    for (uint32_t i = 0; i < launch.blocks * launch.threads; ++i) expected[1u << bytes[i % 64]] += 3;
    MustRun(kernel, launch, table.data(), bytes.data());
    CHECK(table == expected);
  }
}

TEST_CASE("words that numbers choose whose sums wrap around in 16 bits, or saturate", "[deferred]") {
  const std::string load = R"(
  .reg .b16 %h;
  and.b32 %a, %i, 255;
  mul.wide.u32 %d, %a, 2;
  add.s64 %d, %out, %d;
  ld.global.nc.u16 %h, [%d];
)";
  // Most words that the numbers choose are near those of 0, 1 and the largest number; others are far away.
  const std::string wraps = load + R"(
  mul.lo.u16 %h, %h, 65533;
  add.u16 %h, %h, 4000;
  mul.wide.u16 %a, %h, 4;
  cvt.u64.u32 %d, %a;
  add.s64 %at, %table, %d;
  red.global.add.u32 [%at], 3;
)";
  const std::string saturates = load + R"(
  cvt.u32.u16 %a, %h;
  add.sat.s32 %a, %a, 0x7FFFF000;
  mul.wide.u32 %d, %a, 4;
  sub.s64 %table, %table, 0x1FFFFC000;
  add.s64 %at, %table, %d;
  red.global.add.u32 [%at], 3;
)";
  std::vector<uint16_t> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i % 31 == 30 ? 257 * i : i);
  for (const Machine& machine : kMachines) {
    for (const bool is_sum : {false, true}) {
      INFO(machine.target << " " << machine.width << ", " << is_sum);
      const Kernel kernel = Compile(Tally(is_sum ? saturates : wraps), machine);
      CHECK(kernel.Defers());
      std::vector<uint32_t> table(65536), expected = table;
      const Launch launch{.blocks = 40};
      for (uint32_t i = 0; i < launch.blocks * launch.threads; ++i) {
        const uint16_t number = numbers[i % 256];
        expected[is_sum ? std::min<uint32_t>(number, 0xFFF) : static_cast<uint16_t>(4000 - 3 * number)] += 3;
      }
      MustRun(kernel, launch, table.data(), numbers.data());
      CHECK(table == expected);
    }
  }
}

TEST_CASE("a word that is misaligned, or beyond the window's pages, faults in its own block", "[deferred]") {
  for (const Machine& machine : kMachines) {
    INFO(machine.target << " " << machine.width);
    // Threads of the first blocks fill the window; those of block 30 go 2 bytes, or 64 pages, further.
    const std::string code = R"(
  setp.ne.u32 %p1, %b, 30;
  mov.u32 %b, %ctaid.x;
  setp.eq.u32 %p1, %b, 30;
  cvt.u64.u32 %d, %step;
  @%p1 add.s64 %at, %at, %d;
  red.global.add.u32 [%at], 1;
)";
    const Kernel kernel = Compile(Tally(code), machine);
    CHECK(kernel.Defers());
    for (const uint32_t step : {2u, 1u << 30}) {
      std::vector<uint32_t> table(64);
      auto error =
          Run(kernel, {.blocks = 31, .threads = 64, .step = step, .words = 1}, table.data(), nullptr);
      REQUIRE(error);
      CHECK(error->block.x == 30);
    }
  }
}

TEST_CASE("atomics wait only where nothing can observe it", "[deferred]") {
  const auto defers = [](const std::string& code) { return Compile(Tally(code)).Defers(); };
  CHECK(defers("  atom.global.add.u32 %v, [%at], %w;\n"));  // its result is not read
  CHECK_FALSE(defers("  atom.global.add.u32 %v, [%at], %w;\n  st.global.u32 [%own], %v;\n"));
  CHECK_FALSE(defers("  red.global.add.u32 [%table], %w;\n"));  // one address: logged
  CHECK_FALSE(defers("  red.global.add.u32 [%own], %w;\n"));    // each thread its own
  CHECK_FALSE(defers("  red.release.gpu.global.add.u32 [%at], %w;\n"));
  CHECK_FALSE(defers("  red.global.inc.u32 [%at], %w;\n"));
  CHECK_FALSE(defers("  red.global.add.u32 [%at], %w;\n  nanosleep.u32 10;\n"));
}

namespace {

// One value of each block, from %w or %d, at the table's first word: %f, %g and %w hold small whole numbers.
std::string OfBlock(const std::string& code) {
  return Tally(
      "  .reg .f32 %f; .reg .f64 %g;\n  and.b32 %w, %i, 1023;\n  cvt.rn.f32.u32 %f, %w;\n"
      "  cvt.rn.f64.u32 %g, %w;\n  mov.u32 %a, %tid.x;\n  setp.ne.u32 %p1, %a, 5;\n  @%p1 bra done;\n" +
      code);
}

// `blocks` of 32 threads; what the table's first words hold, which began as zeros.
template <typename Word>
std::array<Word, 2> AfterBlocks(const std::string& code, const Machine& machine, uint32_t blocks,
                                unsigned workers) {
  const Kernel kernel = Compile(OfBlock(code), machine);
  CHECK(kernel.Logs());
  std::array<Word, 2> table = {};
  std::vector<uint32_t> out(blocks * 32);
  MustRun(kernel, {.blocks = blocks, .threads = 32, .workers = workers}, table.data(), out.data());
  return table;
}

}  // namespace

TEST_CASE("atomics on words of the whole grid are logged, in their order", "[deferred][long]") {
  constexpr uint32_t kBlocks = 3000;  // more than a log holds
  uint64_t sum = 0, greatest = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const uint64_t value = (block * 32 + 5) & 1023;
    sum += value, greatest = std::max(greatest, value);
  }
  for (const Machine& machine : kMachines) {
    for (const unsigned workers : {1u, 4u}) {
      INFO(machine.target << " " << machine.width << ", " << workers);
      const auto words = [&](const char* code) {
        return AfterBlocks<uint32_t>(code, machine, kBlocks, workers);
      };
      CHECK(words("  red.global.add.u32 [%table], %w;\n")[0] == sum);
      CHECK(words("  red.global.max.u32 [%table+4], %w;\n")[1] == greatest);
      const auto floats =
          AfterBlocks<float>("  red.global.add.f32 [%table], %f;\n  red.global.add.f32 [%table+4], %f;\n",
                             machine, kBlocks, workers);
      CHECK((floats[0] == static_cast<float>(sum) && floats[1] == floats[0]));
      CHECK(AfterBlocks<double>("  red.global.add.f64 [%table+8], %g;\n", machine, kBlocks, workers)[1] ==
            static_cast<double>(sum));
    }
    // Each addition is rounded: 2^24 + 1 + 1 is 2^24. Subnormal numbers count as zeros.
    const std::string large =
        "  mov.f32 %f, 0f3f800000;\n  setp.eq.u32 %p2, %i, 5;\n  @%p2 mov.f32 %f, 0f4b800000;\n";
    CHECK(AfterBlocks<float>(large + "  red.global.add.f32 [%table], %f;\n", machine, 40, 1)[0] ==
          16777216.0f);
    CHECK(AfterBlocks<float>("  red.global.add.f32 [%table], 0f00000007;\n", machine, 40, 2)[0] == 0.0f);
    CHECK(AfterBlocks<double>("  red.global.add.f64 [%table], 0d0000000000000007;\n", machine, 40, 2)[0] ==
          40 * 7 * 4.9406564584124654e-324);
  }
}

TEST_CASE("atomics are logged only where nothing looks at them", "[deferred]") {
  const auto logs = [](const std::string& code) { return Compile(OfBlock(code)).Logs(); };
  CHECK(logs("  red.global.add.f32 [%table], %f;\n"));
  CHECK(
      logs("  ld.global.u32 %v, [%at];\n  st.global.u32 [%own], %v;\n  red.global.add.f32 [%table], %f;\n"));
  CHECK_FALSE(
      logs("  red.global.add.f32 [%table], %f;\n  ld.global.u32 %v, [%at];\n  st.global.u32 [%own], %v;\n"));
  CHECK_FALSE(logs("  red.global.add.f32 [%at], %f;\n"));
  CHECK_FALSE(logs("  red.global.add.noftz.f16x2 [%table], %w;\n"));
  CHECK_FALSE(logs("  atom.global.add.f32 %f, [%table], %f;\n  st.global.f32 [%own], %f;\n"));
  // What orders comes after all that are in the log.
  const std::string ticket =
      "  red.global.add.u32 [%table], %w;\n  membar.gl;\n  atom.global.add.u32 %v, [%table+4], 1;\n";
  CHECK(logs(ticket));
  for (const Machine& machine : kMachines) CHECK(AfterBlocks<uint32_t>(ticket, machine, 700, 4)[1] == 700);
}

TEST_CASE("a logged atomic at a bad address faults in its own block", "[deferred]") {
  const Kernel kernel = Compile(OfBlock("  red.global.add.f32 [%table], %f;\n"));
  auto error = Run(kernel, {.blocks = 7, .threads = 32}, reinterpret_cast<void*>(64), nullptr);
  REQUIRE(error);
  CHECK(error->kind == rt::LaunchError::Kind::kFault);
  CHECK(error->block.x == 0);
}

TEST_CASE("an atomic at a bad address faults, and nothing of that launch is added later", "[deferred]") {
  const Kernel kernel = Compile(Tally("  red.global.add.u32 [%at], %w;\n"));
  std::vector<uint32_t> table(64);
  auto error = Run(kernel, {.threads = 32, .step = 1u << 29, .words = 1u << 31}, table.data(), nullptr);
  REQUIRE(error);
  CHECK(error->kind == rt::LaunchError::Kind::kFault);
  std::ranges::fill(table, 0);
  MustRun(kernel, {.threads = 32, .n = 0}, table.data(), nullptr);
  CHECK(std::ranges::all_of(table, [](uint32_t word) { return word == 0; }));
}
