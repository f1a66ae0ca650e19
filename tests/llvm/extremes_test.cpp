// Running maxima and minima: what is never NaN needs no look at NaN, and results are exact.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 256, kRounds = 6;

// out[i] = the extreme of `start` and in[i], in[i + 256], ...; `arguments` in the order of the operation.
std::string Kernel(const std::string& operation, const std::string& type, const std::string& start,
                   bool number_last) {
  const std::string bytes = type == "f32" ? "4" : "8";
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
.reqntid 256
{
  .reg .pred %p; .reg .b32 %i, %n; .reg .b64 %in, %out, %at; .reg .)" +
         type + R"( %f, %x;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, )" +
         bytes + ";\n  add.s64 %in, %in, %at;\n  add.s64 %out, %out, %at;\n  mov." + type + " %f, " + start +
         ";\n  mov.u32 %n, 0;\nagain:\n  ld.global." + type + " %x, [%in];\n  " + operation + "." + type +
         (number_last ? " %f, %x, %f" : " %f, %f, %x") + ";\n  add.s64 %in, %in, " + bytes +
         R"(00;
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, 6;
  @%p bra again;
  st.global.)" +
         type + R"( [%out], %f;
  ret;
}
)";
}

template <typename Float, typename Bits>
Bits Extreme(Bits a, Bits b, bool maximum) {
  const auto x = std::bit_cast<Float>(a), y = std::bit_cast<Float>(b);
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  if (x == 0 && y == 0) return maximum ? a & b : a | b;
  return (maximum ? x > y : x < y) ? a : b;
}

// Numbers of every kind, infinities, NaN of both kinds and signs.
template <typename Float, typename Bits>
std::vector<Bits> Numbers(size_t count) {
  std::mt19937_64 random(7);
  const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1), infinity = std::bit_cast<Bits>(Float(INFINITY));
  const Bits known[] = {0,
                        sign,
                        1,
                        sign | 1,
                        infinity,
                        sign | infinity,
                        infinity | 1,
                        sign | infinity | 1,
                        std::bit_cast<Bits>(Float(NAN)),
                        infinity - 1,
                        std::bit_cast<Bits>(Float(1)),
                        std::bit_cast<Bits>(Float(-1))};
  std::vector<Bits> numbers;
  while (numbers.size() < count)
    numbers.push_back(random() % 3 == 0 ? static_cast<Bits>(random()) : known[random() % std::size(known)]);
  return numbers;
}

template <typename Float, typename Bits>
void CheckRuns(const std::string& type, const std::string& target) {
  const std::vector<Bits> in = Numbers<Float, Bits>(size_t{100} * kRounds + kThreads);
  const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const std::string digits = type == "f32" ? "0f" : "0d";
  const std::pair<std::string, Bits> starts[] = {
      {std::string(sizeof(Bits) * 2, '0'), 0},
      {"8" + std::string(sizeof(Bits) * 2 - 1, '0'), sign},
      {type == "f32" ? "FF800000" : "FFF0000000000000", std::bit_cast<Bits>(Float(-INFINITY))},
      {type == "f32" ? "7F800000" : "7FF0000000000000", std::bit_cast<Bits>(Float(INFINITY))}};
  for (const auto& [start, first] : starts) {
    for (const bool maximum : {false, true}) {
      for (const bool number_last : {false, true}) {
        INFO(target << " " << type << " start " << start << (maximum ? " max " : " min ") << number_last);
        auto kernel = JitKernel::Create(
            BuildKernel(Kernel(maximum ? "max" : "min", type, digits + start, number_last), "k"),
            {.target = *lowering::ResolveTarget(target)});
        if (!kernel) FAIL(kernel.error().Render());
        harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
        for (const size_t count : {in.size(), size_t{kThreads}}) {
          auto parsed = rt::ParseSpec("inout:u32:[0]");
          REQUIRE(parsed);
          parsed->data.resize(sizeof(Bits) * count);
          std::memcpy(parsed->data.data(), in.data(), sizeof(Bits) * count);
          call.arguments.push_back(std::move(*parsed));
        }
        RunOrFail(**kernel, call);
        std::vector<Bits> out(kThreads);
        std::memcpy(out.data(), call.arguments[1].data.data(), sizeof(Bits) * kThreads);
        for (uint32_t i = 0; i < kThreads; ++i) {
          Bits expected = first;
          for (uint32_t n = 0; n < kRounds; ++n)
            expected = Extreme<Float>(expected, in[i + size_t{100} * n], maximum);
          if (out[i] != expected) FAIL("thread " << i << ": " << out[i] << ", expected " << expected);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("running extremes are exact, whatever they meet", "[extremes][long]") {
  for (const std::string target : {"x86-64-v2", "x86-64-v3", "native"}) {
    CheckRuns<float, uint32_t>("f32", target);
    CheckRuns<double, uint64_t>("f64", target);
  }
}

// out[i] = op1(op0(in[i], in[i + 100]), in[i + 200]), and that of all three as one instruction less.
std::string ChainOf(const std::string& type, bool maximum, bool stores_between) {
  const std::string bytes = type == "f32" ? "4" : "8", op = maximum ? "max." : "min.",
                    other = maximum ? "min." : "max.";
  const std::string load = "  ld.global." + type;
  return kHead +
         ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid 256\n{\n  .reg .b32 %i; .reg .b64 "
         "%in, %out, %at; .reg ." +
         type + " %x<6>;\n  ld.param.u64 %in, [pin];\n  ld.param.u64 %out, [pout];\n  mov.u32 %i, %tid.x;\n" +
         "  mul.wide.u32 %at, %i, " + bytes + ";\n  add.s64 %in, %in, %at;\n  add.s64 %out, %out, %at;\n" +
         load + " %x0, [%in];\n" + load + " %x1, [%in + " + bytes + "00];\n" + load + " %x2, [%in + " +
         (type == "f32" ? "8" : "16") + "00];\n  " + op + type + " %x3, %x0, %x1;\n" +
         (stores_between ? "  st.global." + type + " [%out], %x3;\n  st.global." + type + " [%out + " +
                               (type == "f32" ? "1024" : "2048") + "], %x3;\n"
                         : "") +
         "  " + other + type + " %x4, %x3, %x2;\n  " + op + type + " %x5, %x4, %x0;\n  st.global." + type +
         " [%out], %x5;\n  ret;\n}\n";
}

template <typename Float, typename Bits>
void CheckChains(const std::string& type, const std::string& target) {
  const std::vector<Bits> in = Numbers<Float, Bits>(size_t{100} * 2 + kThreads);
  const auto canonical = [](Bits bits) {
    const Bits nan = sizeof(Bits) == 4 ? Bits(0x7fffffff) : static_cast<Bits>(0xfff8000000000000);
    return std::isnan(std::bit_cast<Float>(bits)) ? nan : bits;
  };
  for (const bool maximum : {false, true}) {
    for (const bool between : {false, true}) {
      INFO(target << " " << type << (maximum ? " max " : " min ") << between);
      auto kernel = JitKernel::Create(BuildKernel(ChainOf(type, maximum, between), "k"),
                                      {.target = *lowering::ResolveTarget(target)});
      if (!kernel) FAIL(kernel.error().Render());
      harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
      for (const size_t count : {in.size(), size_t{2} * kThreads}) {
        auto parsed = rt::ParseSpec("inout:u32:[0]");
        REQUIRE(parsed);
        parsed->data.resize(sizeof(Bits) * count);
        std::memcpy(parsed->data.data(), in.data(), sizeof(Bits) * std::min(count, in.size()));
        call.arguments.push_back(std::move(*parsed));
      }
      RunOrFail(**kernel, call);
      std::vector<Bits> out(size_t{2} * kThreads);
      std::memcpy(out.data(), call.arguments[1].data.data(), sizeof(Bits) * out.size());
      for (uint32_t i = 0; i < kThreads; ++i) {
        const Bits first = canonical(Extreme<Float>(in[i], in[i + 100], maximum));
        const Bits second = canonical(Extreme<Float>(first, in[i + 200], !maximum));
        const Bits last = canonical(Extreme<Float>(second, in[i], maximum));
        if (out[i] != last) FAIL("thread " << i << ": " << out[i] << ", expected " << last);
        if (between && out[i + kThreads] != first) FAIL("thread " << i << ": " << out[i + kThreads]);
      }
    }
  }
}

TEST_CASE("extremes of extremes are exact, whatever NaN they meet", "[extremes]") {
  for (const std::string target : {"x86-64-v2", "x86-64-v3", "native"}) {
    CheckChains<float, uint32_t>("f32", target);
    CheckChains<double, uint64_t>("f64", target);
  }
}

TEST_CASE("what only extremes read may be any NaN", "[extremes]") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto code =
      (*jit)->Explain(BuildKernel(ChainOf("f32", true, false), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  const auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = code->find(what); at != std::string::npos; at = code->find(what, at + 1)) ++n;
    return n;
  };
  const size_t vectors = count("fcmp uno");  // of the last result
  CHECK(vectors != 0);
  CHECK(count("avx512.mask.range.ps.512(<16 x float>") >= 6 * vectors);  // three operands are made quiet
}

TEST_CASE("an extreme with what is never NaN asks for NaN once at most", "[extremes]") {
  const auto code_of = [](const std::string& start, const std::string& target) {
    auto jit =
        lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target)});
    REQUIRE(jit);
    const auto code = (*jit)->Explain(BuildKernel(Kernel("max", "f32", start, false), "k"), "k",
                                      lowering::Jit::Stage::kOptimized);
    REQUIRE(code);
    return *code;
  };
  const std::string running = code_of("0fFF800000", "x86-64-v4");
  CHECK(running.find("fcmp uno") == std::string::npos);
  CHECK(running.find("avx512.mask.range.ps.512") != std::string::npos);
  CHECK(code_of("0fFF800000", "x86-64-v3").find("fcmp uno") == std::string::npos);
  CHECK(code_of("0f7FC00000", "x86-64-v3").find("fcmp uno") != std::string::npos);  // begins with NaN
}
