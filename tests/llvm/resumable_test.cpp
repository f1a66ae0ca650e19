// Resumable kernels: the interpretation of their steps against machine code, driven by a random scheduler and
// by the runtime's.
#include <cstdlib>
#include <filesystem>

#include "ir/verify/verify.h"
#include "lowering/compile.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/step_driver.h"
#include "tests/passes/kernel_run.h"
#include "tests/passes/random_kernel.h"
#include "tests/quick.h"

using namespace ptx2cpu;

namespace {

std::unique_ptr<lowering::Jit> MakeJit(int optimisation) {
  auto jit = lowering::Jit::Create({.entry_points = llvm_test::EntryPoints(), .optimisation = optimisation});
  REQUIRE(jit);
  return std::move(*jit);
}

struct Memory {
  std::vector<uint32_t> data = std::vector<uint32_t>(test::kDataWords);
  std::byte params[16] = {};
  explicit Memory(uint32_t n) {
    for (uint32_t i = 0; i < test::kDataWords; ++i) data[i] = (i * 2654435761u) >> 20;  // as RunKernel
    uint32_t* address = data.data();
    std::memcpy(params, &address, 8);
    std::memcpy(params + 8, &n, 4);
  }
  std::span<const std::byte> Parameters(const ptx2cpu_kernel& kernel) const {
    return std::span(params).first(kernel.parameter_bytes);
  }
};

// Counts what was compared.
uint32_t Compare(const ir::Module& module, const std::string& what, lowering::Jit& jit, uint64_t seeds) {
  auto compiled = jit.Add(module);
  if (!compiled) FAIL(what << ": " << compiled.error().Render());
  const ptx2cpu_kernel& kernel = *compiled->kernel;
  const ir::Function& function = *module.FindFunction(kernel.name);
  REQUIRE(function.resumes != ir::Resumes::kNever);
  REQUIRE(kernel.run_block == nullptr);
  REQUIRE(kernel.run_step != nullptr);
  REQUIRE(kernel.point_count == function.resume_points.size());
  uint32_t compared = 0;
  for (uint32_t least : {1u, 31u, 33u, 100u}) {
    const uint32_t threads = test::Threads(function, least);
    for (uint32_t n : {0u, 7u}) {
      test::Outcome expected = test::RunKernel(module, function, threads, n);
      if (!expected.status) continue;  // faulty by purpose
      for (uint64_t seed = 0; seed < seeds; ++seed) {
        INFO(what << ", " << threads << " threads, n = " << n << ", seed " << seed);
        Memory memory(n);
        const bool whole_warps = function.resumes == ir::Resumes::kWarps || ir::RunsTogether(function);
        llvm_test::StepDriver driver(kernel, whole_warps, seed);
        CHECK(driver.Run(test::kGrid, threads, memory.Parameters(kernel)) == "");
        CHECK(memory.data == expected.data);
        ++compared;
      }
      INFO(what << ", " << threads << " threads, n = " << n << ", launched");
      Memory memory(n);
      auto error = rt::Launch(kernel, {{test::kGrid, 1, 1}, {threads, 1, 1}, 0}, memory.Parameters(kernel),
                              {.max_workers = 1});
      if (error) FAIL(error->message);
      CHECK(memory.data == expected.data);
    }
  }
  return compared;
}

std::vector<std::filesystem::path> KernelsOf(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(PTX2CPU_SOURCE_DIR) + folder)) {
    if (entry.path().extension() == ".ir") paths.push_back(entry.path());
  }
  return paths;
}

}  // namespace

TEST_CASE("resumable kernels written by hand give the same as machine code") {
  for (int level : {0, 3}) {
    auto jit = MakeJit(level);
    for (const auto& path : KernelsOf("/tests/llvm/kernels")) {
      ir::Module module = test::ParseModule(test::ReadFile(path));
      Status status = ir::Verify(module);
      if (!status) FAIL(path << status.error().Render());
      CHECK(Compare(module, path.stem(), *jit, 8) >= 8);
    }
  }
}

TEST_CASE("the passes' kernels give the same as machine code in the resumable tiers") {
  auto jit = MakeJit(2);
  uint32_t compared[2] = {};
  test::Sample sample(13);
  for (const auto& path : KernelsOf("/tests/passes/kernels")) {
    if (path.stem() == "endless") continue;
    for (lowering::Tier tier : {lowering::Tier::kLanes, lowering::Tier::kResumable}) {
      if (sample.Skips()) continue;
      Result<ir::Module> module = test::AfterTier(test::ParseModule(test::ReadFile(path)), tier);
      if (!module || test::Kernel(*module).resumes == ir::Resumes::kNever) continue;
      compared[tier == lowering::Tier::kLanes] += Compare(*module, path.stem(), *jit, 3);
    }
  }
  CHECK(compared[0] > (test::IsQuick() ? 5 : 100));
  CHECK(compared[1] > (test::IsQuick() ? 5 : 100));
}

TEST_CASE("kernels that wait give the same as machine code whose blocks suspend") {
  uint32_t by_blocks = 0;
  test::Sample sample(7);
  for (int level : {0, 2}) {
    auto jit = MakeJit(level);
    for (const auto& path : KernelsOf("/tests/passes/waits")) {
      if (sample.Skips()) continue;
      auto module = test::AfterTier(test::ParseModule(test::ReadFile(path)), lowering::Tier::kAuto);
      if (!module) FAIL(path << module.error().Render());
      const ir::Function& function = test::Kernel(*module);
      auto compiled = jit->Add(*module);
      if (!compiled) FAIL(path << compiled.error().Render());
      by_blocks += function.resumes == ir::Resumes::kBlocks;
      for (uint32_t threads : {1u, 7u, 33u, 100u, 256u}) {
        const test::Outcome expected = test::RunKernel(*module, function, threads, 7);
        if (!expected.status) FAIL(path << expected.status.error().Render());
        INFO(path << ", " << threads << " threads");
        Memory memory(7);
        auto error = rt::Launch(*compiled->kernel, {{test::kGrid, 1, 1}, {threads, 1, 1}, 0},
                                memory.Parameters(*compiled->kernel), {.max_workers = 2});
        if (error) FAIL(error->message);
        CHECK(memory.data == expected.data);
      }
    }
  }
  CHECK(by_blocks >= test::QuickPart(16u));
}

TEST_CASE("random kernels give the same as machine code in the resumable tiers") {
  auto jit = MakeJit(1);
  const char* first = std::getenv("PTX2CPU_RANDOM_SEED");
  const uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  constexpr size_t kMaxSlots = 40;  // warp-level code of more takes LLVM seconds
  const uint64_t seeds = test::IsQuick() ? 4 : 16;
  uint32_t compared[2] = {};
  for (uint64_t seed = begin; seed < begin + seeds; ++seed) {
    for (lowering::Tier tier : {lowering::Tier::kLanes, lowering::Tier::kResumable}) {
      Result<ir::Module> module = test::AfterTier(test::RandomKernel(seed), tier);
      if (!module) continue;  // no warp can wait within an arm
      const ir::Function& kernel = test::Kernel(*module);
      if (kernel.resumes == ir::Resumes::kWarps && kernel.slots.size() > kMaxSlots) continue;
      compared[tier == lowering::Tier::kLanes] += Compare(*module, "seed " + std::to_string(seed), *jit, 1);
    }
  }
  CHECK(compared[0] > seeds * 5 / 8);
  CHECK(compared[1] > seeds * 5 / 8);
}

TEST_CASE("code for one shape is given up as soon as lanes have to resume", "[resumable]") {
  const auto ptx = lowering::PtxModule::Parse(R"(.version 8.0
.target sm_80
.address_size 64
.func f(.param .u32 n)
{
  .reg .b32 %n; .reg .pred %p;
  ld.param.u32 %n, [n];
  setp.eq.u32 %p, %n, 0;
  @%p ret;
  bar.sync 0;
  sub.u32 %n, %n, 1;
  { .param .u32 less; st.param.u32 [less], %n; call f, (less); }
  ret;
}
.visible .entry k(.param .u32 n)
{
  .reg .b32 %n;
  ld.param.u32 %n, [n];
  { .param .u32 all; st.param.u32 [all], %n; call f, (all); }
  ret;
}
)",
                                              "recursive.ptx");
  if (!ptx) FAIL(ptx.error().Render());
  std::vector<lowering::StageTime> times;
  const auto special = ptx->BuildForShape("k", {}, {32, 1, 1}, &times);
  if (!special) FAIL(special.error().Render());
  CHECK_FALSE(special->has_value());
  REQUIRE_FALSE(times.empty());
  CHECK(times.back().stage == "flatten-calls");
  const auto any = ptx->Build("k");
  REQUIRE(any);
  CHECK(any->functions[0].resumes == ir::Resumes::kLanes);
}

TEST_CASE("warps run together until their lanes part, as machine code", "[resumable]") {
  const auto jit = MakeJit(1);
  for (const std::filesystem::path& path : KernelsOf("/tests/passes/partings")) {
    ir::Module module = test::ParseModule(test::ReadFile(path.string()));
    REQUIRE(lowering::RunPipeline(module, {}));
    CHECK(ir::RunsTogether(module.functions[0]));
    CHECK(Compare(module, path.string(), *jit, 4) > 0);
  }
}

namespace {

// Each block, of one warp, waits for the next one's flag: lane 0 reads it and the others see it through
// shared memory. Lanes could part before, but all go one way.
constexpr const char* kLaterBlocks = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pdata, .param .u32 pn)
{
  .reg .pred %p, %first, %last; .reg .b32 %t, %b, %g, %v, %f; .reg .b64 %data, %flag, %own;
  .shared .b32 seen;
  ld.param.u64 %data, [pdata];
  ld.param.u32 %v, [pn];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %g, %nctaid.x;
  mad.wide.u32 %flag, %b, 4, %data;
  mad.lo.u32 %f, %b, 32, %t;
  mad.wide.u32 %own, %f, 4, %data;
  add.u32 %v, %v, %t;
  shr.u32 %f, %v, 16;
  setp.ne.u32 %p, %f, 0;
  @%p bra other;
  shfl.sync.bfly.b32 %v, %v, 1, 31, 0xffffffff;
  bra met;
other:
  shfl.sync.bfly.b32 %v, %t, 1, 31, 0xffffffff;
met:
  setp.eq.u32 %first, %t, 0;
  add.u32 %f, %b, 1;
  setp.eq.u32 %last, %f, %g;
  @%last bra passed;
wait:
  @!%first bra asked;
  atom.global.add.u32 %f, [%flag + 4], 0;
  st.shared.u32 [seen], %f;
asked:
  bar.warp.sync 0xffffffff;
  ld.shared.u32 %f, [seen];
  bar.warp.sync 0xffffffff;
  setp.eq.u32 %p, %f, 0;
  @%p bra wait;
passed:
  st.global.u32 [%own + 64], %v;
  @%first atom.global.exch.b32 %f, [%flag], 1;
  ret;
}
)";

}  // namespace

TEST_CASE("blocks whose warps run together let a later block run that they wait for", "[resumable]") {
  const auto ptx = lowering::PtxModule::Parse(kLaterBlocks, "later_blocks.ptx");
  if (!ptx) FAIL(ptx.error().Render());
  const auto module = ptx->Build("k");
  if (!module) FAIL(module.error().Render());
  CHECK(ir::RunsTogether(module->functions[0]));
  const auto jit = MakeJit(1);
  const auto compiled = jit->Add(*module);
  if (!compiled) FAIL(compiled.error().Render());
  constexpr uint32_t kBlocks = 3, kThreads = 32, kFlags = 16;
  std::vector<uint32_t> data(kFlags + kBlocks * kThreads);
  struct {
    uint32_t* data;
    uint32_t n;
  } params{data.data(), 100};
  const auto error = rt::Launch(*compiled->kernel, {{kBlocks, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(12), {.max_workers = 1});
  if (error) FAIL(error->message);
  for (uint32_t n = 0; n < kBlocks; ++n) CHECK(data[n] == 1);
  for (uint32_t i = 0; i < kBlocks * kThreads; ++i) CHECK(data[kFlags + i] == 100 + (i % kThreads ^ 1));
}
