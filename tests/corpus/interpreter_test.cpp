// The corpus in the interpreter: as translated, and after the whole pipeline, flat and hierarchical.
#include <catch2/catch.hpp>

#include "tests/corpus/corpus_runs.h"

using namespace ptx2cpu;
using namespace ptx2cpu::corpus_test;

namespace {

Prepare InterpretAt(std::string stage, lowering::PassOptions passes = {}) {
  return [=](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
    lowering::BuildOptions options;
    options.pipeline.stop_after = stage;
    options.pipeline.passes = passes;
    auto module = std::make_shared<ir::Module>(TRY(ptx.Build(kernel, options)));
    return Runner([module](harness::KernelCall& call) { return harness::RunInterpreter(*module, call); });
  };
}

}  // namespace

TEST_CASE("interpreted corpus as translated") { CheckCorpus(InterpretAt("ir"), 20000); }
TEST_CASE("interpreted corpus after the pipeline") { CheckCorpus(InterpretAt(""), 20000); }
TEST_CASE("interpreted corpus in hierarchical form") { CheckCorpus(InterpretAt("", {.collapse = lowering::CollapseForm::kHierarchical}), 5000); }
TEST_CASE("interpreted corpus with resumable lanes") { CheckCorpus(InterpretAt("", {.tier = lowering::Tier::kLanes}), 5000); }
TEST_CASE("interpreted corpus with resumable warps") { CheckCorpus(InterpretAt("", {.tier = lowering::Tier::kResumable}), 5000, lowering::Tier::kResumable); }
