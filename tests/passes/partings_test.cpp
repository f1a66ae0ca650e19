// Kernels under partings/ need lanes that run apart, since the lanes of a warp may take a branch differently
// (with n from 64 on they do, with less they do not): each has code for warps whose lanes are together, and
// gives the same memory after each pass as before all of them.
#include <algorithm>
#include <filesystem>

#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

bool IsOf(const ir::Function& f, ir::Opcode op, ir::Level level) {
  return std::ranges::any_of(ir::ReversePostOrder(f), [&](ir::BlockId block) {
    return f.at_block(block).level == level && f.terminator(block).op == op;
  });
}

}  // namespace

TEST_CASE("warps run together until their lanes part", "[passes]") {
  size_t kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/partings")) {
    ++kernels;
    const ir::Module module = ParseModule(ReadFile(entry.path()));
    const auto changing = PassesThatChange(module, lowering::Tier::kAuto);
    if (!changing) FAIL(entry.path().string() << ": " << changing.error().Render());
    for (const std::string& pass : *changing) {
      const auto after = AfterTier(module, lowering::Tier::kAuto, pass);
      INFO(entry.path().string() << " after " << pass);
      if (!after) FAIL(after.error().Render());
      for (uint32_t threads : {1u, 33u, 64u, 100u}) {
        for (uint32_t n : {0u, 7u, 150u, 63u}) {
          const Outcome expected = RunKernel(module, module.functions[0], threads, n);
          INFO(threads << " threads, n = " << n);
          if (!expected.status) FAIL(expected.status.error().Render());
          const Outcome actual = RunKernel(*after, after->functions[0], threads, n);
          if (!actual.status) FAIL(actual.status.error().Render() << "\n" << ir::Print(*after));
          CHECK(actual.data == expected.data);
        }
      }
    }
    const auto done = AfterTier(module, lowering::Tier::kAuto, "");
    REQUIRE(done);
    REQUIRE(done->functions.size() == 1);
    const ir::Function& f = done->functions[0];
    CHECK(f.resumes == ir::Resumes::kLanes);
    CHECK(ir::RunsTogether(f));
    CHECK(ir::TogetherByPoint(f)[0].valid());
    CHECK(IsOf(f, ir::Opcode::kSuspend, ir::Level::kWarp));
    // Lanes that run apart from the beginning have no such code.
    const auto apart = AfterTier(module, lowering::Tier::kLanes, "");
    REQUIRE(apart);
    CHECK_FALSE(ir::RunsTogether(apart->functions[0]));
  }
  CHECK(kernels >= 3);
}
