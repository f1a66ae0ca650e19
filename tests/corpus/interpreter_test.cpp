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

TEST_CASE("interpreted corpus as translated") { CheckCorpus(InterpretAt("ir"), {.most_threads = 20000}); }
TEST_CASE("interpreted corpus after the pipeline") {
  CheckCorpus(InterpretAt(""), {.most_threads = 20000, .one_in = 2, .first = 0});
}
TEST_CASE("interpreted corpus in hierarchical form") {
  CheckCorpus(InterpretAt("", {.collapse = lowering::CollapseForm::kHierarchical}),
              {.most_threads = 5000, .one_in = 3, .first = 2});
}
TEST_CASE("interpreted corpus with resumable lanes") {
  CheckCorpus(InterpretAt("", {.tier = lowering::Tier::kLanes}),
              {.most_threads = 5000, .one_in = 3, .first = 1});
}
TEST_CASE("interpreted corpus with resumable warps") {
  CheckCorpus(InterpretAt("", {.tier = lowering::Tier::kResumable}),
              {.most_threads = 5000, .one_in = 3, .first = 0, .tier = lowering::Tier::kResumable});
}
