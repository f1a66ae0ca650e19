// The corpus as machine code of this process, against results recorded on a GPU.
#include <catch2/catch.hpp>

#include "tests/corpus/corpus_runs.h"
#include "tests/llvm/jit_run.h"

using namespace ptx2cpu;

namespace {
corpus_test::Prepare RunJit(lowering::CollapseForm form) {
  return [=](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<corpus_test::Runner> {
    lowering::BuildOptions options;
    options.pipeline.passes.collapse = form;
    auto jit = TRY(llvm_test::JitKernel::Create(TRY(ptx.Build(kernel, options))));
    return corpus_test::Runner([jit](harness::KernelCall& call) { return jit->Run(call, 0); });
  };
}
}  // namespace

TEST_CASE("corpus as machine code") { corpus_test::CheckCorpus(RunJit(lowering::CollapseForm::kAuto), 0); }
TEST_CASE("corpus as machine code, hierarchical") { corpus_test::CheckCorpus(RunJit(lowering::CollapseForm::kHierarchical), 20000); }
