// Thousands of cases of each kernel that make_vectors wrote (tools/record/many.h): compiled code against the
// interpreter, and against what a GPU gave where <row>.many is beside the vector file. One of kShare kernels,
// by turns; with PTX2CPU_FULL_TESTS or PTX2CPU_VECTOR all of them.
#include "tools/record/many.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/vectors/vector_files.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

constexpr size_t kShare = 16;

struct Engines {
  std::shared_ptr<const ir::Module> translated;
  std::shared_ptr<harness::CompiledCall> compiled;
};
Result<Engines> MakeEngines(const lowering::PtxModule& ptx, const std::string& kernel) {
  lowering::BuildOptions options;
  auto module = std::make_shared<const ir::Module>(TRY(ptx.Build(kernel, options)));
  lowering::JitOptions jit = TRY(harness::OptionsFor({}, 1));
  Engines engines;
  engines.compiled = std::make_shared<harness::CompiledCall>(
      TRY(harness::CompiledCall::Make(std::move(module), std::move(jit))));
  options.pipeline.stop_after = "ir";
  engines.translated = std::make_shared<const ir::Module>(TRY(ptx.Build(kernel, options)));
  return engines;
}

harness::KernelCall CallOf(const rt::VectorRun& run) {
  auto arguments = rt::ParseArguments(run);
  REQUIRE(arguments);
  return {{1, 1, 1}, {run.block[0], 1, 1}, 0, std::move(*arguments)};
}

void CompareRun(const Engines& engines, const rt::VectorRun& run,
                const std::optional<rt::VectorRecord>& record) {
  INFO(run.kernel << ", batch " << run.number);
  harness::KernelCall interpreted = CallOf(run), compiled = CallOf(run);
  REQUIRE(harness::RunInterpreter(*engines.translated, interpreted));
  REQUIRE(engines.compiled->Run(compiled));
  for (uint32_t i = 0; i < compiled.arguments.size(); ++i) {
    const rt::Argument& argument = compiled.arguments[i];
    if (!argument.IsWritten()) continue;
    const auto difference =
        rt::FindVectorDifference(run.rule, *argument.type, argument.data, interpreted.arguments[i].data);
    if (difference) FAIL_CHECK("compiled code and the interpreter: " << *difference);
    const std::vector<std::byte>* recorded = record ? record->Find(run, i) : nullptr;
    if (recorded == nullptr) continue;
    if (auto found = rt::FindManyDifference(run.rule, *argument.type, argument.data, *recorded))
      FAIL_CHECK("the GPU: " << *found);
  }
}

}  // namespace

TEST_CASE("thousands of cases of value instructions", "[long]") {
  const bool all = std::getenv("PTX2CPU_FULL_TESTS") != nullptr || std::getenv("PTX2CPU_VECTOR") != nullptr;
  size_t number = 0, runs = 0;
  for (const auto& path : VectorFiles()) {
    const auto file = rt::ReadVectorFile(path);
    REQUIRE(file);
    const auto many = rt::ManyRuns(*file);
    if (!many) FAIL(many.error().Render());
    const auto record = rt::ReadVectorRecord(path, ".many");
    REQUIRE(record);
    std::optional<lowering::PtxModule> ptx;
    for (size_t first = 0, end = 0; first < many->size(); first = end) {
      const std::string& kernel = (*many)[first].kernel;
      while (end < many->size() && (*many)[end].kernel == kernel) ++end;
      if (!all && number++ % kShare != 0) continue;
      if (!ptx) {
        auto parsed = lowering::PtxModule::Parse(file->text, path.filename());
        if (!parsed) FAIL(parsed.error().Render());
        ptx.emplace(std::move(*parsed));
      }
      const auto engines = MakeEngines(*ptx, kernel);
      if (!engines) FAIL(engines.error().Render());
      for (size_t i = first; i < end; ++i, ++runs) CompareRun(*engines, (*many)[i], *record);
    }
  }
  if (std::getenv("PTX2CPU_VECTOR") == nullptr) CHECK(runs > 0);
  WARN(runs << " runs of " << rt::kManyThreads << " cases");
}
