// Instruction vectors in the interpreter: PTX text -> AST -> IR -> interpreted, against what a real GPU gave.
#include <catch2/catch.hpp>
#include <filesystem>

#include "ptx-parser/parse/parse.h"
#include "ptx-parser/translate/translate.h"
#include "tools/harness/kernel_call.h"
#include "tools/record/vectors.h"

using namespace ptx2cpu;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> VectorFiles() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PTX2CPU_SOURCE_DIR) / "tests/ptx")) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Differences of one run from record and expectations; nothing when none.
std::vector<std::string> Compare(const rt::VectorRun& run, const harness::KernelCall& call, const std::optional<rt::VectorRecord>& record) {
  std::vector<std::string> problems;
  for (uint32_t i = 0; i < call.arguments.size(); ++i) {
    if (!call.arguments[i].IsWritten()) continue;
    const std::vector<std::byte>* wanted = record ? record->Find(run, i) : nullptr;
    if (auto found = run.expected.find(i); found != run.expected.end()) wanted = &found->second;
    if (wanted == nullptr) continue;
    if (auto difference = rt::FindVectorDifference(run.rule, *call.arguments[i].type, call.arguments[i].data, *wanted)) {
      problems.push_back(run.kernel + " line " + std::to_string(run.line) + " arg " + std::to_string(i) + ": " + *difference);
    }
  }
  return problems;
}

}  // namespace

TEST_CASE("every instruction vector gives in the interpreter what the GPU gave") {
  const char* only = std::getenv("PTX2CPU_VECTOR");  // one file's stem, while working on it
  for (const fs::path& path : VectorFiles()) {
    if (only != nullptr && path.stem() != only) continue;
    auto file = rt::ReadVectorFile(path);
    REQUIRE(file);
    const auto record = rt::ReadVectorRecord(path);
    REQUIRE(record);
    auto ast = ptx::Parse(file->text, path.filename());
    if (!ast) {
      FAIL_CHECK(ast.error().Render());
      continue;
    }
    std::optional<ir::Module> module;
    std::string kernel;
    size_t shown = 0;
    for (const rt::VectorRun& run : file->runs) {
      if (run.kernel != kernel) {
        kernel = run.kernel;
        auto translated = ptx::Translate(*ast, kernel);
        if (!translated) {
          if (shown++ < 3) FAIL_CHECK(path.filename().string() << ": " << translated.error().Render());
          module.reset();
          continue;
        }
        module = std::move(*translated);
      }
      if (!module) continue;
      auto arguments = rt::ParseArguments(run);
      REQUIRE(arguments);
      harness::KernelCall call{{run.grid[0], run.grid[1], run.grid[2]}, {run.block[0], run.block[1], run.block[2]}, run.shared_bytes, *arguments};
      const Status status = harness::RunInterpreter(*module, call);
      if (!status) {
        if (shown++ < 3) FAIL_CHECK(path.filename().string() << ": " << status.error().Render());
        continue;
      }
      for (const std::string& problem : Compare(run, call, *record)) {
        if (shown++ < 3) FAIL_CHECK(path.filename().string() << ": " << problem);
      }
    }
    if (shown > 3) FAIL_CHECK(path.filename().string() << ": " << shown << " problems in all");
  }
}
