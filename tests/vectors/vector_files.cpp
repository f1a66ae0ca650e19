#include "tests/vectors/vector_files.h"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace ptx2cpu::vectors_test {

namespace fs = std::filesystem;

std::vector<fs::path> VectorFiles() {
  const char* only = std::getenv("PTX2CPU_VECTOR");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PTX2CPU_SOURCE_DIR) / "tests/ptx")) {
    if (entry.path().extension() != ".ptx") continue;
    if (only == nullptr || entry.path().stem() == only) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

lowering::Tier TierFor(const lowering::PtxModule& ptx, const std::string& kernel, lowering::Tier wanted) {
  if (wanted != lowering::Tier::kResumable) return wanted;
  const auto needed = ptx.ChooseTier(kernel);
  const bool waits =
      needed && (needed->resumes == ir::Resumes::kLanes || needed->resumes == ir::Resumes::kBlocks);
  return waits ? lowering::Tier::kLanes : wanted;
}

bool LetsThreadsWait(const fs::path& path) {
  const auto file = rt::ReadVectorFile(path);
  REQUIRE(file);
  constexpr std::string_view kWords[] = {".sync", "bar.", "barrier.", "activemask", "vote.", "shfl."};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return file->text.find(word) != std::string::npos; });
}

std::vector<std::string> Compare(const rt::VectorRun& run, const harness::KernelCall& call,
                                 const std::optional<rt::VectorRecord>& record) {
  std::vector<std::string> problems;
  for (uint32_t i = 0; i < call.arguments.size(); ++i) {
    if (!call.arguments[i].IsWritten()) continue;
    const std::vector<std::byte>* wanted = record ? record->Find(run, i) : nullptr;
    if (auto found = run.expected.find(i); found != run.expected.end()) wanted = &found->second;
    if (wanted == nullptr) continue;
    if (auto difference =
            rt::FindVectorDifference(run.rule, *call.arguments[i].type, call.arguments[i].data, *wanted)) {
      problems.push_back(run.kernel + " line " + std::to_string(run.line) + " arg " + std::to_string(i) +
                         ": " + *difference);
    }
  }
  return problems;
}

namespace {

// What the interpreter gives for the IR as translated: the reference where no GPU can record (targets beyond
// ours).
Status Interpret(const lowering::PtxModule& ptx, const std::string& kernel, harness::KernelCall& call) {
  lowering::BuildOptions options;
  options.pipeline.stop_after = "ir";
  return harness::RunInterpreter(TRY(ptx.Build(kernel, options)), call);
}

}  // namespace

void CheckVectors(const fs::path& path, const Prepare& prepare) {
  auto file = rt::ReadVectorFile(path);
  REQUIRE(file);
  const auto record = rt::ReadVectorRecord(path);
  REQUIRE(record);
  auto ptx = lowering::PtxModule::Parse(file->text, path.filename());
  if (!ptx) {
    FAIL_CHECK(ptx.error().Render());
    return;
  }
  std::string kernel;
  Result<Runner> runner = Runner{};
  size_t problems = 0;
  const auto report = [&](const std::string& text) {
    if (problems++ < 3) FAIL_CHECK(path.filename().string() << ": " << text);
  };
  for (const rt::VectorRun& run : file->runs) {
    if (run.kernel != kernel) {
      kernel = run.kernel;
      runner = prepare(*ptx, kernel);
      if (!runner) report(runner.error().Render());
    }
    if (!runner) continue;
    auto arguments = rt::ParseArguments(run);
    REQUIRE(arguments);
    harness::KernelCall call{{run.grid[0], run.grid[1], run.grid[2]},
                             {run.block[0], run.block[1], run.block[2]},
                             run.shared_bytes,
                             *arguments};
    if (const Status status = (*runner)(call); !status) {
      report(status.error().Render());
      continue;
    }
    if (!*record && run.expected.empty()) {
      harness::KernelCall reference{call.grid, call.block, run.shared_bytes, *rt::ParseArguments(run)};
      if (const Status status = Interpret(*ptx, kernel, reference); !status) report(status.error().Render());
      for (uint32_t i = 0; i < call.arguments.size(); ++i) {
        const rt::Argument& argument = call.arguments[i];
        if (!argument.IsWritten()) continue;
        if (auto difference = rt::FindVectorDifference(run.rule, *argument.type, argument.data,
                                                       reference.arguments[i].data)) {
          report(run.kernel + " line " + std::to_string(run.line) + " arg " + std::to_string(i) + ": " +
                 *difference + " (by the interpreter)");
        }
      }
      continue;
    }
    for (const std::string& problem : Compare(run, call, *record)) report(problem);
  }
  if (problems > 3) FAIL_CHECK(path.filename().string() << ": " << problems << " problems in all");
  CHECK(!file->runs.empty());
}

}  // namespace ptx2cpu::vectors_test
