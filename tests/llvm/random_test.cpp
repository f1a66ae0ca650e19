// Random kernels and the passes' own kernels: the interpretation of the Collapsed form against its machine
// code.
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/llvm/jit_run.h"
#include "tests/passes/kernel_run.h"
#include "tests/passes/random_kernel.h"
#include "tests/quick.h"

using namespace ptx2cpu;

namespace {

test::Outcome RunCompiled(const ptx2cpu_kernel& kernel, uint32_t threads, uint32_t n) {
  test::Outcome outcome;
  outcome.data.resize(test::kDataWords);
  for (uint32_t i = 0; i < test::kDataWords; ++i) outcome.data[i] = (i * 2654435761u) >> 20;  // as RunKernel
  std::byte params[16] = {};
  uint32_t* address = outcome.data.data();
  std::memcpy(params, &address, 8);
  std::memcpy(params + 8, &n, 4);
  auto error = rt::Launch(kernel, {{test::kGrid, 1, 1}, {threads, 1, 1}, 0},
                          std::span(params).first(kernel.parameter_bytes), {.max_workers = 1});
  if (error) outcome.status = Fail(ErrorCode::kFault, error->message);
  return outcome;
}

// False when something differs, which has been reported.
bool Same(const ir::Module& module, lowering::Jit& jit, const std::string& what,
          const std::vector<uint32_t>& shapes) {
  auto compiled = jit.Add(module);
  if (!compiled) {
    FAIL_CHECK(what << ": " << compiled.error().Render() << ir::Print(module));
    return false;
  }
  const ir::Function* kernel = module.FindFunction(compiled->kernel->name);
  for (uint32_t least : shapes) {
    const uint32_t threads = test::Threads(*kernel, least);
    for (uint32_t n : {0u, 7u}) {
      test::Outcome expected = test::RunKernel(module, *kernel, threads, n);
      if (!expected.status) continue;  // endless or faulty by purpose
      test::Outcome actual = RunCompiled(*compiled->kernel, threads, n);
      INFO(what << ", " << threads << " threads, n = " << n);
      if (!actual.status)
        FAIL_CHECK(actual.status.error().Render() << ir::Print(module));
      else if (actual.data != expected.data)
        FAIL_CHECK("memory differs\n" << ir::Print(module));
      else
        continue;
      return false;
    }
  }
  return true;
}

std::unique_ptr<lowering::Jit> MakeJit(int optimisation) {
  auto jit = lowering::Jit::Create(
      {.entry_points = llvm_test::EntryPoints(), .optimisation = optimisation, .debug_info = false});
  REQUIRE(jit);
  return std::move(*jit);
}

}  // namespace

TEST_CASE("random kernels give the same as machine code") {
  auto start = std::chrono::steady_clock::now();
  std::unique_ptr<lowering::Jit> jits[] = {MakeJit(1), MakeJit(3)};
  const char* first = std::getenv("PTX2CPU_RANDOM_SEED");
  uint64_t seed = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  uint32_t compared = 0;
  const uint32_t least = test::IsQuick() ? 6 : 20;
  for (; compared < 120; ++seed) {
    if (compared >= least &&
        (test::IsQuick() || std::chrono::steady_clock::now() - start > std::chrono::milliseconds(6000)))
      break;
    auto form = seed % 2 != 0 ? lowering::CollapseForm::kAuto : lowering::CollapseForm::kHierarchical;
    Result<ir::Module> module = test::After(test::RandomKernel(seed), "", form);
    REQUIRE(module);
    if (!Same(*module, *jits[seed / 2 % 2], "seed " + std::to_string(seed), {1, 31, 33, 100})) break;
    ++compared;
  }
  CHECK(compared >= least);
}

TEST_CASE("the kernels of the passes' tests give the same as machine code") {
  auto jit = MakeJit(3);
  uint32_t compared = 0;
  test::Sample sample(13);
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/kernels")) {
    std::string name = entry.path().stem();
    if (entry.path().extension() != ".ir" || name == "endless" || sample.Skips()) continue;
    Result<ir::Module> module = test::After(test::ParseModule(test::ReadFile(entry.path())), "");
    if (!module) continue;  // refused by purpose
    CHECK(Same(*module, *jit, name, {1, 31, 33, 100}));
    ++compared;
  }
  CHECK(compared > test::QuickPart(20u));
}
