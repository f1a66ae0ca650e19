// Kernels that are compiled before a launch needs them.
#include "runtime/engine/ahead.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <new>
#include <string>
#include <thread>

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

TEST_CASE("what could not be compiled ahead is no kernel that waits for a launch", "[ahead]") {
  Ahead ahead(8, 200);
  CHECK_FALSE(ahead.AfterUse(0, 300));
  CHECK(ahead.AfterUse(1, 300) == 2);
  CHECK(ahead.AfterUse(1, 0) == 3);
  CHECK_FALSE(ahead.AfterUse(1, 0));
  ahead.GiveUp(2);
  ahead.GiveUp(2);
  CHECK(ahead.AfterUse(1, 0) == 4);  // and not 2 again
  CHECK_FALSE(ahead.AfterUse(1, 0));
  CHECK_FALSE(ahead.AfterUse(2, 300));  // a launch compiled it: two are unused still
  ahead.GiveUp(3);
  CHECK(ahead.AfterUse(2, 0) == 5);
}

TEST_CASE("after kernels that fail ahead of a launch, the next ones are compiled", "[ahead]") {
  if (rt::UsableProcessors() == 1) return;
  const cache_test::Scratch scratch;
  rt::KernelCache cache({scratch.path()});
  rt::ModuleOptions options{.cache = &cache, .quick_tier = false};
  options.ahead_from = 0;
  std::string text = Kernels(8);
  for (const char* bad : {"k2", "k3"}) {  // which no module defines
    const size_t body = text.find("ret;", text.find(bad));
    text.insert(body, "call missing" + std::string(bad) + ";\n  ");
    text.insert(text.find(".visible"), ".extern .func missing" + std::string(bad) + ";\n");
  }
  const auto module = rt::KernelModule::Make({{text, "many.ptx"}}, options);
  REQUIRE(module->Compile("k0", kBlock));
  REQUIRE(module->Compile("k1", kBlock));
  rt::WaitForBackground();
  const uint64_t two = cache.counts().stored;
  for (int n = 0; n < 3; ++n) {
    REQUIRE(module->Compile("k1", kBlock));
    rt::WaitForBackground();
  }
  CHECK(cache.counts().stored > two);  // k4
  CHECK_FALSE(module->Compile("k2", kBlock));
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

TEST_CASE("what throws ahead of a launch is made by it", "[ahead]") {
  rt::Once<int> once;
  CHECK_FALSE(once.Prepare([]() -> Result<int> { throw std::bad_alloc(); }));
  alarm(20);  // instead of waiting for ever
  CHECK(*once.Get([]() -> Result<int> { return 3; }) == 3);
  alarm(0);
}

TEST_CASE("a child process makes what a thread of its parent prepares", "[ahead]") {
  rt::Once<int> once;
  std::atomic<bool> begun = false, over = false;
  std::thread background([&] {
    once.Prepare([&]() -> Result<int> {
      begun = true;
      while (!over) std::this_thread::yield();
      return 3;
    });
  });
  while (!begun) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // instead of waiting for ever
    _exit(*once.Get([]() -> Result<int> { return 4; }));
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 4);
  over = true;
  CHECK(*once.Get([]() -> Result<int> { return 5; }) == 3);
  background.join();
}
