// Kernels that are large in one way each (tools/bench/shapes.h), longer than where passes and code generation
// take other ways: what they compute, by machine code, against the interpreter. Eight times as large with
// PTX2CPU_FULL_TESTS.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string_view>

#include "tests/random/engines.h"
#include "tools/bench/shapes.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;

namespace {

// Left out: those whose loops or calls take as many turns as the product of all, or no end;
constexpr std::string_view kEndless[] = {
    "nested_loops",        "divergent_nested_loops", "values_around_loops",
    "nests_with_barriers", "nest_around_barrier",    "branches_back",
    "branches_anywhere",   "calls_in_pairs",         "spin_loops"};
// arguments, names and handles of their own, traps, misaligned addresses; threads that race or ask which of
// them are active, memory that nothing wrote; results whose bits PTX does not define, such as NaN of f16.
constexpr std::string_view kUndefined[] = {"empty_kernels",
                                           "parameters",
                                           "recursion",
                                           "atomics",
                                           "guarded_stores",
                                           "shared_stores",
                                           "shared_variables",
                                           "local_arrays",
                                           "indirect_waiting_targets",
                                           "named_barriers",
                                           "counted_barriers",
                                           "guarded_stores_in_loop",
                                           "shared_atomics",
                                           "nest_of_exits",
                                           "textures",
                                           "surfaces",
                                           "approximations",
                                           "halves",
                                           "generic_accesses",
                                           "waits",
                                           "async_copies",
                                           "wide_accesses",
                                           "halved_threads"};

bool IsLeftOut(std::string_view shape) {
  return std::ranges::find(kEndless, shape) != std::end(kEndless) ||
         std::ranges::find(kUndefined, shape) != std::end(kUndefined);
}

}  // namespace

TEST_CASE("kernels of every shape give the same as machine code", "[long]") {
  const bool is_full = std::getenv("PTX2CPU_FULL_TESTS") != nullptr;
  for (const bench::GrowthShape& shape : bench::GrowthShapes()) {
    if (IsLeftOut(shape.name)) continue;
    const uint32_t n = is_full ? 8 * shape.first : shape.first;
    const std::string text =
        "// run: k grid=1 block=96 compare=bits inout:u32:gen(bits,20000,8) u32:3\n" + shape.text(n);
    INFO(shape.name << " with " << n);
    const auto run = RunOf(text);
    REQUIRE(run);
    const auto ptx = lowering::PtxModule::Parse(text, std::string(shape.name));
    REQUIRE(ptx);
    const auto expected = InterpretAfter("ir").run(*ptx, *run);
    REQUIRE(expected);
    const Comparison comparison = Compare(is_full ? Compiled(3) : Compiled(1), *ptx, *run, *expected);
    INFO(comparison.what);
    CHECK(comparison.verdict == Verdict::kSame);
  }
}
