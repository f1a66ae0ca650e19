// Sums of few bits, which f32 holds (runtime/warp/matrix_short.h): the interpreter's bits, also where the
// accumulator or a factor has a bit more than fits.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "ir/interpret/exact.h"
#include "tests/llvm/matrix_kernel.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

uint32_t BitsIn(const std::string& type, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (type == "bf16") return bits >> 16;
  if (type != "f16") return bits;
  using namespace ir::interpret;
  return static_cast<uint32_t>(Encode(FormatOf(ir::Type::kF16), Decode(FormatOf(ir::Type::kF32), bits), {}));
}

// What one round draws: integers of so many bits, in units of 2^unit.
struct Range {
  int bits, unit;
};
std::vector<uint32_t> Words(const std::string& type, uint32_t registers, Range range, std::mt19937& random) {
  auto element = [&] {
    const auto top = static_cast<int>(1u << range.bits);
    const int number = static_cast<int>(random() % (2u * static_cast<unsigned>(top) + 1)) - top;
    return BitsIn(type, std::ldexp(static_cast<float>(number), range.unit));
  };
  std::vector<uint32_t> words(size_t{registers} * kLanes);
  for (uint32_t& word : words) {
    word = element();
    if (type == "f16" || type == "bf16") word |= element() << 16;
  }
  return words;
}

}  // namespace

TEST_CASE("products of few bits have the bits of the interpreter", "[matrix][long]") {
  std::mt19937 random(47);
  for (const Form& form : kForms) {
    const BuiltKernel module = BuildKernel(Kernel(form), "k");
    auto interpreted = [&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); };
    auto native = Compiled(module, "native"), avx2 = Compiled(module, "x86-64-v3"),
         sse = Compiled(module, "x86-64-v2");
    const int most = std::string(form.sum) == "f16" ? 10 : 24;
    for (int round = 0; round < 24; ++round) {
      const Range a{round % 8, round % 5 - 8}, b{7 - round % 6, 1 - round % 7};
      const Range c{round % 4 == 0 ? most : round % (most + 1), a.unit + b.unit - round % 3 / 2};
      Data data{Words(form.factor, form.a, a, random), Words(form.factor, form.b, b, random),
                Words(form.sum, form.c, c, random)};
      if (round % 6 == 5) data.c[random() % data.c.size()] = random();
      if (round % 9 == 8) data.a[random() % data.a.size()] = random();
      INFO(form.shape << " " << form.factor << " to " << form.sum << ", round " << round);
      const std::vector<uint32_t> wanted = Results(interpreted, data);
      CHECK(Results(native, data) == wanted);
      CHECK(Results(avx2, data) == wanted);
      CHECK(Results(sse, data) == wanted);
    }
  }
}

// 2 * 2^-24 + 2^-12 * 2^-13 is halfway between two numbers; 2^-20 * 2^-20 is cut, since the accumulator is
// subnormal.
TEST_CASE("a subnormal accumulator cuts a product of few bits", "[matrix][long]") {
  const Form& form = kForms[3];
  REQUIRE(std::string(form.sum) == "f16");
  Data data{std::vector<uint32_t>(size_t{form.a} * kLanes), std::vector<uint32_t>(size_t{form.b} * kLanes),
            std::vector<uint32_t>(size_t{form.c} * kLanes, 0x00020002)};
  for (size_t lane = 0; lane < kLanes; lane += 4) {
    data.a[lane] = data.a[kLanes + lane] = 0x00100c00;
    data.b[lane] = 0x00100800;
  }
  const BuiltKernel module = BuildKernel(Kernel(form), "k");
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"})
    CHECK(Results(Compiled(module, target), data) == data.c);
}

TEST_CASE("a product of few bits has an operation for each of its products", "[matrix][long]") {
  for (const Form& form : kForms) {
    INFO(form.shape << " " << form.factor << " to " << form.sum);
    auto jit = lowering::Jit::Create(
        {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
    REQUIRE(jit);
    auto code = (*jit)->Explain(BuildKernel(Kernel(form), "k"), "k", lowering::Jit::Stage::kOptimized);
    REQUIRE(code);
    CHECK(code->find("@llvm.fma.v16f32") != std::string::npos);
  }
}

// All significands just below 2: the sum of 16 products and an accumulator of their exponent is more than 31
// bits of what it is cut at. Some elements are smaller, so that sums lie on both sides.
TEST_CASE("sums of more than 31 bits have the bits of the interpreter", "[matrix]") {
  std::mt19937 random(48);
  test::Sample sample(5);
  for (const Form& form : kForms) {
    if (std::string(form.sum) != "f32") continue;
    const std::string type = form.factor;
    auto below_two = [&](bool is_small) {
      const float step = type == "bf16" ? 0x1p-7f : 0x1p-10f;
      return is_small ? 1.0f : 2 - step * static_cast<float>(1 + random() % 3);
    };
    auto factors = [&](uint32_t registers, unsigned small) {
      std::vector<uint32_t> words(size_t{registers} * kLanes);
      for (uint32_t& word : words) {
        auto element = [&] { return BitsIn(type, below_two(small != 0 && random() % small == 0)); };
        word = element();
        if (type != "tf32") word |= element() << 16;
      }
      return words;
    };
    const BuiltKernel module = BuildKernel(Kernel(form), "k");
    auto interpreted = [&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); };
    std::vector<decltype(Compiled(module, "native"))> kernels;
    for (const char* target : {"native", "x86-64-v3"}) {
      if (!sample.Skips()) kernels.push_back(Compiled(module, target));
    }
    for (unsigned round = 0; round < 12 && !kernels.empty(); ++round) {
      Data data{factors(form.a, 64 * (round % 2)), factors(form.b, 32 * (round % 3)),
                std::vector<uint32_t>(size_t{form.c} * kLanes)};
      for (uint32_t& word : data.c)
        word =
            std::bit_cast<uint32_t>(std::ldexp(2 - 0x1p-20f * static_cast<float>(random() % 5), round % 2)) |
            (random() % 4 == 0 ? 0x80000000u : 0);
      INFO(form.shape << " " << form.factor << ", round " << round);
      const std::vector<uint32_t> wanted = Results(interpreted, data);
      for (auto& kernel : kernels) CHECK(Results(kernel, data) == wanted);
    }
  }
}
