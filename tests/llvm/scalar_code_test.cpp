// Code of single threads, which a kernel has first: from which size on, and that making it can be stopped.
#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "ir/internal_error.h"
#include "lowering/llvm/module/target_machine.h"
#include "lowering/llvm/output/jit.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

BuiltKernel Chain(int steps) {
  std::string text =
      kHead + std::string(
                  ".visible .entry k(.param .u64 out)\n{\n  .reg .b64 %p<3>; .reg .b32 %t<2>;\n"
                  "  ld.param.u64 %p0, [out];\n  mov.u32 %t0, %tid.x;\n  mul.wide.u32 %p1, %t0, 4;\n"
                  "  add.u64 %p0, %p0, %p1;\n");
  for (int i = 0; i < steps; ++i) text += "  mad.lo.u32 %t0, %t0, %t0, 5;\n";
  return BuildKernel(text + "  st.global.u32 [%p0], %t0;\n  ret;\n}\n", "k");
}

}  // namespace

TEST_CASE("scalar code is made of kernels that are large enough, faster than the best", "[scalar]") {
  const auto jit = lowering::Jit::Create({});
  REQUIRE(jit);
  const BuiltKernel large = Chain(500), small = Chain(5);
  lowering::CompileTimes scalar, best;
  const auto first = (*jit)->Compile(large, "k", {.scalar_from = 100, .times = &scalar});
  REQUIRE(first);
  CHECK(first->is_quick);
  CHECK(first->for_many_blocks);
  CHECK(first->better_milliseconds > 0);
  const auto last = (*jit)->Compile(large, "k", {.times = &best});
  REQUIRE(last);
  CHECK_FALSE(last->is_quick);
  CHECK_FALSE(last->for_many_blocks);
  CHECK(scalar.optimise + scalar.generate < best.optimise + best.generate);
  const auto at_once = (*jit)->Compile(small, "k", {.scalar_from = 100});
  REQUIRE(at_once);
  CHECK_FALSE(at_once->is_quick);
}

TEST_CASE("generating code ends once it is to stop", "[scalar]") {
  const auto jit = lowering::Jit::Create({});
  REQUIRE(jit);
  const BuiltKernel module = Chain(50);
  std::atomic<bool> stop = false;
  const lowering::Jit::CompileOptions options{.scalar_from = 1, .stop = &stop};
  CHECK((*jit)->Compile(module, "k", options).has_value());
  stop = true;
  CHECK_THROWS_AS((*jit)->Compile(module, "k", options), InternalError);
  stop = false;
  CHECK((*jit)->Compile(module, "k", options).has_value());
}

TEST_CASE("every machine of a target has the data layout that modules are given", "[target]") {
  for (const char* name : {"native", "x86-64-v2", "x86-64-v4", "aarch64-linux-gnu", "riscv64-linux-gnu"}) {
    INFO(name);
    const auto target = lowering::ResolveTarget(name);
    REQUIRE(target);
    const auto layout = lowering::DataLayoutOf(*target);
    REQUIRE(layout);
    for (const int level : {0, 3}) {
      const auto machine = lowering::BorrowTargetMachine(*target, level);
      REQUIRE(machine);
      CHECK((*machine)->createDataLayout().getStringRepresentation() == *layout);
    }
  }
}
