// Loops that may wait: kernels under waits/ give the same memory after each pass as before all of them.
// blocks_* become blocks that suspend; lanes_* must resume lanes, since others could be held up.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "analysis/values/uniformity.h"
#include "tests/passes/kernel_run.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

struct WaitKernel {
  std::string name;
  ir::Module module;
  bool by_blocks = false;
};

std::vector<WaitKernel> WaitKernels() {
  std::vector<WaitKernel> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/waits")) {
    const std::string name = entry.path().stem();
    kernels.push_back({name, ParseModule(ReadFile(entry.path())), name.starts_with("blocks_")});
  }
  REQUIRE(kernels.size() >= 10);
  return kernels;
}

// Whether a thread can come from such an instruction to it again without a boundary on its way.
bool TriesAgainAtOnce(const ir::Function& f, ir::Opcode trial) {
  const auto holds = [&](ir::BlockId block, auto&& is) {
    return std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) { return is(f.at_inst(id).op); });
  };
  return std::ranges::any_of(ir::ReversePostOrder(f), [&](ir::BlockId from) {
    if (!holds(from, [&](ir::Opcode op) { return op == trial; })) return false;
    std::vector<bool> seen(f.blocks.size());
    std::vector<ir::BlockId> work{from};
    while (!work.empty()) {
      const ir::BlockId block = work.back();
      work.pop_back();
      for (const ir::Edge& edge : f.successors(block)) {
        if (edge.to == from) return true;
        const bool ends = holds(edge.to, [](ir::Opcode op) {
          return ir::IsYield(op) || ir::IsBarrier(op) || op == ir::Opcode::kNanosleep;
        });
        if (!ends && !seen[edge.to.index]) work.push_back(edge.to);
        seen[edge.to.index] = true;
      }
    }
    return false;
  });
}

}  // namespace

TEST_CASE("each pass keeps the meaning of each kernel that waits", "[passes]") {
  Sample sample(13);
  for (const WaitKernel& kernel : WaitKernels()) {
    for (uint32_t threads : {1u, 7u, 33u, 100u}) {
      if (sample.Skips()) continue;
      const auto changing = PassesThatChange(kernel.module, lowering::Tier::kAuto);
      REQUIRE(changing);
      const Outcome expected = RunKernel(kernel.module, kernel.module.functions.front(), threads, 5);
      INFO(kernel.name << ", " << threads << " threads");
      if (!expected.status) FAIL(expected.status.error().Render());
      for (const std::string& pass : *changing) {
        const auto after = AfterTier(kernel.module, lowering::Tier::kAuto, pass);
        INFO("after " << pass);
        if (!after) FAIL(after.error().Render());
        const Outcome actual = RunKernel(*after, after->functions.front(), threads, 5);
        if (!actual.status) FAIL(actual.status.error().Render() << "\n" << ir::Print(*after));
        CHECK(actual.data == expected.data);
      }
    }
  }
}

// Machine code has there what the block before left.
TEST_CASE("kernels that wait do not read shared memory before they write it", "[passes]") {
  for (const WaitKernel& kernel : WaitKernels()) {
    for (uint32_t threads : {1u, 7u, 33u, 100u, 256u}) {
      INFO(kernel.name << ", " << threads << " threads");
      const ir::Function& f = kernel.module.functions.front();
      const Outcome zero = RunKernel(kernel.module, f, threads, 7),
                    other = RunKernel(kernel.module, f, threads, 7, kGrid, 0x5a);
      REQUIRE(zero.status);
      REQUIRE(other.status);
      CHECK(other.data == zero.data);
    }
  }
}

TEST_CASE("blocks suspend where the threads that do not wait come to a barrier", "[passes]") {
  for (const WaitKernel& kernel : WaitKernels()) {
    const auto after = AfterTier(kernel.module, lowering::Tier::kAuto);
    INFO(kernel.name);
    REQUIRE(after);
    const ir::Function& f = after->functions.front();
    CHECK(f.resumes == (kernel.by_blocks ? ir::Resumes::kBlocks : ir::Resumes::kLanes));
    CHECK(f.resume_points.size() >= 2);
  }
}

TEST_CASE("threads that probe a table take some trips before they suspend", "[passes]") {
  for (const auto& [name, probes] : {std::pair{"blocks_probe", true},
                                     {"blocks_probe_ends", true},
                                     {"blocks_lock", false},
                                     {"blocks_lock_exits", false}}) {
    const ir::Module module =
        ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/waits/" + std::string(name) + ".ir"));
    INFO(name);
    for (const auto& [tier, pass] :
         {std::pair{lowering::Tier::kAuto, "defer-waits"}, {lowering::Tier::kLanes, "insert-yields"}}) {
      const auto after = AfterTier(module, tier, pass);
      REQUIRE(after);
      CHECK(TriesAgainAtOnce(after->functions.front(), ir::Opcode::kAtomicCas) == probes);
    }
  }
}

TEST_CASE("threads that read back what they wrote take some trips before they suspend", "[passes]") {
  const ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/waits/blocks_tagged.ir"));
  for (const auto& [tier, pass] :
       {std::pair{lowering::Tier::kAuto, "defer-waits"}, {lowering::Tier::kLanes, "insert-yields"}}) {
    const auto after = AfterTier(module, tier, pass);
    REQUIRE(after);
    CHECK(TriesAgainAtOnce(after->functions.front(), ir::Opcode::kStore));
  }
}

TEST_CASE("the branch of a loop around waits is as uniform as before", "[passes]") {
  const ir::Module module =
      ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/waits/blocks_step_loop.ir"));
  const auto after = AfterTier(module, lowering::Tier::kAuto, "defer-waits");
  REQUIRE(after);
  const ir::Function& f = after->functions.front();
  const analysis::UniformityResult uniformity = analysis::AnalyzeUniformity(f);
  size_t loops = 0;
  for (const ir::BlockId block : ir::ReversePostOrder(f)) {
    for (const ir::Edge& edge : f.successors(block)) {
      if (f.at_block(edge.to).label != "step") continue;
      // What only thread 0 computes, and only until it has waited, is no value of the loop.
      CHECK(f.at_block(edge.to).params.size() == 2);
      if (f.successors(block).size() < 2) continue;
      CHECK(uniformity.BranchUniformAt(block, ir::Level::kBlock));
      ++loops;
    }
  }
  CHECK(loops == 1);
}

TEST_CASE("what all threads load after a barrier decides for all of them", "[passes]") {
  const ir::Module module =
      ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/shared_decision.ir"));
  const auto after = AfterTier(module, lowering::Tier::kAuto);
  REQUIRE(after);
  CHECK(after->functions.front().resumes == ir::Resumes::kNever);
  for (uint32_t threads : {1u, 33u, 100u}) {
    const Outcome expected = RunKernel(module, module.functions.front(), threads, 5),
                  actual = RunKernel(*after, after->functions.front(), threads, 5);
    REQUIRE(expected.status);
    REQUIRE(actual.status);
    CHECK(actual.data == expected.data);
  }
}
