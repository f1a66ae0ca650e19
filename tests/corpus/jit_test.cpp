// The corpus as compiled code.
#include <catch2/catch.hpp>

#include "tests/corpus/corpus_runs.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::corpus_test;

namespace {

Prepare Compile(lowering::PassOptions passes, int optimisation, harness::VectorForm form = {}) {
  return [=](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
    lowering::BuildOptions options;
    options.pipeline.passes = passes;
    lowering::JitOptions jit = TRY(harness::OptionsFor(form, optimisation));
    auto module = std::make_shared<const ir::Module>(TRY(ptx.Build(kernel, options)));
    auto compiled = std::make_shared<harness::CompiledCall>(
        TRY(harness::CompiledCall::Make(std::move(module), std::move(jit))));
    return Runner([compiled](harness::KernelCall& call) { return compiled->Run(call); });
  };
}

}  // namespace

TEST_CASE("compiled corpus") { CheckCorpus(Compile({}, 3), {}); }
TEST_CASE("compiled corpus in hierarchical form") {
  CheckCorpus(Compile({.collapse = lowering::CollapseForm::kHierarchical}, 1), {.one_in = 3, .first = 1});
}
// Each kernel in one form; with all tests in each.
TEST_CASE("compiled corpus at other widths and for other machines") {
  constexpr auto kCount = static_cast<uint32_t>(harness::kVectorForms.size());
  for (uint32_t i = 0; i < kCount; ++i) {
    INFO(harness::NameOf(harness::kVectorForms[i]));
    CheckCorpus(Compile({}, 2, harness::kVectorForms[i]), {.one_in = kCount, .first = i});
  }
}
TEST_CASE("compiled corpus with resumable warps") {
  CheckCorpus(Compile({.tier = lowering::Tier::kResumable}, 1),
              {.most_threads = 5000, .one_in = 3, .first = 2, .tier = lowering::Tier::kResumable});
}
TEST_CASE("compiled corpus with resumable lanes") {
  CheckCorpus(Compile({.tier = lowering::Tier::kLanes}, 1), {.most_threads = 5000, .one_in = 3, .first = 0});
}
