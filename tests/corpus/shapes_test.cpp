// Every kernel compiles for blocks of one shape, as launches request it, and the emitter knows as much of the
// shape as the analyses; launches have the same results with code for their shape. PTX2CPU_FULL_TESTS: all
// shapes, all launches; else each kernel for a few shapes, some launches.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <numeric>

#include "lowering/llvm/output/jit.h"
#include "tests/corpus/block_shapes.h"
#include "tests/corpus/corpus_runs.h"
#include "tools/harness/compiled_call.h"

using namespace ptx2cpu;

namespace {

Status CompileFor(const lowering::PtxModule& ptx, const std::string& kernel, const lowering::Jit& jit,
                  analysis::LaunchShape shape) {
  lowering::BuildOptions options;
  options.pipeline.passes.launch = shape;
  options.pipeline.verify_each = true;
  const ir::Module module = TRY(ptx.Build(kernel, options));
  static_cast<void>(TRY(jit.Explain(module, kernel, lowering::Jit::Stage::kLlvm)));
  return {};
}

// Compiles for the shape of each launch's blocks, whether a launch would ask for that or not.
corpus_test::Prepare CompileForEach(int optimisation) {
  return [=](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<corpus_test::Runner> {
    auto codes = std::make_shared<std::map<std::array<uint32_t, 3>, harness::CompiledCall>>();
    return corpus_test::Runner([=, ptx = &ptx](harness::KernelCall& call) -> Status {
      const std::array<uint32_t, 3> block = {call.block.x, call.block.y, call.block.z};
      auto found = codes->find(block);
      if (found == codes->end()) {
        lowering::BuildOptions options;
        options.pipeline.passes.launch = analysis::LaunchShape{block[0], block[1], block[2]};
        auto module = std::make_shared<const ir::Module>(TRY(ptx->Build(kernel, options)));
        auto code = TRY(harness::CompiledCall::Make(std::move(module), {.optimisation = optimisation}));
        found = codes->emplace(block, std::move(code)).first;
      }
      return found->second.Run(call);
    });
  };
}

// A branch on %tid.y, and a loop over it, around a shuffle.
constexpr const char* kRowsOfWarps = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 out, .param .u32 last)
{
  .reg .pred %p; .reg .b32 %x, %y, %row, %last, %sum, %other; .reg .b64 %out, %at;
  ld.param.u64 %out, [out];
  ld.param.u32 %last, [last];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %row, %y;
  setp.ge.s32 %p, %y, %last;
  @%p bra DONE;
NEXT:
  mad.lo.u32 %sum, %row, 100, %x;
  shfl.sync.bfly.b32 %other, %sum, 16, 31, -1;
  add.u32 %sum, %sum, %other;
  shfl.sync.bfly.b32 %other, %sum, 8, 31, -1;
  add.u32 %sum, %sum, %other;
  mad.lo.u32 %other, %row, 32, %x;
  mul.wide.u32 %at, %other, 4;
  add.s64 %at, %out, %at;
  st.global.u32 [%at], %sum;
  add.u32 %row, %row, 8;
  setp.lt.s32 %p, %row, %last;
  @%p bra NEXT;
DONE:
  ret;
}
)";

}  // namespace

TEST_CASE(
    "a branch on a coordinate that is the same in each warp needs no agreement, and gives the same results") {
  const auto ptx = lowering::PtxModule::Parse(kRowsOfWarps, "rows.ptx");
  REQUIRE(ptx);
  for (const bool shaped : {false, true}) {
    lowering::BuildOptions options;
    if (shaped) options.pipeline.passes.launch = analysis::LaunchShape{32, 8, 1};
    auto module = ptx->Build("rows", options);
    REQUIRE(module);
    auto compiled = harness::CompiledCall::Make(std::make_shared<const ir::Module>(std::move(*module)),
                                                {.optimisation = 1});
    INFO((compiled ? "" : compiled.error().Render()));
    REQUIRE(compiled);
    harness::KernelCall call;
    call.grid = {1, 1, 1};
    call.block = {32, 8, 1};
    for (const char* spec : {"out:u32:640", "u32:20"}) {
      auto argument = rt::ParseSpec(spec);
      INFO(spec);
      REQUIRE(argument);
      call.arguments.push_back(*std::move(argument));
    }
    REQUIRE(compiled->Run(call));
    const auto* words = reinterpret_cast<const uint32_t*>(call.arguments[0].data.data());
    for (uint32_t row = 0; row < 20; ++row) {
      for (uint32_t x = 0; x < 32; ++x) {
        const uint32_t a = x % 8;
        CHECK(words[row * 32 + x] == 4 * (row * 100 + a) + (8 + 16 + 24));
      }
    }
  }
}

// With one coordinate of an extent of 1 between two others, a value computed from it leaves the loops over
// threads.
TEST_CASE("a coordinate that is the same in the whole block can be read outside the loops over threads") {
  const auto jit = lowering::Jit::Create({.optimisation = 0});
  REQUIRE(jit);
  const auto extraction =
      ptx::ExtractFile(std::filesystem::path(PTX2CPU_SOURCE_DIR) / "corpus/bin/matmul.fatbin");
  REQUIRE(extraction);
  auto images = ptx::PtxImages(*extraction, "matmul_tiled");
  REQUIRE(images);
  const auto ptx = lowering::PtxModule::Parse(std::move(images->front().text), "matmul.fatbin");
  REQUIRE(ptx);
  for (const analysis::LaunchShape shape : {analysis::LaunchShape{128, 1, 8}, {1, 1, 32}, {1, 32, 1}}) {
    const Status status = CompileFor(*ptx, "matmul_tiled", **jit, shape);
    INFO((status ? "" : status.error().Render()));
    CHECK(status);
  }
}

TEST_CASE("kernels of the corpus compile for blocks of every shape") {
  const auto manifest = rt::ReadManifest(std::filesystem::path(PTX2CPU_SOURCE_DIR) / "corpus/manifest.txt");
  REQUIRE(manifest);
  const bool full = std::getenv("PTX2CPU_FULL_TESTS") != nullptr;
  const auto jit = lowering::Jit::Create({.optimisation = 0});
  REQUIRE(jit);
  size_t number = 0, compiled = 0;
  for (const rt::CorpusKernel& kernel : manifest->kernels) {
    const size_t first = number++;
    const auto extraction = ptx::ExtractFile(manifest->folder / kernel.file);
    REQUIRE(extraction);
    auto images = ptx::PtxImages(*extraction, kernel.name);
    REQUIRE(images);
    const auto ptx = lowering::PtxModule::Parse(std::move(images->front().text), kernel.file);
    REQUIRE(ptx);
    for (size_t n = 0; n < (full ? std::size(corpus_test::kBlockShapes) : 2); ++n) {
      const analysis::LaunchShape shape =
          corpus_test::kBlockShapes[(7 * first + 10 * n + n / 2) % std::size(corpus_test::kBlockShapes)];
      const Status status = CompileFor(*ptx, kernel.name, **jit, shape);
      INFO(kernel.name << " for " << shape.x << "x" << shape.y << "x" << shape.z);
      INFO((status ? "" : status.error().Render()));
      CHECK(status);
      ++compiled;
    }
  }
  CHECK(compiled >= 100);
}

TEST_CASE("corpus by code for the shape of each launch's blocks") {
  corpus_test::CheckCorpus(CompileForEach(0), {.most_threads = 5000, .one_in = 10, .first = 3});
}
