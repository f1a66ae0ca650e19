// Threads that exchange elements of shared memory by permutations within a few lanes: loads and stores of
// known patterns, under masks, of words and double words, at every width.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>

#include "lowering/llvm/module/lane_report.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kMaxThreads = 160, kElements = 1024;

struct Permutation {
  std::string what;
  std::string place;  // %q of the thread's number %i and a distance %d; %a, %b: for the way
  std::function<uint32_t(uint32_t i, uint32_t d)> at;
};
const Permutation kCases[] = {
    {"the other one of a pair", "xor.b32 %q, %i, %d;", [](uint32_t i, uint32_t d) { return i ^ d; }},
    {"the mirrored place", "sub.u32 %a, %d, 1; xor.b32 %q, %i, %a;",
     [](uint32_t i, uint32_t d) { return i ^ (d - 1); }},
    {"the lower one of a pair",
     "sub.u32 %a, %d, 1; and.b32 %a, %i, %a; shl.b32 %b, %i, 1; sub.u32 %q, %b, %a;",
     [](uint32_t i, uint32_t d) { return 2 * i - (i & (d - 1)); }},
    {"the upper one of a pair",
     "sub.u32 %a, %d, 1; and.b32 %a, %i, %a; shl.b32 %b, %i, 1; sub.u32 %q, %b, %a; add.u32 %q, %q, %d;",
     [](uint32_t i, uint32_t d) { return 2 * i - (i & (d - 1)) + d; }},
    {"rows that are three places apart",
     "div.u32 %a, %i, %d; rem.u32 %b, %i, %d; mul.lo.u32 %a, %a, 3; mad.lo.u32 %q, %a, %d, %b;",
     [](uint32_t i, uint32_t d) { return i / d * 3 * d + i % d; }},
    {"the other one, of a number with which lanes leave a loop in different trips",
     "{ mov.u32 %q, %i; shr.u32 %a, %i, 3; and.b32 %a, %a, 1;\n"
     "AGAIN: add.u32 %q, %q, 256; setp.ne.u32 %p2, %a, 0; sub.u32 %a, %a, 1;\n"
     "@%p2 bra AGAIN; xor.b32 %q, %q, %d; }",
     [](uint32_t i, uint32_t d) { return (i + 256 * (1 + (i >> 3 & 1))) ^ d; }},
};

// Each thread whose number leaves none of the bits %m stores its word, times 5, at its place; then each
// stores to memory what it loads from its own place and from the first element on.
// What a thread stores and loads at a time.
struct Element {
  const char *what, *type, *bytes, *value;
  uint64_t (*of)(uint32_t v);
};
const Element kElementsOfThreads[] = {
    {"words", "u32", "4", "%v", [](uint32_t v) { return uint64_t{v}; }},
    {"double words", "u64", "8", "%w", [](uint32_t v) { return uint64_t{v}; }},
    {"pairs of words", "v2.u32", "8", "{%v, %g}", [](uint32_t v) { return (uint64_t{v} + 1) << 32 | v; }},
};

std::string KernelOf(const Permutation& permutation, const Element& element) {
  const std::string type = element.type, bytes = element.bytes, value = element.value;
  return kHead + ".shared .align 16 .b8 tile[8192];\n" + R"(
.visible .entry k(.param .u64 pout, .param .u32 pd, .param .u32 pm)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %d, %m, %a, %b, %q, %t, %v, %f, %g; .reg .b64 %out, %w, %x;
  ld.param.u64 %out, [pout];
  ld.param.u32 %d, [pd];
  ld.param.u32 %m, [pm];
  mov.u32 %i, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %t, tile;
  mov.u32 %f, %i;
FILL:
  mad.lo.u32 %a, %f, )" +
         bytes + R"(, %t;
  mul.lo.u32 %v, %f, 77;
  cvt.u64.u32 %w, %v;
  add.u32 %g, %v, 1;
  st.shared.)" +
         type + " [%a], " + value + R"(;
  add.u32 %f, %f, %n;
  setp.lt.u32 %p0, %f, )" +
         std::to_string(kElements) + R"(;
  @%p0 bra FILL;
  bar.sync 0;
  )" + permutation.place +
         R"(
  mad.lo.u32 %q, %q, )" +
         bytes + R"(, %t;
  mul.lo.u32 %v, %i, 5;
  cvt.u64.u32 %w, %v;
  add.u32 %g, %v, 1;
  and.b32 %a, %i, %m;
  setp.ne.u32 %p1, %a, 0;
  @%p1 bra SKIP;
  st.shared.)" +
         type + " [%q], " + value + R"(;
SKIP:
  bar.sync 0;
  )" + permutation.place +
         R"(
  mad.lo.u32 %q, %q, )" +
         bytes + R"(, %t;
  ld.shared.)" +
         type + " " + value + R"(, [%q];
  mad.lo.u32 %a, %i, )" +
         bytes + R"(, %t;
  mul.wide.u32 %x, %i, 16;
  add.s64 %out, %out, %x;
  st.global.)" +
         type + " [%out], " + value + R"(;
  ld.shared.)" +
         type + " " + value + R"(, [%a];
  st.global.)" +
         type + " [%out+8], " + value + R"(;
  ret;
}
)";
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

std::vector<uint64_t> Expected(const Permutation& permutation, const Element& element, uint32_t threads,
                               uint32_t d, uint32_t m) {
  std::vector<uint64_t> tile(kElements), out(2 * kMaxThreads);
  for (uint32_t i = 0; i < kElements; ++i) tile[i] = element.of(i * 77);
  for (uint32_t i = 0; i < threads; ++i) {
    if ((i & m) == 0) tile[permutation.at(i, d)] = element.of(i * 5);
  }
  for (uint32_t i = 0; i < threads; ++i) {
    out[2 * i] = tile[permutation.at(i, d)];
    out[2 * i + 1] = tile[i];
  }
  return out;
}

struct Launches {
  std::vector<uint32_t> distances, masks;
};
const Launches kAllLaunches{{1, 2, 4, 8, 16, 32, 64}, {0, 1, 2, 4, 5, 8, 16}};

void CheckAll(const Permutation& permutation, const Element& element, const std::string& target,
              uint32_t width, const Launches& launches = kAllLaunches) {
  const BuiltKernel module = BuildKernel(KernelOf(permutation, element), "k");
  auto jit = lowering::Jit::Create(Options(target, width));
  REQUIRE(jit);
  auto compiled = (*jit)->Add(module);
  if (!compiled) FAIL(compiled.error().Render());
  for (uint32_t threads : {kMaxThreads, 64u, 37u}) {
    for (uint32_t d : launches.distances) {
      for (uint32_t m : launches.masks) {
        INFO(target << ", width " << width << ", " << threads << " threads, distance " << d << ", mask "
                    << m);
        std::vector<uint64_t> out(2 * kMaxThreads);
        struct {
          uint64_t* out;
          uint32_t d, m;
        } params{out.data(), d, m};
        const auto error = rt::Launch(*compiled->kernel, {{1, 1, 1}, {threads, 1, 1}, 0},
                                      std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
        if (error) FAIL(error->message);
        REQUIRE(out == Expected(permutation, element, threads, d, m));
      }
    }
  }
}

// A place made by random operations on the thread's number.
Permutation RandomPlace(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  struct Step {
    const char* name;
    uint32_t number;
    uint32_t (*apply)(uint32_t, uint32_t);
  };
  const uint32_t power = 1u << below(6);
  const Step kinds[] = {
      {"xor.b32", below(64), [](uint32_t x, uint32_t n) { return x ^ n; }},
      {"xor.b32", power, [](uint32_t x, uint32_t n) { return x ^ n; }},
      {"and.b32", ~power, [](uint32_t x, uint32_t n) { return x & n; }},
      {"or.b32", power, [](uint32_t x, uint32_t n) { return x | n; }},
      {"add.u32", below(40), [](uint32_t x, uint32_t n) { return x + n; }},
      {"shl.b32", below(3), [](uint32_t x, uint32_t n) { return x << n; }},
      {"shr.u32", below(4), [](uint32_t x, uint32_t n) { return x >> n; }},
      {"mul.lo.u32", 1 + below(4), [](uint32_t x, uint32_t n) { return x * n; }},
      {"div.u32", power, [](uint32_t x, uint32_t n) { return x / n; }},
      {"rem.u32", 2 * power, [](uint32_t x, uint32_t n) { return x % n; }},
  };
  Permutation place{"random places, seed " + std::to_string(seed), "mov.u32 %q, %i;", nullptr};
  std::vector<Step> steps;
  for (uint32_t n = 1 + below(3); n > 0; --n) steps.push_back(kinds[below(std::size(kinds))]);
  for (const Step& step : steps)
    place.place += std::string(" ") + step.name + " %q, %q, " + std::to_string(step.number) + ";";
  if (below(2) == 0) {  // and what the thread's number leaves
    place.place += " sub.u32 %q, %q, %i; add.u32 %q, %q, 256;";
    steps.push_back({"", 0, nullptr});
  }
  place.place += " and.b32 %q, %q, 511;";
  place.at = [steps](uint32_t i, uint32_t) {
    uint32_t x = i;
    for (const Step& step : steps) x = step.apply != nullptr ? step.apply(x, step.number) : x - i + 256;
    return x & 511;
  };
  return place;
}

bool IsInjective(const Permutation& permutation) {
  std::set<uint32_t> places;
  for (uint32_t i = 0; i < kMaxThreads; ++i) places.insert(permutation.at(i, 0));
  return places.size() == kMaxThreads;
}

uint32_t Setting(const char* name, uint32_t otherwise) {
  const char* set = std::getenv(name);
  return set != nullptr ? static_cast<uint32_t>(std::strtoul(set, nullptr, 10)) : otherwise;
}

}  // namespace

TEST_CASE("random places are those that each thread computes, whatever the width", "[permutations]") {
  const uint32_t first = Setting("PTX2CPU_RANDOM_SEED", 1),
                 count = Setting("PTX2CPU_RANDOM_COUNT", test::IsQuick() ? 2 : 24);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const Permutation places = RandomPlace(seed);
    INFO(places.what << ": " << places.place);
    // Where two threads share a place, thread 0 alone stores.
    const Launches launches{{0}, IsInjective(places) ? std::vector{0u, 3u, 8u, ~0u} : std::vector{~0u}};
    for (const auto& [target, width] : {std::pair("native", 8u), std::pair("native", 16u),
                                        std::pair("native", 32u), std::pair("x86-64-v3", 8u)})
      CheckAll(places, kElementsOfThreads[seed % 3], target, width, launches);
  }
}

TEST_CASE("permutations of a few lanes are loads, stores and shuffles, whatever the width",
          "[permutations]") {
  test::Sample sample(71);
  for (const Permutation& permutation : kCases) {
    for (const Element& element : kElementsOfThreads) {
      INFO(permutation.what << ", " << element.what);
      for (const auto& [target, width] :
           {std::pair("native", 0u), std::pair("native", 1u), std::pair("native", 8u),
            std::pair("native", 16u), std::pair("native", 32u), std::pair("native", 64u),
            std::pair("x86-64-v3", 0u), std::pair("x86-64-v3", 8u), std::pair("x86-64-v3", 32u),
            std::pair("x86-64-v2", 4u)}) {
        if (!sample.Skips()) CheckAll(permutation, element, target, width);
      }
    }
  }
}

TEST_CASE("of a permutation over a small distance no access is a gather", "[permutations]") {
  for (const Permutation& permutation : std::span(kCases).first(5)) {  // not that of the loop
    INFO(permutation.what);
    const BuiltKernel module = BuildKernel(KernelOf(permutation, kElementsOfThreads[0]), "k");
    auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
    REQUIRE(jit);
    const auto report = (*jit)->ReportLanes(module, "k");
    REQUIRE(report);
    const auto gathering = std::ranges::count_if(
        report->loops, [](const auto& loop) { return loop.loads.gathers + loop.stores.gathers != 0; });
    CHECK(gathering == 0);
    CHECK(report->loops.size() > 10);
  }
}
