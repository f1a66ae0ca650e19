// Modules over a cache: hits without compiling, what a key depends on, damaged entries, the quick tier.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "runtime/abi/joined_blocks.h"
#include "runtime/engine/background.h"
#include "runtime/engine/cache/image_bytes.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/engine/progress.h"
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

TEST_CASE("the second process compiles nothing, whatever the file is called, and gives the same") {
  const Scratch scratch;
  rt::KernelCache first({.directory = scratch / "a"}), second({.directory = scratch / "a"}),
      elsewhere({.directory = scratch / "b"});
  const auto compiled = Compiled(ModuleOf(kModule, &first)),
             hit = Compiled(ModuleOf(kModule, &second, {}, "/other/place.ptx"));
  CHECK_FALSE(compiled->from_cache());
  CHECK(hit->from_cache());
  CHECK(Run(*compiled) == Run(*hit));
  CHECK(Run(*hit)[10] == 130);
  CHECK(std::string(hit->kernel().parameters[0].name) == "out");
  // Deterministic: the entry is the same wherever it is made.
  CHECK_FALSE(Compiled(ModuleOf(kModule, &elsewhere))->from_cache());
  CHECK(Entries(scratch / "a") == Entries(scratch / "b"));
  CHECK(Entries(scratch / "a").size() == 1);
}

TEST_CASE("after a hit variables are one for all kernels, and can be set") {
  const Scratch scratch;
  const std::string text = kModule + Kernel("other", 5);
  rt::KernelCache cache({.directory = scratch / "a"});
  const auto before = ModuleOf(text, &cache);
  Compiled(before);
  const auto module = ModuleOf(text, &cache);
  const auto kept = Compiled(module), fresh = Compiled(module, "other");
  CHECK(kept->from_cache());
  CHECK_FALSE(fresh->from_cache());
  const auto word = module->Variable("word");
  REQUIRE(word);
  const uint32_t value = 7;
  std::memcpy(word->data(), &value, 4);
  CHECK(Run(*kept)[2] == 13);
  CHECK(Run(*fresh)[2] == 17);
  CHECK(Run(*Compiled(before))[2] == 106);  // its own storage
}

TEST_CASE("what a module declares, and that it is right, is kept") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "cache"});
  for (const bool kept : {false, true}) {
    INFO("kept " << kept);
    const auto before = cache.counts();
    const auto module = ModuleOf(kModule, &cache);
    CHECK(module->Check());
    const auto declaration = module->Declaration("k");
    REQUIRE(declaration);
    REQUIRE(declaration->parameters.size() == 1);
    CHECK(declaration->parameters[0].size == 8);
    const auto variables = module->Variables();
    REQUIRE(variables);
    REQUIRE(variables->size() == 1);
    CHECK((*variables)[0].name == "word");
    CHECK((*variables)[0].size == 4);
    CHECK(cache.counts().hits - before.hits == (kept ? 3 : 0));
    CHECK(cache.counts().stored - before.stored == (kept ? 0 : 3));
  }
  // Errors are found anew.
  for (int time = 0; time < 2; ++time) {
    CHECK_FALSE(ModuleOf(kModule + ".func f() { nonsense; }", &cache)->Check());
    CHECK_FALSE(ModuleOf(kModule, &cache)->Declaration("absent"));
  }
}

TEST_CASE("a table of functions is filled from a kept kernel") {
  const Scratch scratch;
  const std::string text =
      std::string(kHeader) +
      ".func (.param .b32 r) thrice(.param .b32 a)\n{\n  .reg .b32 %a;\n  ld.param.u32 %a, [a];\n  "
      "mul.lo.u32 %a, %a, 3;\n  st.param.b32 [r], %a;\n  ret;\n}\n"
      ".global .u64 table[1] = {thrice};\n.global .u64 where = table;\n"
      ".visible .entry k(.param .u64 out)\n{\n  .reg .b64 %p, %f, %o; .reg .b32 %v;\n  ld.param.u64 %p, "
      "[out];\n  ld.global.u64 %f, [where];\n"
      "  ld.global.u64 %f, [%f];\n  mov.u32 %v, %tid.x;\n  mul.wide.u32 %o, %v, 4;\n  add.u64 %p, %p, %o;\n"
      "  { .param .b32 x; .param .b32 y; st.param.b32 [x], %v;\n  proto: .callprototype (.param .b32 _) _ "
      "(.param .b32 _);\n"
      "  call (y), %f, (x), proto;\n  ld.param.b32 %v, [y]; }\n  st.global.u32 [%p], %v;\n  ret;\n}\n";
  rt::KernelCache cache({.directory = scratch / "a"});
  for (const bool hit : {false, true}) {
    const auto code = Compiled(ModuleOf(text, &cache));
    CHECK(code->from_cache() == hit);
    CHECK(Run(*code)[5] == 15);
  }
}

TEST_CASE("a fault in kept code is found in PTX and source") {
  const Scratch scratch;
  const std::string text = std::string(kHeader) +
                           ".visible .entry k(.param .u64 out)\n{\n  .reg .b64 %p; .reg .b32 %t;\n  .loc 1 "
                           "17 3\n  mov.u32 %t, %tid.x;\n"
                           "  mul.wide.u32 %p, %t, 64;\n  .loc 1 18 3\n  st.global.u64 [%p+16], %p;\n  "
                           "ret;\n}\n.file 1 \"boom.cu\"\n";
  rt::KernelCache cache({.directory = scratch / "a"});
  for (const bool hit : {false, true}) {
    const auto code = Compiled(ModuleOf(text, &cache));
    CHECK(code->from_cache() == hit);
    const uint64_t argument = 0;
    const auto fault =
        rt::Launch(code->kernel(), {{1, 1, 1}, {1, 1, 1}}, std::as_bytes(std::span(&argument, 1)));
    REQUIRE(fault);
    REQUIRE(fault->pc != 0);
    const rt::FaultPlace place = code->module().Locate(*fault);
    CHECK(place.file == "test.ptx");
    CHECK(place.line == 11);
    CHECK(place.source_file == "boom.cu");
    CHECK(place.source_line == 18);
  }
}

TEST_CASE("a key is of the kernel's content and of every option that changes code") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  const auto is_hit = [&](const std::string& text, rt::ModuleOptions options = {}) {
    return Compiled(ModuleOf(text, &cache, options))->from_cache();
  };
  CHECK_FALSE(is_hit(kModule));
  CHECK(is_hit(kModule));
  CHECK(is_hit(kModule + Kernel("later")));  // nothing it needs
  CHECK_FALSE(is_hit(std::string(kHeader) + kWord + Kernel("k", 4)));
  CHECK_FALSE(is_hit(std::string(kHeader) + ".visible .global .align 4 .u32 word = 101;\n" + Kernel("k")));
  CHECK_FALSE(is_hit(std::string(kHeader) + "\n" + kWord + Kernel("k")));  // other lines
  CHECK_FALSE(is_hit(kModule, {.contract = false}));
  CHECK_FALSE(is_hit(kModule, {.optimisation = 1}));
  CHECK_FALSE(is_hit(kModule, {.line_info = false}));
  CHECK_FALSE(is_hit(kModule, {.alignment = lowering::AlignmentChecks::kAtAccess}));
  CHECK_FALSE(is_hit(kModule, {.alignment = lowering::AlignmentChecks::kNone}));
  CHECK_FALSE(is_hit(kModule, {.tier = lowering::Tier::kResumable}));
  CHECK_FALSE(is_hit(kModule, {.collapse = lowering::CollapseForm::kHierarchical}));
  CHECK(is_hit(kModule));
  CHECK(is_hit(kModule, {.optimisation = 1}));
  CHECK_FALSE(Compiled(ModuleOf(kModule, nullptr))->from_cache());
}

TEST_CASE("that a block's shape gains nothing is kept too") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  for (const uint64_t misses :
       {4, 0}) {  // of code for any shape and for this one, by -O3 and by the quick tier
    const auto before = cache.counts().misses;
    const auto code = Compiled(ModuleOf(kModule, &cache, {.tier = lowering::Tier::kResumable}));
    CHECK(Run(*code)[1] == 103);
    CHECK(cache.counts().misses - before == misses);
  }
  CHECK(Entries(scratch / "a").size() == 2);
}

TEST_CASE("entries that are no image are compiled again") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  Compiled(ModuleOf(kModule, &cache));
  const auto [name, good] = *Entries(scratch / "a").begin();
  std::ofstream(scratch / "a" / name, std::ios::binary) << good.substr(0, good.size() - 100);
  const auto code = Compiled(ModuleOf(kModule, &cache));
  CHECK_FALSE(code->from_cache());
  CHECK(Run(*code)[1] == 103);
  CHECK(Entries(scratch / "a").begin()->second == good);
}

TEST_CASE("a kept image that cannot be loaded is compiled again") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  Compiled(ModuleOf(kModule, &cache));
  const auto [name, good] = *Entries(scratch / "a").begin();
  // The content of an image whose object is cut off, with a header that is right for it.
  std::string hex = name;
  std::erase(hex, '/');
  rt::Digest key;
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  auto content = cache.Find(key);
  REQUIRE(content);
  auto image = rt::FromBytes<lowering::KernelImage>(std::string_view(*content).substr(1));
  REQUIRE(image);
  image->object.resize(image->object.size() / 2);
  cache.Keep(key, "I" + rt::BytesOf(*image));
  const auto code = Compiled(ModuleOf(kModule, &cache));
  CHECK_FALSE(code->from_cache());
  CHECK(Run(*code)[1] == 103);
  CHECK(Entries(scratch / "a").begin()->second == good);
}

TEST_CASE("processes that compile the same at once all get it") {
  const Scratch scratch;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      rt::KernelCache cache({.directory = scratch / "a"});
      bool good = true;
      for (const char* kernel : {"k", "m"})
        good = good && Run(*Compiled(ModuleOf(kModule + Kernel("m"), &cache), kernel))[3] == 109;
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(Entries(scratch / "a").size() == 2);
  rt::KernelCache cache({.directory = scratch / "a"});
  CHECK(Compiled(ModuleOf(kModule, &cache))->from_cache());
}

// Code of the cache needs no compiler, so that the background thread is the first to use it. What it
// constructs after its exit handler is registered would be destroyed while it works.
namespace {

// As launches of kept quick code do: the background begins with better code.
void RunForSomeTime(const rt::KernelCode& code) {
  rt::LaterCode* later = code.LaterThan(&code.kernel());
  REQUIRE(later != nullptr);
  later->AddTime(int64_t{100} * 1000 * 1000);
}

}  // namespace

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

TEST_CASE("kernels that are asked for at once compile side by side") {
  std::string text = std::string(kHeader) + kWord;
  for (int i = 0; i < 8; ++i) text += Kernel("k" + std::to_string(i), i + 2);
  bool together = false;
  for (int round = 0; round < 5 && !together; ++round) {
    const auto module = ModuleOf(text, nullptr);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] { static_cast<void>(module->Compile("k" + std::to_string(i))); });
    for (std::thread& thread : threads) thread.join();
    together = rt::CompileProgress::MostAtOnce() >= 2;
  }
  CHECK(together);
}
