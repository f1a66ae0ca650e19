// Kernels under partings/ need lanes that run apart, since the lanes of a warp may take a branch differently
// (with n from 64 on they do, with less they do not): each has code for warps whose lanes are together, and
// gives the same memory after each pass as before all of them.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "ir/internal_error.h"
#include "tests/passes/kernel_run.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

#define MERGE_SLOTS "_ZN7ptx2cpu8lowering10MergeSlotsERNS_2ir6ModuleERNS1_8FunctionERKNS0_11PassOptionsE"
Status RealMergeSlots(ir::Module& module, ir::Function& f,
                      const lowering::PassOptions& options) __asm__("__real_" MERGE_SLOTS);
Status MergeSlots(ir::Module& module, ir::Function& f,
                  const lowering::PassOptions& options) __asm__("__wrap_" MERGE_SLOTS);

namespace {

std::function<Status(ir::Function&)> failure;

bool IsOf(const ir::Function& f, ir::Opcode op, ir::Level level) {
  return std::ranges::any_of(ir::ReversePostOrder(f), [&](ir::BlockId block) {
    return f.at_block(block).level == level && f.terminator(block).op == op;
  });
}

}  // namespace

Status MergeSlots(ir::Module& module, ir::Function& f, const lowering::PassOptions& options) {
  if (failure && f.together_of != ~0u) return failure(f);
  return RealMergeSlots(module, f, options);
}

TEST_CASE("where a pass fails for the code of warps, the kernel has that of lanes", "[passes]") {
  const ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/partings/loop.ir"));
  const ThrowInternalErrors throwing;  // as in a program
  const auto way = GENERATE(range(0, 4));
  size_t asked = 0;
  failure = [&](ir::Function& f) -> Status {
    ++asked;
    if (way == 0) return Fail(ErrorCode::kInternal, "the pass found an error");
    if (way == 1) return Fail(ErrorCode::kUnsupported, "not in this code");
    if (way == 2) CheckFailed("a == b", "pass.cpp", 12, "They differ.");
    f.block(f.entry).insts.clear();  // the verifier finds it
    return {};
  };
  const auto done = AfterTier(module, lowering::Tier::kAuto, "");
  failure = nullptr;
  INFO("way " << way);
  if (!done) FAIL(done.error().Render());
  CHECK(asked == 1);
  REQUIRE(done->functions.size() == 1);
  CHECK(done->functions[0].resumes == ir::Resumes::kLanes);
  CHECK_FALSE(ir::RunsTogether(done->functions[0]));
  for (uint32_t n : {7u, 150u}) {
    const Outcome expected = RunKernel(module, module.functions[0], 100u, n);
    const Outcome actual = RunKernel(*done, done->functions[0], 100u, n);
    REQUIRE(actual.status);
    CHECK(actual.data == expected.data);
  }
}

TEST_CASE("a kernel has code of lanes alone where none for warps is wanted", "[passes]") {
  ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/partings/loop.ir"));
  lowering::PipelineOptions options;
  options.lanes_together = false;
  REQUIRE(lowering::RunPipeline(module, options));
  REQUIRE(module.functions.size() == 1);
  CHECK(module.functions[0].resumes == ir::Resumes::kLanes);
  CHECK_FALSE(ir::RunsTogether(module.functions[0]));
}

TEST_CASE("warps run together until their lanes part", "[passes]") {
  size_t kernels = 0;
  Sample sample(7), some_passes(3);
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/partings")) {
    ++kernels;
    const ir::Module module = ParseModule(ReadFile(entry.path()));
    const auto changing = PassesThatChange(module, lowering::Tier::kAuto);
    if (!changing) FAIL(entry.path().string() << ": " << changing.error().Render());
    // Results by threads and n; each is computed at the first request.
    std::map<std::pair<uint32_t, uint32_t>, std::optional<Outcome>> expected;
    for (uint32_t threads : {1u, 33u, 64u, 100u}) {
      for (uint32_t n : {0u, 7u, 150u, 63u}) expected[{threads, n}] = {};
    }
    for (const std::string& pass : *changing) {
      if (some_passes.Skips()) continue;
      const auto after = AfterTier(module, lowering::Tier::kAuto, pass);
      INFO(entry.path().string() << " after " << pass);
      if (!after) FAIL(after.error().Render());
      for (auto& [shape, outcome] : expected) {
        if (sample.Skips()) continue;
        const auto [threads, n] = shape;
        INFO(threads << " threads, n = " << n);
        if (!outcome) outcome = RunKernel(module, module.functions[0], threads, n);
        if (!outcome->status) FAIL(outcome->status.error().Render());
        const Outcome actual = RunKernel(*after, after->functions[0], threads, n);
        if (!actual.status) FAIL(actual.status.error().Render() << "\n" << ir::Print(*after));
        CHECK(actual.data == outcome->data);
      }
    }
    const auto done = AfterTier(module, lowering::Tier::kAuto, "");
    REQUIRE(done);
    REQUIRE(done->functions.back().together_of == ~0u);
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
