// Every kernel under kernels/ gives the same memory after each pass as before all of them, for block sizes
// below, at and beyond a warp. fault_* kernels are illegal and must fault in the Collapsed form, refused_*
// must not get there.
#include <filesystem>

#include "tests/passes/kernel_run.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;
using lowering::CollapseForm;

namespace {

std::vector<std::string> KernelFiles(bool legal) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/kernels")) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".ir")) continue;
    bool special = name.starts_with("fault_") || name.starts_with("refused_");
    if (special != legal) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Run {
  uint32_t threads, n;
  std::vector<uint32_t> data;  // after it
};

// What the kernel as written does, for several shapes and amounts of work.
std::vector<Run> RunsOf(const ir::Module& reference, const std::string& file) {
  std::vector<Run> runs;
  for (uint32_t threads : {1u, 33u, 100u, 31u, 64u}) {
    for (uint32_t n : {0u, 7u, 150u, 5u, 60u}) {
      if (IsQuick() && (threads == 31 || threads == 64 || n == 5 || n == 60)) continue;
      Outcome expected = RunKernel(reference, reference.functions.back(), threads, n);
      if (!expected.status) FAIL(file << ": reference: " << expected.status.error().Render());
      runs.push_back({threads, n, std::move(expected.data)});
    }
  }
  return runs;
}

void CompareRuns(const std::vector<Run>& runs, const ir::Module& module, const std::string& what) {
  for (const auto& [threads, n, data] : runs) {
    Outcome actual = RunKernel(module, module.functions.back(), threads, n);
    INFO(what << ", " << threads << " threads, n = " << n);
    if (!actual.status) {
      FAIL_CHECK(actual.status.error().Render() << "\n" << ir::Print(module));
      return;
    }
    if (actual.data != data) {
      FAIL_CHECK("memory differs\n" << ir::Print(module));
      return;
    }
  }
}

}  // namespace

TEST_CASE("each pass keeps the meaning of each kernel", "[passes]") {
  REQUIRE(KernelFiles(true).size() > 20);
  size_t number = 0;
  for (const std::string& file : KernelFiles(true)) {
    if (IsQuick() && number++ % 11 != 0) continue;
    ir::Module reference = ParseModule(ReadFile(file));
    const std::vector<Run> runs = RunsOf(reference, file);
    const auto changing = PassesThatChange(reference, lowering::Tier::kWarp);
    if (!changing) FAIL(file << ": " << changing.error().Render());
    for (const lowering::PassEntry& pass : lowering::Passes()) {
      if (!changing->contains(std::string(pass.name))) continue;
      // Lanes still have to agree on branches that become divergent with the next pass.
      bool parts = file.find("/masked_") != std::string::npos;
      if (parts && pass.name == "insert-extra-barriers") continue;
      std::string what = file.substr(file.rfind('/') + 1) + " after " + std::string(pass.name);
      Result<ir::Module> module = After(reference, pass.name);
      if (!module) {
        FAIL_CHECK(what << ": " << module.error().Render());
        break;
      }
      CompareRuns(runs, *module, what);
    }
    for (const char* pass : {"collapse", "sequence-divergent-arms"}) {
      Result<ir::Module> nested = After(reference, pass, CollapseForm::kHierarchical);
      REQUIRE(nested);
      CompareRuns(runs, *nested, file.substr(file.rfind('/') + 1) + " hierarchical after " + pass);
    }
    Result<ir::Module> lanes = AfterTier(reference, lowering::Tier::kLanes);
    if (!lanes) FAIL(lanes.error().Render());
    CompareRuns(runs, *lanes, file.substr(file.rfind('/') + 1) + " with resumable lanes");
    for (const char* pass : {"collapse", "sequence-divergent-arms", "make-warps-resumable"}) {
      Result<ir::Module> warps = AfterTier(reference, lowering::Tier::kResumable, pass);
      if (!warps) FAIL(warps.error().Render());
      CompareRuns(runs, *warps, file.substr(file.rfind('/') + 1) + " with resumable warps after " + pass);
    }
  }
}

TEST_CASE("a branch that divides threads around a barrier is a fault with its line", "[passes]") {
  ir::Module barrier =
      ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/fault_divergent_barrier.ir"));
  for (CollapseForm form : {CollapseForm::kFlat, CollapseForm::kHierarchical}) {
    Result<ir::Module> collapsed = After(barrier, "sequence-divergent-arms", form);
    REQUIRE(collapsed);
    Outcome outcome = RunKernel(*collapsed, collapsed->functions[0], 33, 7);
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().code == ErrorCode::kFault);
    CHECK(outcome.status.error().at.line == 9);
    CHECK(RunKernel(*collapsed, collapsed->functions[0], 5, 7).status);  // all agree
  }
  ir::Module shuffle =
      ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/fault_divergent_shuffle.ir"));
  CHECK_FALSE(RunKernel(shuffle, shuffle.functions[0], 33, 7).status);
  Result<ir::Module> collapsed = After(shuffle, "sequence-divergent-arms");
  REQUIRE(collapsed);
  Outcome outcome = RunKernel(*collapsed, collapsed->functions[0], 33, 7);
  REQUIRE_FALSE(outcome.status);
  CHECK(outcome.status.error().code == ErrorCode::kFault);
}

TEST_CASE("what these tiers cannot run is refused with construct and line", "[passes]") {
  struct Refusal {
    const char* kernel;
    uint32_t line;
    const char* words;
  };
  for (const Refusal& refusal :
       {Refusal{"refused_count", 8, "thread count"}, Refusal{"refused_arrive", 8, "bar.arrive"},
        Refusal{"refused_computed_number", 9, "computed at run time"}}) {
    std::string path = std::string(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/") + refusal.kernel + ".ir";
    ir::Module module = ParseModule(ReadFile(path));
    Result<ir::Module> result = After(module, "collapse");
    INFO(refusal.kernel);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::kUnsupported);
    CHECK(result.error().at.line == refusal.line);
    CHECK(result.error().message.find(refusal.words) != std::string::npos);
    CHECK_FALSE(result.error().hint.empty());
  }
}

TEST_CASE("the form of collapsing is chosen by the kernel's collectives, or by the caller", "[passes]") {
  auto load = [](const std::string& name) {
    return ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/" + name + ".ir"));
  };
  ir::Module plain = load("exchange"), shuffles = load("shuffle_reduce");
  CHECK(After(plain, "collapse")->functions[0].is_flat);
  CHECK_FALSE(After(plain, "collapse", CollapseForm::kHierarchical)->functions[0].is_flat);
  CHECK_FALSE(After(shuffles, "collapse")->functions[0].is_flat);
  Result<ir::Module> refused = After(shuffles, "collapse", CollapseForm::kFlat);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().at.line == 10);
}

TEST_CASE("live masks are kept only where a thread may end before others continue", "[passes]") {
  auto early = [](const std::string& name) {
    ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/" + name + ".ir"));
    return After(module, "collapse")->functions.back().has_early_exit;
  };
  CHECK(early("early_exit"));
  CHECK(early("endless"));
  CHECK_FALSE(early("straight"));
  CHECK_FALSE(early("exchange"));
  CHECK_FALSE(early("tree_reduce"));   // threads that write nothing end in the last region
  CHECK_FALSE(early("uniform_tail"));  // the block leaves together
}

TEST_CASE("values that do not cross regions have no slot, uniform ones one for all", "[passes]") {
  auto slots = [](const std::string& name) {
    ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/" + name + ".ir"));
    return After(module, "collapse")->functions.back().slots;
  };
  CHECK(slots("straight").empty());
  uint32_t uniform = 0;
  for (const ir::Slot& slot : slots("swap_params")) uniform += slot.shape == ir::Level::kBlock;
  CHECK(uniform >= 2);  // the loop's two uniform counters
  for (const ir::Slot& slot : slots("exchange"))
    CHECK(slot.type == ir::Type::kI64);  // the thread's address in data
}

TEST_CASE("an unknown pass name is a usage error that lists the passes", "[passes]") {
  ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/straight.ir"));
  Result<ir::Module> result = After(module, "colapse");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kUsage);
  CHECK(result.error().hint.find("insert-extra-barriers") != std::string::npos);
}
