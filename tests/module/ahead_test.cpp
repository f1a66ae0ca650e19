// Kernels that are compiled before a launch needs them.
#include "runtime/engine/ahead.h"

#include <catch2/catch.hpp>
#include <string>

#include "runtime/engine/background.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/engine/kernel_source.h"
#include "runtime/worker/processors.h"
#include "tests/cache/scratch.h"

using namespace ptx2cpu;
using rt::Ahead;

namespace {

constexpr Dim3 kBlock = {32, 1, 1};

std::string Kernels(int count) {
  std::string text = ".version 8.3\n.target sm_90\n.address_size 64\n";
  for (int n = 0; n < count; ++n)
    text += ".visible .entry k" + std::to_string(n) +
            "(.param .u64 out)\n{\n  .reg .b64 %p; .reg .b32 %t;\n" +
            "  ld.param.u64 %p, [out];\n  mov.u32 %t, " + std::to_string(n) +
            ";\n  st.global.u32 [%p], %t;\n  ret;\n}\n";
  return text;
}

}  // namespace

TEST_CASE("after the second kernel that took long, those next to it follow, at most two unused", "[ahead]") {
  Ahead ahead(6, 200);
  CHECK_FALSE(ahead.AfterUse(0, 300));
  CHECK_FALSE(ahead.AfterUse(1, 199));  // short
  CHECK(ahead.AfterUse(2, 250) == 3);
  CHECK(ahead.AfterUse(2, 0) == 4);
  CHECK_FALSE(ahead.AfterUse(2, 0));
  CHECK(ahead.AfterUse(3, 0) == 5);  // was ready
  CHECK_FALSE(ahead.AfterUse(4, 0));
}

TEST_CASE("kernels that are launched in the reverse order of the text are compiled in it", "[ahead]") {
  Ahead ahead(5, 200);
  CHECK_FALSE(ahead.AfterUse(4, 300));
  CHECK(ahead.AfterUse(3, 300) == 2);
  CHECK(ahead.AfterUse(2, 0) == 1);
  CHECK(ahead.AfterUse(1, 0) == 0);
  CHECK_FALSE(ahead.AfterUse(0, 0));
}

TEST_CASE("a module compiles the next kernels in the background", "[ahead]") {
  if (rt::UsableProcessors() == 1) return;
  const cache_test::Scratch scratch;
  rt::KernelCache cache({scratch.path()});
  rt::ModuleOptions options{.cache = &cache, .quick_tier = false};
  options.ahead_from = 0;
  const auto module = rt::KernelModule::Make({{Kernels(8), "many.ptx"}}, options);
  REQUIRE(module->Compile("k0", kBlock));
  rt::WaitForBackground();
  const uint64_t one = cache.counts().stored;
  REQUIRE(module->Compile("k1", kBlock));
  rt::WaitForBackground();
  CHECK(cache.counts().stored == 3 * one);  // k2 as well
  REQUIRE(module->Compile("k2", kBlock));   // is there
  rt::WaitForBackground();
  CHECK(cache.counts().stored == 4 * one);
}

TEST_CASE("what fails ahead of a launch is tried again by it", "[ahead]") {
  rt::Once<int> once;
  once.Prepare([]() -> Result<int> { return Fail(ErrorCode::kInternal, "stopped"); });
  CHECK(*once.Get([]() -> Result<int> { return 3; }) == 3);
  once.Prepare([]() -> Result<int> { return 4; });
  CHECK(*once.Get([]() -> Result<int> { return 5; }) == 3);
}
