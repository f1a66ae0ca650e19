// Quick code of kernels that share most of what they call is made once for all of them.
#include "tests/llvm/joined_kernels.h"

#include <fstream>
#include <iterator>

#include "runtime/engine/background.h"
#include "tests/cache/cached_modules.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cache_test;

namespace {

bool IsMadeWith(const std::string& bytes, const std::string& kernel) {
  return bytes.find("ptx2cpu_step_" + kernel) != std::string::npos;
}

std::vector<uint32_t> RunOnce(const rt::KernelCode& code) {
  std::vector<uint32_t> out(64);
  uint32_t* at = out.data();
  std::byte parameters[16] = {};
  const uint32_t depth = 2;
  std::memcpy(parameters, &at, sizeof at);
  std::memcpy(parameters + 8, &depth, sizeof depth);
  const auto kernel = code.ForBlock({64, 1, 1});
  REQUIRE(kernel);
  const auto fault = rt::Launch(**kernel, {{1, 1, 1}, {64, 1, 1}}, std::span(parameters).first(12));
  if (fault) FAIL(fault->message);
  return out;
}

}  // namespace

TEST_CASE("quick code of kernels that share their callees is made together", "[joined]") {
  const Scratch scratch;
  const std::string text = llvm_test::JoinedKernels();
  std::vector<std::vector<uint32_t>> alone, together;
  for (const char* name : {"a", "b", "c"}) {
    const auto module = ModuleOf(text, nullptr, {.quick_tier = false});
    alone.push_back(RunOnce(**module->Compile(name, Dim3{64, 1, 1})));
  }
  rt::KernelCache cache({.directory = scratch / "a"});
  const auto module = ModuleOf(text, &cache, {.quick_tier = true, .quick_from = 500});
  for (const char* name : {"a", "b", "c"}) {
    const auto code = module->Compile(name, Dim3{64, 1, 1});
    REQUIRE(code);
    together.push_back(RunOnce(**code));
    rt::WaitForBackground();
  }
  CHECK(together == alone);
  int made_together = 0;
  for (const auto& [path, bytes] : Entries(scratch / "a"))
    made_together += IsMadeWith(bytes, "a") && IsMadeWith(bytes, "b") && IsMadeWith(bytes, "c");
  CHECK(made_together == 3);
  // Another process finds them.
  rt::KernelCache again({.directory = scratch / "a"});
  const auto kept =
      ModuleOf(text, &again, {.quick_tier = true, .quick_from = 500})->Compile("c", Dim3{64, 1, 1});
  REQUIRE(kept);
  CHECK((*kept)->from_cache());
  CHECK(RunOnce(**kept) == alone[2]);
}

TEST_CASE("a kernel that cannot be compiled costs those beside it nothing", "[joined]") {
  std::string text = llvm_test::JoinedKernels();
  text.insert(text.find(".visible .entry b("), R"(
.extern .func (.param .u32 r) missing(.param .u32 x);
.visible .entry broken(.param .u64 out, .param .u32 n)
{
  .reg .b32 %n, %v, %r; .reg .b64 %out;
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [n];
  mov.u32 %v, %tid.x;
  call (%r), missing, (%v);
  call (%r), walk, (%r, %n);
  st.global.u32 [%out], %r;
  ret;
}
)");
  const auto alone = ModuleOf(text, nullptr, {.quick_tier = false})->Compile("a", Dim3{64, 1, 1});
  const auto module = ModuleOf(text, nullptr, {.quick_tier = true, .quick_from = 500});
  const auto code = module->Compile("a", Dim3{64, 1, 1});
  REQUIRE(alone);
  REQUIRE(code);
  CHECK(RunOnce(**code) == RunOnce(**alone));
  CHECK_FALSE(module->Compile("broken", Dim3{64, 1, 1}));
}
