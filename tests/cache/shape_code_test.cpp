// Which code launches get: quick code and better code, code for blocks of one shape and of any.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/abi/joined_blocks.h"
#include "runtime/engine/background.h"
#include "runtime/engine/cache/image_bytes.h"
#include "tests/cache/background_is_busy.h"
#include "tests/cache/cached_modules.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cache_test;
namespace fs = std::filesystem;

TEST_CASE("a large kernel runs quickly compiled code until better code is there, with the same results") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  const std::string text = LargeKernel();
  const auto module = ModuleOf(text, &cache, {.quick_tier = true, .quick_from = 500});
  const auto code = Compiled(module, "large");
  const ptx2cpu_kernel* quick = &code->kernel();
  const auto by_quick = Run(*code);
  rt::WaitForBackground();
  CHECK(&code->kernel() != quick);
  CHECK(Run(*code) == by_quick);
  const auto alone = Compiled(ModuleOf(text, nullptr, {.quick_tier = false}), "large");
  const ptx2cpu_kernel* full = &alone->kernel();
  rt::WaitForBackground();
  CHECK(&alone->kernel() == full);
  CHECK(Run(*alone) == by_quick);
  CHECK(Entries(scratch / "a").size() == 2);  // each on its own
  const auto kept = Compiled(ModuleOf(text, &cache), "large");
  CHECK(kept->from_cache());
  const ptx2cpu_kernel* best = &kept->kernel();
  rt::WaitForBackground();
  CHECK(&kept->kernel() == best);
}

TEST_CASE("a shape that is launched again and again gets code of its own, with the same results") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  const auto module = ModuleOf(LargeKernel(), &cache, {.quick_tier = false});
  const auto code = Compiled(module, "large");
  const auto any = Run(*code);
  const Dim3 block{64, 1, 1};
  for (int launch = 0; launch < 2; ++launch) CHECK(code->ForBlock(block).value()->required_threads[0] == 0);
  rt::WaitForBackground();
  const ptx2cpu_kernel* own = code->ForBlock(block).value();
  CHECK(own->required_threads[0] == 64);
  CHECK(Run(*code) == any);
  CHECK(Entries(scratch / "a").size() == 2);
  // Not more than four shapes.
  for (uint32_t x = 1; x <= 8; ++x) {
    for (int launch = 0; launch < 3; ++launch) CHECK(code->ForBlock({x, 1, 1}).has_value());
  }
  rt::WaitForBackground();
  CHECK(code->ForBlock({3, 1, 1}).value()->required_threads[0] == 3);
  CHECK(code->ForBlock({4, 1, 1}).value()->required_threads[0] == 0);
  const auto general =
      Compiled(ModuleOf(LargeKernel(), nullptr, {.quick_tier = false, .specialise = false}), "large");
  for (int launch = 0; launch < 4; ++launch) CHECK(general->ForBlock(block).has_value());
  rt::WaitForBackground();
  CHECK(general->ForBlock(block).value()->required_threads[0] == 0);
}

TEST_CASE("a shape whose code is kept has it at its first launch, where code for any shape came first") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  const Dim3 block{64, 1, 1};
  const rt::ModuleOptions options{.quick_tier = false};
  const auto made = Compiled(ModuleOf(LargeKernel(), &cache, options), "large");
  for (int launch = 0; launch < 3; ++launch) CHECK(made->ForBlock(block).has_value());
  rt::WaitForBackground();
  REQUIRE(made->ForBlock(block).value()->required_threads[0] == 64);
  const auto kept = Compiled(ModuleOf(LargeKernel(), &cache, options), "large");
  REQUIRE(kept->from_cache());
  CHECK(kept->ForBlock(block).value()->required_threads[0] == 64);
  CHECK(kept->ForBlock({96, 1, 1}).value()->required_threads[0] == 0);
  CHECK(Run(*kept) == Run(*made));
}

TEST_CASE("a launch makes the code for its shape itself once launches ran that for any shape long enough") {
  const auto code = Compiled(ModuleOf(LargeKernel(), nullptr, {.quick_tier = false}), "large");
  const Dim3 block{64, 1, 1};
  cache_test::BackgroundIsBusy busy;
  const ptx2cpu_kernel* any = code->ForBlock(block).value();
  CHECK(code->LaterThan(any, block) == nullptr);  // the third launch asks for it
  for (int launch = 0; launch < 2; ++launch) CHECK(code->ForBlock(block).value() == any);
  rt::LaterCode* later = code->LaterThan(any, block);
  REQUIRE(later != nullptr);
  CHECK(code->LaterThan(any, Dim3{96, 1, 1}) == nullptr);
  CHECK(later->Newest(0) == nullptr);
  CHECK(code->ForBlock(block).value() == any);
  later->AddTime(int64_t{1000} * 1000 * 1000 * 1000);
  const ptx2cpu_kernel* own = code->ForBlock(block).value();
  CHECK(own->required_threads[0] == 64);
  CHECK(code->LaterThan(own, block) == nullptr);
  CHECK(code->LaterThan(any, block) == nullptr);
  CHECK(Run(*code).size() == 64);
  busy.End();
}

TEST_CASE("a kernel is compiled for the first shapes that are launched, and for any shape after two") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  const Dim3 block{64, 1, 1}, second{96, 1, 1}, third{32, 2, 1};
  const auto any = Run(*Compiled(ModuleOf(LargeKernel(), nullptr, {.quick_tier = false}), "large"));
  const auto begin = [&](const std::string& text, rt::ModuleOptions options = {}) {
    options.quick_tier = false;
    const auto code = ModuleOf(text, &cache, options)->Compile("large", block);
    if (!code) FAIL(code.error().Render());
    return *code;
  };
  const auto code = begin(LargeKernel());
  CHECK_FALSE(code->from_cache());
  CHECK(Entries(scratch / "a").size() == 1);
  // What is not of a shape is known; nothing of it can be run.
  CHECK(code->kernel().required_threads[0] == 0);
  CHECK(code->kernel().run_block == nullptr);
  CHECK(code->kernel().parameter_bytes == 8);
  CHECK(code->ForBlock(block).value()->required_threads[0] == 64);
  CHECK(Run(*code) == any);
  CHECK(code->ForBlock(second).value()->required_threads[0] == 96);
  CHECK(Entries(scratch / "a").size() == 2);
  CHECK(begin(LargeKernel())->from_cache());
  const ptx2cpu_kernel* general = code->ForBlock(third).value();
  CHECK(general->required_threads[0] == 0);
  CHECK(general->run_block != nullptr);
  CHECK(&code->kernel() == general);
  CHECK(code->ForBlock(block).value()->required_threads[0] == 64);
  CHECK(Run(*code) == any);
  CHECK(Entries(scratch / "a").size() == 3);
  // Shapes that cannot be launched, or where code for any shape exists: that.
  const auto unlaunchable = ModuleOf(LargeKernel(), nullptr, {.quick_tier = false});
  CHECK((*unlaunchable->Compile("large", Dim3{2048, 1, 1}))->kernel().run_block != nullptr);
  const std::string other = std::string(LargeKernel()) + "// another text\n";
  CHECK(Compiled(ModuleOf(other, &cache, {.contract = false, .quick_tier = false}), "large") != nullptr);
  const auto warm = begin(other, {.contract = false});
  CHECK(warm->from_cache());
  CHECK(warm->kernel().run_block != nullptr);
  const auto as_told = begin(other, {.line_info = false, .specialise = false});
  CHECK(as_told->kernel().run_block != nullptr);
}

TEST_CASE("a kernel that requires a shape is compiled for that, whatever is asked for first") {
  std::string text = Kernel("k");
  text.insert(text.find(")\n{") + 1, " .reqntid 32, 1, 1");
  const auto code = ModuleOf(kHeader + kWord + text, nullptr)->Compile("k", Dim3{64, 1, 1});
  REQUIRE(code);
  CHECK((*code)->kernel().required_threads[0] == 32);
  CHECK((*code)->ForBlock({32, 1, 1}).value()->required_threads[0] == 32);
}
