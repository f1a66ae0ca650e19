// Loads of lanes that lie within two registers' length of memory, at places that are computed.
#include <catch2/catch.hpp>

#include "tests/llvm/end_of_memory.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96;

// Thread i < n: out[i] = in[i * step / 16 ^ turn]. `odd`: not each 16th thread, which has an address between
// two elements.
std::string KernelOf(uint32_t bytes, bool odd = false) {
  const std::string size = std::to_string(bytes), type = "u" + std::to_string(8 * bytes);
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn, .param .u32 pstep, .param .u32 pturn)
{
  .reg .pred %p, %q; .reg .b32 %i, %n, %step, %turn, %x; .reg .b64 %in, %out, %v, %d;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.param.u32 %step, [pstep];
  ld.param.u32 %turn, [pturn];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mul.lo.u32 %x, %i, %step;
  shr.u32 %x, %x, 4;
  xor.b32 %x, %x, %turn;
  mad.wide.u32 %in, %x, )" +
         size + ", %in;\n  mad.wide.u32 %out, %i, " + size + ", %out;\n  and.b32 %x, %i, " +
         (odd ? "15" : "-1") + ";\n  setp." + (odd ? "eq" : "lt") +
         ".u32 %q, %x, 0;\n  selp.b64 %d, 1, 0, %q;\n" + "  add.s64 %in, %in, %d;\n  @!%q ld.global." + type +
         " %v, [%in];\n  @!%q st.global." + type + " [%out], %v;\ndone:\n  ret;\n}\n";
}

void CheckRun(const ptx2cpu_kernel& kernel, uint32_t bytes, uint32_t n, uint32_t step, uint32_t turn,
              bool odd) {
  uint32_t count = 0;  // as many elements as are read
  for (uint32_t i = 0; i < n; ++i) count = std::max(count, (i * step / 16 ^ turn) + 1);
  const EndOfMemory memory(size_t{count} * bytes);
  auto* in = memory.As<uint8_t>();
  for (uint32_t i = 0; i < count * bytes; ++i) in[i] = static_cast<uint8_t>(i * 7 + i / 256);
  std::vector<uint8_t> out(kThreads * bytes, 9), expected = out;
  for (uint32_t i = 0; i < n; ++i) {
    if (odd && i % 16 == 0) continue;
    std::memcpy(&expected[size_t{i} * bytes], in + size_t{i * step / 16 ^ turn} * bytes, bytes);
  }
  struct {
    const uint8_t* in;
    uint8_t* out;
    uint32_t n, step, turn;
  } params{in, out.data(), n, step, turn};
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(28), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(out == expected);
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

}  // namespace

TEST_CASE("lanes near each other read what they do one by one, and nothing past the end of memory",
          "[windows][long]") {
  const auto check = [](uint32_t bytes, bool odd) {
    const BuiltKernel module = BuildKernel(KernelOf(bytes, odd), "k");
    for (const uint32_t width : {4u, 16u, 32u, 64u}) {
      for (const std::string target : {"native", "x86-64-v3"}) {
        INFO(bytes << " bytes, odd " << odd << ", width " << width << ", " << target);
        auto jit = lowering::Jit::Create(Options(target, width));
        REQUIRE(jit);
        auto compiled = (*jit)->Add(module);
        if (!compiled) FAIL(compiled.error().Render());
        for (const uint32_t n : {0u, 1u, 31u, 96u}) {
          for (const uint32_t step : {5u, 10u, 16u, 27u, 100u, 4000u}) {
            CheckRun(*compiled->kernel, bytes, n, step, 0, odd);
            CheckRun(*compiled->kernel, bytes, n, step, 127, odd);  // downward
          }
        }
      }
    }
  };
  for (const uint32_t bytes : {1u, 2u, 4u, 8u}) {
    check(bytes, false);
    check(bytes, true);
  }
}

// Blocks of 18 bytes, a number and 16 more: thread i reads two halves at byte 2 + 4 * (i % 4) of block i / 4,
// which become one word that lies between two words in every other block.
constexpr const char* kBlocks = R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pstep)
{
  .reg .b16 %low, %high; .reg .b32 %i, %j, %x, %y, %w, %step; .reg .b64 %in, %out;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %step, [pstep];
  mov.u32 %i, %tid.x;
  mul.lo.u32 %j, %i, %step;
  shr.u32 %x, %j, 2;
  and.b32 %y, %j, 3;
  mad.wide.u32 %in, %x, 18, %in;
  mad.wide.u32 %in, %y, 4, %in;
  mad.wide.u32 %out, %i, 4, %out;
  ld.global.nc.u16 %high, [%in+4];
  ld.global.nc.u16 %low, [%in+2];
  mov.b32 %w, {%low, %high};
  st.global.u32 [%out], %w;
  ret;
}
)";

TEST_CASE("words of two halves each lie between words", "[windows]") {
  std::vector<uint8_t> in(kThreads / 4 * 18 + 64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (const uint32_t width : {4u, 8u, 16u, 32u, 64u}) {
    for (const std::string target : {"native", "x86-64-v4", "x86-64-v3"}) {
      auto jit = lowering::Jit::Create(Options(target, width));
      REQUIRE(jit);
      auto compiled = (*jit)->Add(BuildKernel(kHead + kBlocks, "k"));
      if (!compiled) FAIL(compiled.error().Render());
      std::vector<uint32_t> out(kThreads), expected(kThreads);
      for (uint32_t i = 0; i < kThreads; ++i) std::memcpy(&expected[i], &in[i / 4 * 18 + 2 + i % 4 * 4], 4);
      struct {
        const uint8_t* in;
        uint32_t* out;
        uint32_t step = 1;
      } params{in.data(), out.data()};
      const auto error = rt::Launch(*compiled->kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                    std::as_bytes(std::span(&params, 1)).first(20), {.max_workers = 1});
      if (error) FAIL(error->message);
      INFO("width " << width << ", " << target);
      CHECK(out == expected);
    }
  }
}

TEST_CASE("words of lanes near each other are permuted", "[windows]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(KernelOf(4), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  CHECK(text->find("vpermi2var") != std::string::npos);
}
