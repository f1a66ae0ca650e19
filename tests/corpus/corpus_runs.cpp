#include "tests/corpus/corpus_runs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "tools/record/compare.h"

namespace ptx2cpu::corpus_test {

namespace {

// Parsed PTX of a corpus file, per file and kernel image.
class Modules {
 public:
  explicit Modules(const rt::Manifest& manifest) : manifest_(manifest) {}

  Result<lowering::PtxModule> For(const rt::CorpusKernel& kernel) {
    const std::filesystem::path path = manifest_.folder / kernel.file;
    const ptx::Extraction extraction = TRY(ptx::ExtractFile(path));
    auto images = TRY(ptx::PtxImages(extraction, kernel.name));
    return lowering::PtxModule::Parse(std::move(images.front().text), path.filename());
  }

 private:
  const rt::Manifest& manifest_;
};

Result<harness::KernelCall> MakeCall(const rt::Manifest& manifest, const rt::CorpusKernel& kernel,
                                     const rt::LaunchCase& launch) {
  harness::KernelCall call;
  call.grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
  call.block = {launch.block[0], launch.block[1], launch.block[2]};
  call.shared_bytes = launch.shared_bytes;
  call.cooperative = launch.cooperative;
  if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1})
    call.cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  call.arguments = TRY(rt::ParseArguments(manifest, kernel, launch));
  for (const auto& [name, spec] : launch.constants)
    call.variables.push_back({name, TRY(rt::ParseSpec(spec, manifest.folder)).data});
  return call;
}

std::string Differences(const rt::Manifest& manifest, const rt::LaunchCase& launch,
                        const harness::KernelCall& call) {
  std::string text;
  for (const rt::Expectation& expectation : launch.expectations) {
    const rt::Argument& argument = call.arguments[expectation.argument];
    auto expected = rt::ReadCorpusBytes(manifest, expectation.path);
    if (!expected) return expected.error().message;
    if (auto difference = rt::FindDifference(expectation, *argument.type, argument.data, *expected)) {
      text += "argument " + std::to_string(expectation.argument) + ": " + *difference + "\n";
    }
  }
  if (launch.stdout_rule == rt::StdoutRule::kNone) return text;
  auto expected = rt::ReadCorpusBytes(manifest, launch.stdout_path);
  if (!expected) return expected.error().message;
  const std::string wanted(reinterpret_cast<const char*>(expected->data()), expected->size());
  if (auto difference = rt::FindStdoutDifference(launch.stdout_rule, call.printed, wanted))
    text += "printed: " + *difference + "\n";
  return text;
}

}  // namespace

void CheckCorpus(const Prepare& prepare, CorpusPart part) {
  auto manifest = rt::ReadManifest(std::filesystem::path(PTX2CPU_SOURCE_DIR) / "corpus/manifest.txt");
  REQUIRE(manifest);
  const char* only = std::getenv("PTX2CPU_KERNEL");
  if (std::getenv("PTX2CPU_FULL_TESTS") != nullptr) part = {.tier = part.tier};
  uint32_t number = 0;
  Modules modules(*manifest);
  for (const rt::CorpusKernel& kernel : manifest->kernels) {
    if (only != nullptr ? kernel.name != only : number++ % part.one_in != part.first) continue;
    if (kernel.cases.empty()) continue;
    auto ptx = modules.For(kernel);
    if (!ptx) {
      FAIL_CHECK(kernel.name << ": " << ptx.error().Render());
      continue;
    }
    if (part.tier == lowering::Tier::kResumable) {
      const auto needed = ptx->ChooseTier(kernel.name);
      REQUIRE(needed);
      if (needed->resumes == ir::Resumes::kLanes || needed->resumes == ir::Resumes::kBlocks) continue;
    }
    auto runner = prepare(*ptx, kernel.name);
    if (!runner) {
      FAIL_CHECK(kernel.name << ": " << runner.error().Render());
      continue;
    }
    for (const rt::LaunchCase& launch : kernel.cases) {
      const uint64_t threads = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] * launch.block[0] *
                               launch.block[1] * launch.block[2];
      if (part.most_threads != 0 && threads > part.most_threads) continue;
      auto call = MakeCall(*manifest, kernel, launch);
      REQUIRE(call);
      const Status status = (*runner)(*call);
      const std::string problem = status ? Differences(*manifest, launch, *call) : status.error().Render();
      if (problem.empty()) {
        CHECK(problem.empty());
      } else {
        FAIL_CHECK(kernel.name << " " << launch.name << ": " << problem);
      }
    }
  }
}

}  // namespace ptx2cpu::corpus_test
