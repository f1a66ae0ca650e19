// Random kernels: the Simt interpretation against the Collapsed one, in both forms.
#include <chrono>
#include <cstdlib>

#include "tests/passes/kernel_run.h"
#include "tests/passes/random_kernel.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

bool SameMemory(uint64_t seed, const ir::Module& reference, const ir::Module& module) {
  for (uint32_t threads : {1u, 31u, 33u, 64u, 100u}) {
    for (uint32_t n : {0u, 7u}) {
      Outcome expected = RunKernel(reference, reference.functions[0], threads, n);
      INFO("seed " << seed << ", " << threads << " threads, n = " << n);
      if (!expected.status) FAIL(expected.status.error().Render() << ir::Print(reference));
      Outcome actual = RunKernel(module, module.functions[0], threads, n);
      if (!actual.status) {
        FAIL_CHECK(actual.status.error().Render() << ir::Print(reference) << ir::Print(module));
        return false;
      }
      if (actual.data == expected.data) continue;
      size_t i = 0;
      while (actual.data[i] == expected.data[i]) ++i;
      FAIL_CHECK("word " << i << " differs\n" << ir::Print(reference) << ir::Print(module));
      return false;
    }
  }
  return true;
}

uint64_t FirstSeed() {
  const char* text = std::getenv("PTX2CPU_RANDOM_SEED");  // to look for trouble beyond the fixed seeds
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

}  // namespace

TEST_CASE("random kernels mean the same before and after collapsing", "[passes][random]") {
  auto start = std::chrono::steady_clock::now();
  const uint32_t least = IsQuick() ? 8 : 40;
  uint32_t compared = 0;
  for (uint64_t seed = FirstSeed(); compared < 400; ++seed) {
    // However slow the build (sanitizers).
    if (compared >= least &&
        (IsQuick() || std::chrono::steady_clock::now() - start > std::chrono::milliseconds(8000)))
      break;
    ir::Module reference = RandomKernel(seed);
    auto form = seed % 2 ? lowering::CollapseForm::kAuto : lowering::CollapseForm::kHierarchical;
    for (const char* pass : {"collapse", "sequence-divergent-arms"}) {
      Result<ir::Module> module = After(reference, pass, form);
      if (!module) FAIL("seed " << seed << ": " << module.error().Render() << ir::Print(reference));
      if (!SameMemory(seed, reference, *module)) return;
    }
    ++compared;
  }
  CHECK(compared >= least);
}
