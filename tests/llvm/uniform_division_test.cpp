// Division of many numbers by one: quotients and remainders are exact.
#include <catch2/catch.hpp>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// out[i] = in[i] op by
std::string Kernel(const std::string& op) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pby)
.reqntid 256
{
  .reg .b32 %i, %v, %by, %a<4>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %by, [pby];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in];
  )" + op +
         R"( %v, %v, %by;
  st.global.u32 [%out], %v;
  ret;
}
)";
}

uint32_t Expected(const std::string& op, uint32_t x, uint32_t by) {
  const bool is_signed = op.ends_with("s32"), remainder = op.starts_with("rem");
  if (by == 0) return ~0u;
  if (!is_signed) return remainder ? x % by : x / by;
  const auto a = static_cast<int64_t>(static_cast<int32_t>(x)), b = int64_t{static_cast<int32_t>(by)};
  return static_cast<uint32_t>(remainder ? a % b : a / b);
}

// Numbers at which quotients change, the ends of the range, and others.
std::vector<uint32_t> Dividends(uint32_t by) {
  std::mt19937 random(by);
  std::vector<uint32_t> numbers{0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
  while (numbers.size() < 4096) {
    const uint32_t any = static_cast<uint32_t>(random()) >> (random() % 32), near = any * by;
    numbers.insert(numbers.end(), {any, 0 - any, near, near - 1, near + 1, 0 - near, 1 - near, 0 - near - 1});
  }
  numbers.resize(4096);
  return numbers;
}

}  // namespace

TEST_CASE("many numbers are divided by one", "[division]") {
  for (const std::string op : {"div.u32", "rem.u32", "div.s32", "rem.s32"}) {
    auto kernel = JitKernel::Create(BuildKernel(Kernel(op), "k"));
    if (!kernel) FAIL(kernel.error().Render());
    for (const uint32_t by :
         {0u,          1u,          2u,          3u,          5u,          7u,         10u,
          255u,        256u,        641u,        65535u,      65537u,      1000003u,   0x7ffffffeu,
          0x7fffffffu, 0x80000000u, 0x80000001u, 0xfffffffdu, 0xfffffffeu, 0xffffffffu}) {
      const std::vector<uint32_t> numbers = Dividends(by);
      harness::KernelCall call{{16, 1, 1}, {256, 1, 1}, 0, {}, {}, {}};
      for (int argument = 0; argument < 2; ++argument) {
        auto parsed = rt::ParseSpec("inout:u32:[0]");
        REQUIRE(parsed);
        parsed->data.resize(4 * numbers.size());
        std::memcpy(parsed->data.data(), numbers.data(), 4 * numbers.size());
        call.arguments.push_back(std::move(*parsed));
      }
      call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(by)));
      RunOrFail(**kernel, call);
      size_t wrong = 0;
      for (size_t i = 0; i < numbers.size(); ++i) {
        uint32_t result;
        std::memcpy(&result, &call.arguments[1].data[4 * i], 4);
        wrong += result != Expected(op, numbers[i], by);
      }
      INFO(op << " by " << by);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("vectors are not divided by one number", "[division]") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto code =
      (*jit)->Explain(BuildKernel(Kernel("div.u32"), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  CHECK(code->find("fdiv <") == std::string::npos);
}
