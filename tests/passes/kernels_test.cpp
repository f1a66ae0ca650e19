// Every kernel under kernels/ gives the same memory after each pass as before all of them, for block sizes below, at
// and beyond a warp. fault_* kernels are illegal and must fault in the Collapsed form, refused_* must not get there.
#include <filesystem>

#include "tests/passes/kernel_run.h"

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

void CompareRuns(const ir::Module& reference, const ir::Module& module, const std::string& what) {
  for (uint32_t threads : {1u, 31u, 33u, 64u, 100u}) {
    for (uint32_t n : {0u, 5u, 7u, 60u, 150u}) {
      Outcome expected = RunKernel(reference, reference.functions.back(), threads, n);
      if (!expected.status) FAIL(what << ": reference: " << expected.status.error().Render());
      Outcome actual = RunKernel(module, module.functions.back(), threads, n);
      INFO(what << ", " << threads << " threads, n = " << n);
      if (!actual.status) {
        FAIL_CHECK(actual.status.error().Render() << "\n" << ir::Print(module));
        return;
      }
      if (actual.data != expected.data) {
        FAIL_CHECK("memory differs\n" << ir::Print(module));
        return;
      }
    }
  }
}

}  // namespace

TEST_CASE("each pass keeps the meaning of each kernel", "[passes]") {
  REQUIRE(KernelFiles(true).size() > 20);
  for (const std::string& file : KernelFiles(true)) {
    ir::Module reference = ParseModule(ReadFile(file));
    for (const lowering::PassEntry& pass : lowering::Passes()) {
      std::string what = file.substr(file.rfind('/') + 1) + " after " + std::string(pass.name);
      Result<ir::Module> module = After(reference, pass.name);
      if (!module) {
        FAIL_CHECK(what << ": " << module.error().Render());
        break;
      }
      CompareRuns(reference, *module, what);
    }
    Result<ir::Module> nested = After(reference, "collapse", CollapseForm::kHierarchical);
    REQUIRE(nested);
    CompareRuns(reference, *nested, file.substr(file.rfind('/') + 1) + " hierarchical");
  }
}
