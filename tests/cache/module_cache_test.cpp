// Modules over a cache: hits without compiling, what a key depends on, damaged entries.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "runtime/engine/cache/image_bytes.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/engine/progress.h"
#include "tests/cache/cached_modules.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cache_test;

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
