// Passes with Without::kSlower are not needed: kernels give the same memory without each of them, and without
// all.
#include <algorithm>
#include <filesystem>

#include "tests/passes/kernel_run.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

Result<ir::Module> BuiltWithout(const ir::Module& module, const std::string& omit,
                                std::set<std::string>* changed = nullptr) {
  ir::Module copy = module;
  lowering::PipelineOptions options;
  options.omit = omit;
  if (changed != nullptr) {
    options.dump_after = {"all"};
    options.dump = [&](std::string_view pass, std::string_view) { changed->emplace(pass); };
  }
  TRY(lowering::RunPipeline(copy, options));
  return copy;
}

std::vector<std::string> OptionalPasses() {
  std::vector<std::string> names;
  for (const lowering::PassEntry& pass : lowering::Passes()) {
    if (pass.without == lowering::Without::kSlower) names.emplace_back(pass.name);
  }
  return names;
}

void Compare(const ir::Module& reference, const std::string& omit, const std::string& file) {
  Result<ir::Module> built = BuiltWithout(reference, omit);
  INFO(file << " without " << omit);
  if (!built) {
    FAIL_CHECK(built.error().Render());
    return;
  }
  for (const auto& [threads, n] : {std::pair(33u, 7u), std::pair(100u, 150u)}) {
    const Outcome expected = RunKernel(reference, reference.functions.back(), threads, n);
    const Outcome actual = RunKernel(*built, Kernel(*built), threads, n);
    if (!actual.status) FAIL_CHECK(actual.status.error().Render());
    CHECK((expected.data == actual.data));
  }
}

}  // namespace

TEST_CASE("kernels have the same results without each pass that only makes them faster", "[passes][omit]") {
  const std::vector<std::string> optional = OptionalPasses();
  REQUIRE(optional.size() > 15);
  std::string all;
  for (const std::string& pass : optional) all += (all.empty() ? "" : ",") + pass;
  size_t number = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/kernels")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".ir") || name.starts_with("fault_") || name.starts_with("refused_")) continue;
    if (IsQuick() && number++ % 11 != 0) continue;
    const ir::Module reference = ParseModule(ReadFile(entry.path().string()));
    std::set<std::string> changed;
    REQUIRE(BuiltWithout(reference, "", &changed));
    Compare(reference, all, name);
    for (const std::string& pass : optional) {
      if (changed.contains(pass)) Compare(reference, pass, name);
    }
  }
}

TEST_CASE("a pass that is omitted changes nothing, one that code needs cannot be", "[passes][omit]") {
  const ir::Module reference =
      ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/tree_reduce.ir"));
  std::set<std::string> changed, without;
  REQUIRE(BuiltWithout(reference, "", &changed));
  REQUIRE(BuiltWithout(reference, "share-slots,collapse,insert-extra-barriers", &without));
  CHECK(changed.contains("collapse"));
  CHECK(without.contains("collapse"));
  CHECK(without.contains("insert-extra-barriers"));
  CHECK_FALSE(without.contains("share-slots"));
  CHECK(lowering::IsOmitted("a,bc,d", "bc"));
  CHECK_FALSE(lowering::IsOmitted("a,bc,d", "b"));
  CHECK_FALSE(lowering::IsOmitted("", ""));
}
