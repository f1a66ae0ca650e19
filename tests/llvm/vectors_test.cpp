// Instruction vectors as machine code of this process, against what a real GPU gave.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/vectors/vector_files.h"

using namespace ptx2cpu;

namespace {
vectors_test::Prepare RunJit(lowering::ThreadIds thread_ids, int optimisation) {
  return [=](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<vectors_test::Runner> {
    ir::Module module = TRY(ptx.Build(kernel));
    auto jit = TRY(llvm_test::JitKernel::Create(std::move(module), {.entry_points = {}, .optimisation = optimisation, .thread_ids = thread_ids, .debug_info = false}));
    return vectors_test::Runner([jit](harness::KernelCall& call) { return jit->Run(call); });
  };
}
}  // namespace

TEST_CASE("instruction vectors give as machine code what the GPU gave") {
  for (const auto& path : vectors_test::VectorFiles()) {
    if (path.stem() != "bar_arrive") vectors_test::CheckVectors(path, RunJit(lowering::ThreadIds::kAnyShape, 1));
  }
}
