// Better code that background threads compile while launches run the quick code: when it is begun, when a
// launch takes it, and what a process that ends meanwhile leaves.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>

#include "runtime/abi/joined_blocks.h"
#include "runtime/engine/background.h"
#include "runtime/engine/kernel_module.h"
#include "tests/cache/background_is_busy.h"
#include "tests/cache/cached_modules.h"

namespace {

std::atomic<int> exit_handlers = 0;
int ExitHandlers() { return exit_handlers; }

}  // namespace

// Counts what this program and its libraries register.
extern "C" int __cxa_atexit(void (*handler)(void*), void* argument, void* library) {
  using Register = int (*)(void (*)(void*), void*, void*);
  static const auto original = reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__cxa_atexit"));
  ++exit_handlers;
  return original(handler, argument, library);
}

using namespace ptx2cpu;
using namespace ptx2cpu::cache_test;
namespace fs = std::filesystem;

namespace {

// As launches of kept quick code do: the background begins with better code.
void RunForSomeTime(const rt::KernelCode& code) {
  rt::LaterCode* later = code.LaterThan(&code.kernel());
  REQUIRE(later != nullptr);
  later->AddTime(int64_t{100} * 1000 * 1000);
}

}  // namespace

// Code of the cache needs no compiler, so that the background thread is the first to use it. What it
// constructs after its exit handler is registered would be destroyed while it works.
TEST_CASE("compiling in the background registers no exit handler") {
  const Scratch scratch;
  const rt::ModuleOptions options{.quick_tier = true, .quick_from = 500};
  const pid_t pid = fork();
  if (pid == 0) {  // in another process, since this one must not compile
    rt::KernelCache cache({.directory = scratch / "a"});
    Compiled(ModuleOf(LargeKernel(), &cache, options), "large");
    raise(SIGKILL);  // at once: under a sanitizer the background continues in _exit
  }
  waitpid(pid, nullptr, 0);
  rt::KernelCache cache({.directory = scratch / "a"});
  const auto code = Compiled(ModuleOf(LargeKernel(), &cache, options), "large");
  REQUIRE(code->from_cache());
  const ptx2cpu_kernel* quick = &code->kernel();
  rt::WaitForBackground();
  CHECK(&code->kernel() == quick);  // until launches have run it for some time
  RunForSomeTime(*code);            // which loads the translator
  const int before = ExitHandlers();
  rt::WaitForBackground();
  REQUIRE(&code->kernel() != quick);
  CHECK(ExitHandlers() == before);
}

namespace {

// The quick code of a large kernel that has run as long as better code takes to compile, while the background
// threads have other work.
class DueKernel {
  cache_test::BackgroundIsBusy busy_;

 public:
  DueKernel() {
    code = Compiled(
        ModuleOf(LargeKernel(), nullptr, {.quick_tier = true, .specialise = false, .quick_from = 500}),
        "large");
    quick = Best();
    by_quick = Run(*code);
    CHECK(Best() == quick);
    later = code->LaterThan(quick);
    REQUIRE(later != nullptr);
    later->AddTime(int64_t{1000} * 1000 * 1000 * 1000);
  }
  ~DueKernel() { Release(); }
  void Release() { busy_.End(); }
  const ptx2cpu_kernel* Best() const { return code->ForBlock({64, 1, 1}).value(); }

  std::shared_ptr<const rt::KernelCode> code;
  const ptx2cpu_kernel* quick = nullptr;
  rt::LaterCode* later = nullptr;
  std::vector<uint32_t> by_quick;  // what it computes
};

}  // namespace

TEST_CASE("a launch compiles better code itself once launches ran the quick code for as long as that takes") {
  DueKernel kernel;
  const ptx2cpu_kernel* better = kernel.Best();
  CHECK(better != kernel.quick);
  CHECK(kernel.code->LaterThan(better) == nullptr);
  CHECK(Run(*kernel.code) == kernel.by_quick);
  kernel.Release();
  CHECK(kernel.Best() == better);  // compiled once
}

TEST_CASE("a launch gets better code in its midst") {
  const DueKernel kernel;
  std::vector<uint32_t> out(64);
  uint32_t* const argument = out.data();
  const auto parameters = std::as_bytes(std::span(&argument, 1));
  rt::LaunchOptions options;
  options.later = kernel.later;
  REQUIRE_FALSE(rt::Launch(*kernel.quick, {{2000, 1, 1}, {64, 1, 1}}, parameters, options));
  CHECK(out == kernel.by_quick);
  CHECK(kernel.code->LaterThan(kernel.quick) == nullptr);
  const ptx2cpu_kernel* better = kernel.Best();
  CHECK(better != kernel.quick);
  CHECK(rt::MayReplace(*kernel.quick, *better, parameters.data()));
  ptx2cpu_kernel joining = *better;
  joining.flags |= PTX2CPU_KERNEL_JOINS_BLOCKS;
  CHECK(rt::MayReplace(*kernel.quick, joining, parameters.data()));
  CHECK_FALSE(rt::MayReplace(joining, *better, parameters.data()));
  CHECK(Run(*kernel.code) == kernel.by_quick);
}

TEST_CASE("a huge kernel whose lanes run one by one keeps the quick code") {
  // A lock makes lanes wait for each other; in it a counter and many steps of arithmetic.
  std::string text =
      std::string(kHeader) +
      ".global .u32 lock;\n.visible .entry huge(.param .u64 out)\n{\n  .reg .b64 %p<4>; .reg .b32 %t<4>; "
      ".reg "
      ".pred %q;\n  ld.param.u64 %p0, [out];\n  mov.u32 %t0, %tid.x;\n  mul.wide.u32 %p1, %t0, 4;\n  add.u64 "
      "%p0, %p0, %p1;\n  mov.u64 %p2, lock;\nwait:\n  atom.global.acquire.gpu.cas.b32 %t1, [%p2], 0, 1;\n  "
      "setp.ne.u32 %q, %t1, 0;\n  @%q bra wait;\n  st.release.gpu.global.u32 [%p2], 0;\n";
  constexpr uint32_t kSteps = 20000;
  for (uint32_t i = 0; i < kSteps; ++i) text += "  mad.lo.u32 %t0, %t0, %t0, " + std::to_string(i) + ";\n";
  text += "  st.global.u32 [%p0], %t0;\n  ret;\n}\n";
  const rt::ModuleOptions options{.tier = lowering::Tier::kLanes, .quick_tier = true, .quick_from = 500};
  const auto code = Compiled(ModuleOf(text, nullptr, options), "huge");
  const ptx2cpu_kernel* quick = &code->kernel();
  std::vector<uint32_t> expected(64);
  for (uint32_t thread = 0; thread < expected.size(); ++thread) {
    expected[thread] = thread;
    for (uint32_t i = 0; i < kSteps; ++i) expected[thread] = expected[thread] * expected[thread] + i;
  }
  CHECK(Run(*code) == expected);
  rt::WaitForBackground();
  CHECK(&code->kernel() == quick);
}

// Called by the next one, in a process of its own.
TEST_CASE("leaves work in the background", "[.leaves]") {
  const auto code = Compiled(
      ModuleOf(LargeKernel(), rt::KernelCache::Get(), {.quick_tier = true, .quick_from = 500}), "large");
  CHECK(Run(*code).size() == 64);
}

TEST_CASE(
    "a process that ends while better code is being made ends well, and the next starts with the quick "
    "code") {
  const Scratch scratch;
  const std::string self = fs::read_symlink("/proc/self/exe");
  const auto start = std::chrono::steady_clock::now();
  CHECK(std::system(("env -u CUDA_CACHE_DISABLE CUDA_CACHE_PATH='" + scratch.path().string() + "' '" + self +
                     "' '[.leaves]' > /dev/null")
                        .c_str()) == 0);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(1));
  rt::KernelCache cache({.directory = scratch / "ptx2cpu"});
  const auto code =
      Compiled(ModuleOf(LargeKernel(), &cache, {.quick_tier = true, .quick_from = 500}), "large");
  CHECK(code->from_cache());
  RunForSomeTime(*code);
  rt::WaitForBackground();
  CHECK(Compiled(ModuleOf(LargeKernel(), &cache, {.quick_tier = false}), "large")->from_cache());
}
