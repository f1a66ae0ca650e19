// Instruction vectors in the interpreter, as translated and after the whole pipeline, against what a real GPU
// gave.
#include <catch2/catch.hpp>

#include "tests/vectors/vector_files.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

Prepare InterpretAt(std::string stage, lowering::Tier tier = lowering::Tier::kAuto) {
  return [stage, tier](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
    lowering::BuildOptions options;
    options.pipeline.stop_after = stage;
    options.pipeline.passes.tier = TierFor(ptx, kernel, tier);
    auto module = std::make_shared<ir::Module>(TRY(ptx.Build(kernel, options)));
    return Runner([module](harness::KernelCall& call) { return harness::RunInterpreter(*module, call); });
  };
}

}  // namespace

TEST_CASE("instruction vectors give in the interpreter what the GPU gave") {
  for (const auto& path : VectorFiles()) CheckVectors(path, InterpretAt("ir"));
}

TEST_CASE("instruction vectors give the same after the whole pipeline") {
  for (const auto& path : VectorFiles()) CheckVectors(path, InterpretAt(""));
}

TEST_CASE("instruction vectors give the same with resumable lanes") {
  for (const auto& path : VectorFiles()) CheckVectors(path, InterpretAt("", lowering::Tier::kLanes));
}

TEST_CASE("instruction vectors give the same with resumable warps") {
  for (const auto& path : VectorFiles()) CheckVectors(path, InterpretAt("", lowering::Tier::kResumable));
}

TEST_CASE("an instruction that needs a higher tier is refused by name and line") {
  const auto path = std::filesystem::path(PTX2CPU_SOURCE_DIR) / "tests/ptx/bar_arrive.ptx";
  auto file = rt::ReadVectorFile(path);
  REQUIRE(file);
  auto ptx = lowering::PtxModule::Parse(file->text, "bar_arrive.ptx");
  REQUIRE(ptx);
  lowering::BuildOptions warp;
  warp.pipeline.passes.tier = lowering::Tier::kWarp;
  auto module = ptx->Build("bar_arrive_0", warp);
  REQUIRE_FALSE(module);
  CHECK(module.error().code == ErrorCode::kUnsupported);
  CHECK(module.error().at.line != 0);
  CHECK(module.error().Render().find("T2") != std::string::npos);
}
