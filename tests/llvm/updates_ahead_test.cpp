// Atomics at places that are computed from data: the lines of later lanes are prefetched, and nothing is read
// that the program does not read.

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/llvm/end_of_memory.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kSlots = 64;

// Thread i < n: out[hash(`number`) % 64] += 1, and the count of before goes to before[i]. `number` is i, or
// word i of in.
std::string KernelOf(const std::string& number) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pbefore, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %v, %x; .reg .b64 %in, %out, %before, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u64 %before, [pbefore];
  ld.param.u32 %n, [pn];
  mov.u32 %x, %ctaid.x;
  mov.u32 %v, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %x, %v, %i;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %before, %before, %at;
)" + number +
         R"(
  mul.lo.u32 %v, %v, 0x9e3779b9;
  shr.u32 %x, %v, 26;
  mad.wide.u32 %out, %x, 4, %out;
  atom.global.add.u32 %v, [%out], 1;
  st.global.u32 [%before], %v;
done:
  ret;
}
)";
}

const std::string kOfWord = "  ld.global.u32 %v, [%in];\n", kOfThread = "  mov.u32 %v, %i;\n";

lowering::JitOptions Options(uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("native"), .lane_width = width};
}

bool Prefetches(const std::string& number, uint32_t width) {
  auto jit = lowering::Jit::Create(Options(width));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(KernelOf(number), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return text->find("call void @llvm.prefetch") != std::string::npos;
}

void CheckRun(const ptx2cpu_kernel& kernel, uint32_t n) {
  const EndOfMemory memory(4 * n);
  auto* in = memory.As<uint32_t>();
  std::iota(in, in + n, 1000u);
  std::vector<uint32_t> out(kSlots), expected(kSlots), before(n + 1), expected_before(n + 1);
  for (uint32_t i = 0; i < n; ++i) expected_before[i] = expected[in[i] * 0x9e3779b9u >> 26]++;
  struct {
    uint32_t *in, *out, *before;
    uint32_t n;
  } params{in, out.data(), before.data(), n};
  const auto error = rt::Launch(kernel, {{3, 1, 1}, {96, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(28), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(out == expected);
  CHECK(before == expected_before);
}

}  // namespace

TEST_CASE("what atomics of later lanes update is prefetched where data decides about the place",
          "[prefetch]") {
  CHECK(Prefetches(kOfWord, 1));
  CHECK(Prefetches(kOfWord, 16));
  CHECK_FALSE(Prefetches(kOfThread, 1));  // no data
}

TEST_CASE("lanes that prefetch for later ones read no more than the program", "[prefetch]") {
  for (const uint32_t width : {1u, 16u}) {
    INFO("width " << width);
    auto jit = lowering::Jit::Create(Options(width));
    REQUIRE(jit);
    auto compiled = (*jit)->Add(BuildKernel(KernelOf(kOfWord), "k"));
    if (!compiled) FAIL(compiled.error().Render());
    for (const uint32_t n : {0u, 1u, 17u, 95u, 96u, 200u, 288u}) CheckRun(*compiled->kernel, n);
  }
}
