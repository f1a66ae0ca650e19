// keep-lanes-in-step: lanes of programs that GCC offloads execute each access together.
#include "ir/verify/verify.h"
#include "tests/passes/count_instructions.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {
// Each warp adds 1 to its word: all its lanes load it, then all store the sum. In a call, and not in one.
ir::Module AddsOncePerWarp(const std::string& table) {
  return ParseModule("module \"m\" ptx 6.0 sm 35\nvariable shared @" + table + R"( align 8 size 256 offset 0
function @add (p: i64) phase simt {
^b0(%p: i64):
  %one = const i32 0x1
  %v = load i32 %p
  %w = add i32 %v, %one
  store i32 %p, %w
  ret
}
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %t = special i32 tid.x
  %five = const i32 0x5
  %warp = shr_u i32 %t, %five
  %block = special i32 ctaid.x
  %c8 = const i32 0x8
  %b8 = mul i32 %block, %c8
  %at = add i32 %warp, %b8
  %at64 = zext i64 from i32 %at
  %two = const i32 0x2
  %o = shl i64 %at64, %two
  %a = add i64 %data, %o
  call @add %a
  %five5 = const i32 0x5
  %v = load i32 %a
  %w = mul i32 %v, %five5
  store i32 %a, %w
  call @add %a
  ret
}
)");
}
}  // namespace

TEST_CASE("lanes of GCC's programs execute each access together", "[passes]") {
  for (const lowering::Tier tier : {lowering::Tier::kAuto, lowering::Tier::kLanes}) {
    Result<ir::Module> lowered = AfterTier(AddsOncePerWarp("__nvptx_stacks"), tier);
    REQUIRE(lowered);
    const Outcome outcome = RunKernel(*lowered, Kernel(*lowered), 64, 7);
    REQUIRE(outcome.status);
    for (uint32_t word : {0u, 1u, 8u, 9u}) {
      const uint32_t before = (word * 2654435761u) >> 20;
      CHECK(outcome.data[word] == (before + 1) * 5 + 1);
    }
  }
  ir::Module other = AddsOncePerWarp("tile");  // of another compiler
  REQUIRE(lowering::KeepLanesInStep(other, {}));
  CHECK(Count(Kernel(other), ir::Opcode::kBarrierWarp) == 0);
}

TEST_CASE("lanes of GCC's programs wait only where one may overwrite what another has yet to read",
          "[passes]") {
  // The barriers of each function, in the order of the text.
  const auto barriers = [](const std::string& body) {
    ir::Module module = ParseModule(
        "module \"m\" ptx 6.0 sm 35\nvariable shared @__nvptx_stacks align 8 size 256 offset 0\n" + body);
    REQUIRE(lowering::KeepLanesInStep(module, {}));
    std::vector<uint32_t> counts;
    for (const ir::Function& f : module.functions) {
      REQUIRE(ir::Verify(module, f));
      counts.push_back(Count(f, ir::Opcode::kBarrierWarp));
    }
    return counts;
  };
  using Counts = std::vector<uint32_t>;
  const std::string frame = R"(^b0(%p: i64):
  %stacks = symbol shared @__nvptx_stacks
  %eight = const i64 0x8
  %at = add i64 %stacks, %eight
  %top = load i64 shared %at
)";
  // The table of stacks is apart from what pointers lead to, and not from itself.
  CHECK(barriers("function @f (p: i64) phase simt {\n" + frame + "  store i64 %p, %top\n  ret\n}\n") ==
        Counts{1});  // at the entry: the caller's lanes may have to read what %p points to
  CHECK(barriers("kernel @k (p: i64 @0) phase simt {\n^b0:\n  %stacks = symbol shared @__nvptx_stacks\n"
                 "  %top = load i64 shared %stacks\n  store i64 %top, %top\n  ret\n}\n") == Counts{0});
  CHECK(barriers("kernel @k (p: i64 @0) phase simt {\n^b0:\n  %stacks = symbol shared @__nvptx_stacks\n"
                 "  %top = load i64 shared %stacks\n  store i64 shared %stacks, %top\n  ret\n}\n") ==
        Counts{1});
  // Its address is known elsewhere: it may be what a pointer leads to.
  CHECK(barriers("kernel @k (p: i64 @0) phase simt {\n^b0:\n  %stacks = symbol shared @__nvptx_stacks\n"
                 "  %top = load i64 shared %stacks\n  store i64 %top, %stacks\n  ret\n}\n") == Counts{1});

  const std::string set = R"(function @set (p: i64) phase simt {
^b0(%p: i64):
  store i64 %p, %p
  ret
}
)",
                    get = R"(function @get (p: i64) -> (r: i64) phase simt {
^b0(%p: i64):
  %v = load i64 %p
  ret %v
}
)",
                    two = R"(function @two (p: i64) phase simt {
^b0(%p: i64):
  %v = load i64 %p
  store i64 %v, %p
  ret
}
)";
  // Nothing is left to read after @set and @two, so what follows waits for nothing.
  CHECK(barriers(set + two + R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %p = load i64 param %base
  %v = load i64 %p
  call @set %p
  store i64 %p, %v
  call @two %p
  store i64 %p, %v
  ret
}
)") == Counts{1, 1, 0});
  // @get reads only: lanes wait in front of the store after it, also for what was read before it.
  CHECK(barriers(get + R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %p = load i64 param %base
  %v: i64 = call @get %p
  store i64 %p, %v
  ret
}
)") == Counts{0, 1});
}
