// Instruction vectors as compiled code, against what a real GPU gave.
#include <catch2/catch.hpp>

#include "tests/vectors/vector_files.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

Prepare Compile(lowering::PassOptions passes, int optimisation, harness::VectorForm form = {}) {
  return [=](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
    lowering::BuildOptions options;
    options.pipeline.passes = passes;
    options.pipeline.passes.tier = TierFor(ptx, kernel, passes.tier);
    lowering::JitOptions jit = TRY(harness::OptionsFor(form, optimisation));
    auto module = std::make_shared<const ir::Module>(TRY(ptx.Build(kernel, options)));
    auto compiled = std::make_shared<harness::CompiledCall>(
        TRY(harness::CompiledCall::Make(std::move(module), std::move(jit))));
    return Runner([compiled](harness::KernelCall& call) { return compiled->Run(call); });
  };
}

}  // namespace

TEST_CASE("compiled instruction vectors") {
  for (const auto& path : VectorFiles()) {
    CheckVectors(path, Compile({}, 1));
  }
}

// In the hierarchical form lanes may be vectors.
TEST_CASE("compiled instruction vectors of whole warps") {
  size_t number = 0;
  for (const auto& path : VectorFiles()) {
    if (number++ % 3 == 0)
      CheckVectors(path, Compile({.collapse = lowering::CollapseForm::kHierarchical}, 1));
  }
}

// Vectors in which the scheduler takes part.
TEST_CASE("compiled instruction vectors in resumable tiers") {
  for (const auto& path : VectorFiles()) {
    if (!LetsThreadsWait(path)) continue;
    CheckVectors(path, Compile({.tier = lowering::Tier::kResumable}, 0));
    CheckVectors(path, Compile({.tier = lowering::Tier::kLanes}, 0));
  }
}

TEST_CASE("compiled instruction vectors with all optimisations", "[full]") {
  if (std::getenv("PTX2CPU_FULL_TESTS") == nullptr) return;
  for (const auto& path : VectorFiles()) {
    CheckVectors(path, Compile({.collapse = lowering::CollapseForm::kHierarchical}, 3));
  }
}

namespace {

// Each file in one form, the flat and the hierarchical one alternately; with PTX2CPU_FULL_TESTS in each form.
// A case takes a third of the forms, since the cases run side by side.
void CheckOtherForms(size_t third) {
  const bool full = std::getenv("PTX2CPU_FULL_TESTS") != nullptr;
  size_t number = 0;
  for (const auto& path : VectorFiles()) {
    ++number;
    for (size_t i = third; i < harness::kVectorForms.size(); i += 3) {
      if (!full && number % harness::kVectorForms.size() != i) continue;
      const harness::VectorForm& form = harness::kVectorForms[i];
      INFO(harness::NameOf(form));
      const bool warps = (number / harness::kVectorForms.size()) % 2 == 0;
      if (full || !warps) CheckVectors(path, Compile({}, full ? 2 : 1, form));
      if (full || warps)
        CheckVectors(path, Compile({.collapse = lowering::CollapseForm::kHierarchical}, 1, form));
    }
  }
}

}  // namespace

TEST_CASE("compiled instruction vectors at other widths and for other machines, first third") {
  CheckOtherForms(0);
}
TEST_CASE("compiled instruction vectors at other widths and for other machines, second third") {
  CheckOtherForms(1);
}
TEST_CASE("compiled instruction vectors at other widths and for other machines, last third") {
  CheckOtherForms(2);
}
