// The code that a kernel's first launches run: that of single threads, made quickly, where no launch runs it
// for long.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/engine/kernel_module.h"
#include "tests/cache/background_is_busy.h"
#include "tests/cache/scratch.h"

using namespace ptx2cpu;
using cache_test::BackgroundIsBusy;

namespace {

constexpr Dim3 kBlock = {64, 1, 1};
constexpr uint64_t kMany = 1'000'000;  // blocks

// out[tid] = what `steps` make of tid, `trips` times.
std::string Kernel(uint32_t steps, uint32_t trips) {
  std::string text =
      ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 trips)\n"
      "{\n  .reg .b64 %p<3>; .reg .b32 %t<4>; .reg .pred %q;\n  ld.param.u64 %p0, [out];\n"
      "  ld.param.u32 %t2, [trips];\n  mov.u32 %t0, %tid.x;\n  mul.wide.u32 %p1, %t0, 4;\n"
      "  add.u64 %p0, %p0, %p1;\nagain:\n";
  for (uint32_t i = 0; i < steps; ++i)
    text += "  mad.lo.u32 %t0, %t0, " + std::to_string(2 * i + 3) + ", " + std::to_string(i) +
            ";\n  shr.u32 %t1, %t0, 3;\n  xor.b32 %t0, %t0, %t1;\n";
  if (trips > 1) text += "  sub.u32 %t2, %t2, 1;\n  setp.ne.u32 %q, %t2, 0;\n  @%q bra again;\n";
  return text + "  st.global.u32 [%p0], %t0;\n  ret;\n}\n";
}

std::vector<uint32_t> Expected(uint32_t steps, uint32_t trips) {
  std::vector<uint32_t> out(kBlock.x);
  for (uint32_t thread = 0; thread < out.size(); ++thread) {
    uint32_t value = thread;
    for (uint32_t n = 0; n < trips * steps; ++n) {
      const uint32_t i = n % steps;
      value = value * (2 * i + 3) + i;
      value ^= value >> 3;
    }
    out[thread] = value;
  }
  return out;
}

// Large kernels only have quick code that runs thread by thread.
std::shared_ptr<rt::KernelModule> ModuleOf(const std::string& text, rt::KernelCache* cache = nullptr) {
  rt::ModuleOptions options{.cache = cache, .quick_tier = true};
  options.scalar_from = 100;
  options.quick_from = lowering::CompileControl::kNever;
  return rt::KernelModule::Make({{text, "first.ptx"}}, options);
}

std::shared_ptr<const rt::KernelCode> Compiled(const std::shared_ptr<rt::KernelModule>& module,
                                               uint64_t blocks) {
  auto code = module->Compile("k", kBlock, blocks);
  if (!code) FAIL(code.error().Render());
  return *code;
}

std::vector<uint32_t> Run(const ptx2cpu_kernel& kernel, uint32_t trips) {
  std::vector<uint32_t> out(kBlock.x);
  struct {
    uint32_t* out;
    uint32_t trips, unused;
  } const arguments{out.data(), trips, 0};
  const auto bytes = std::as_bytes(std::span(&arguments, 1)).first(kernel.parameter_bytes);
  if (const auto fault = rt::Launch(kernel, {{1, 1, 1}, kBlock}, bytes)) FAIL(fault->message);
  return out;
}

}  // namespace

TEST_CASE("a kernel that repeats nothing begins with quick code, however few blocks are launched",
          "[first]") {
  const auto module = ModuleOf(Kernel(50, 1));
  BackgroundIsBusy busy;
  const auto code = Compiled(module, 1);
  const ptx2cpu_kernel* quick = code->ForBlock(kBlock, 1).value();
  CHECK(code->LaterThan(quick) != nullptr);
  CHECK(Run(*quick, 1) == Expected(50, 1));
  busy.End();
  const ptx2cpu_kernel* best = code->ForBlock(kBlock, 1).value();
  CHECK(best != quick);
  CHECK(code->LaterThan(best) == nullptr);
  CHECK(Run(*best, 1) == Expected(50, 1));
}

TEST_CASE("by default a short kernel begins with quick code too", "[first]") {
  const auto module =
      rt::KernelModule::Make({{Kernel(3, 1), "first.ptx"}}, {.cache = nullptr, .quick_tier = true});
  BackgroundIsBusy busy;
  const auto code = Compiled(module, 1);
  const ptx2cpu_kernel* quick = code->ForBlock(kBlock, 1).value();
  CHECK(code->LaterThan(quick) != nullptr);
  CHECK(Run(*quick, 1) == Expected(3, 1));
  busy.End();
  CHECK(Run(*code->ForBlock(kBlock, 1).value(), 1) == Expected(3, 1));
}

TEST_CASE("a small kernel has its best code at once", "[first]") {
  const auto module = ModuleOf(Kernel(3, 1));
  const auto code = Compiled(module, kMany);
  CHECK(code->LaterThan(code->ForBlock(kBlock, kMany).value()) == nullptr);
}

TEST_CASE("a loop has quick code for launches of many blocks; one of few waits for the best", "[first]") {
  const std::string text = Kernel(50, 7);
  const auto few = ModuleOf(text);
  const auto best = Compiled(few, 1);
  CHECK(best->LaterThan(best->ForBlock(kBlock, 1).value()) == nullptr);
  CHECK(Run(*best->ForBlock(kBlock, 1).value(), 7) == Expected(50, 7));

  const auto many = ModuleOf(text);
  const BackgroundIsBusy busy;
  const auto code = Compiled(many, kMany);
  const ptx2cpu_kernel* quick = code->ForBlock(kBlock, kMany).value();
  CHECK(code->LaterThan(quick) != nullptr);
  CHECK(Run(*quick, 7) == Expected(50, 7));
  CHECK(code->ForBlock(kBlock, kMany).value() == quick);
  const ptx2cpu_kernel* later = code->ForBlock(kBlock, 1).value();
  CHECK(later != quick);
  CHECK(code->LaterThan(later) == nullptr);
  CHECK(Run(*later, 7) == Expected(50, 7));
  CHECK(code->ForBlock(kBlock, kMany).value() == later);
}

TEST_CASE("quick code that is kept for launches of many blocks is not used for others", "[first]") {
  const cache_test::Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "a"});
  const std::string text = Kernel(50, 7);
  const auto module = ModuleOf(text, &cache);
  const BackgroundIsBusy busy;
  CHECK_FALSE(Compiled(module, kMany)->from_cache());
  const auto again = ModuleOf(text, &cache);
  const auto kept = Compiled(again, kMany);
  CHECK(kept->from_cache());
  CHECK(kept->LaterThan(kept->ForBlock(kBlock, kMany).value()) != nullptr);
  const auto other = ModuleOf(text, &cache);
  CHECK_FALSE(Compiled(other, 1)->from_cache());
  CHECK(Compiled(ModuleOf(text, &cache), kMany)->from_cache());
}
