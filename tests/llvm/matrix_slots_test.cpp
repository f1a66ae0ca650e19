// Accumulators that stay in slots over a loop with a barrier: one of two products, one that is read between
// trips; and one that does not, since its registers change places. Fragments are prepared once for all their
// products. PTX2CPU_RANDOM_COUNT=N compares N draws of each kind of data.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 64, kTrips = 3;
constexpr uint32_t kWordsOfA = 8, kWordsOfB = 4, kWordsOfC = 12;

struct Form {
  const char *shape, *factor, *sum;
  uint32_t a = 4, b = 2;  // registers
};
constexpr Form kForms[] = {{"m16n8k32", "s8", "s32"},
                           {"m16n8k16", "f16", "f32"},
                           {"m16n8k16", "bf16", "f32"},
                           {"m16n8k8", "tf32", "f32"}};
constexpr Form kShortForms[] = {
    {"m16n8k8", "f16", "f32", 2, 1}, {"m16n8k8", "bf16", "f32", 2, 1}, {"m16n8k4", "tf32", "f32", 2, 1}};

// Thread t has words kThreads * n + t of each array, in register n. x: A, y: B, two of each; c: three sums.
std::string Kernel(const Form& form) {
  std::string text = kHead + R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) .reqntid 64
{
  .reg .pred %p; .reg .b32 %i, %t, %x<8>, %y<4>, %seen; .reg .b64 %pa, %pb, %pc, %at;
  .reg .)" + std::string(form.sum) +
                     R"( %c<12>;
  ld.param.u64 %pa, [pa];
  ld.param.u64 %pb, [pb];
  ld.param.u64 %pc, [pc];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 4;
  add.s64 %pa, %pa, %at;
  add.s64 %pb, %pb, %at;
  add.s64 %pc, %pc, %at;
)";
  auto move = [&](const char* op, const char* name, const char* from, uint32_t count) {
    for (uint32_t n = 0; n < count; ++n) {
      const std::string place = "[%" + std::string(from) + "+" + std::to_string(n * kThreads * 4) + "]",
                        one = "%" + std::string(name) + std::to_string(n);
      text +=
          "  " + std::string(op) + ".b32 " + (op[0] == 'l' ? one + ", " + place : place + ", " + one) + ";\n";
    }
  };
  move("ld.global", "c", "pc", kWordsOfC);
  text += "  mov.u32 %i, 0;\n  mov.u32 %seen, 0;\nLOOP:\n  bar.sync 0;\n";
  move("ld.global", "x", "pa", kWordsOfA);
  move("ld.global", "y", "pb", kWordsOfB);
  auto list = [](const char* name, uint32_t first, uint32_t count) {
    std::string registers = "{";
    for (uint32_t n = 0; n < count; ++n)
      registers += (n == 0 ? "%" : ", %") + (name + std::to_string(first + n));
    return registers + "}";
  };
  auto product = [&](uint32_t a, uint32_t b, uint32_t c) {
    const std::string sums = list("c", 4 * c, 4);
    text += std::string("  mma.sync.aligned.") + form.shape + ".row.col." + form.sum + "." + form.factor +
            "." + form.factor + "." + form.sum + " " + sums + ", " + list("x", form.a * a, form.a) + ", " +
            list("y", form.b * b, form.b) + ", " + sums + ";\n";
  };
  product(0, 0, 0);
  product(0, 1, 1);
  product(1, 0, 2);
  product(1, 1, 0);
  text += R"(
  mov.b32 %t, %c4;
  mov.b32 %c4, %c5;
  mov.b32 %c5, %t;
  xor.b32 %seen, %seen, %c8;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, )" +
          std::to_string(kTrips) + ";\n  @%p bra LOOP;\n";
  move("st.global", "c", "pc", kWordsOfC);
  return text + "  st.global.b32 [%pa], %seen;\n  ret;\n}\n";
}

using Words = std::vector<std::vector<std::byte>>;

// Words of A and B, and of sums.
struct Data {
  const char* name;
  uint32_t (*factors)(const Form& form, uint32_t bits);
  uint32_t (*sum)(const Form& form, uint32_t bits);
};
// Words of the form's factors: those of f16, of bf16, and of tf32 and f32.
uint32_t WordOf(const Form& form, uint32_t f16, uint32_t bf16, uint32_t tf32) {
  const std::string factor = form.factor;
  return factor == "f16" ? f16 : factor == "bf16" ? bf16 : tf32;
}
constexpr Data kData[] = {
    {"similar exponents",
     [](const Form& form, uint32_t bits) {
       if (std::string(form.factor) == "s8") return bits;
       return WordOf(form, 0x30003000 + (bits & 0x8bff8bff), 0x3f003f00 + (bits & 0x80ff80ff),
                     0x3f000000 + (bits & 0x80ffffff));
     },
     [](const Form& form, uint32_t bits) {
       return std::string(form.factor) == "s8" ? bits : 0x3f000000 + (bits & 0x80ffffff);
     }},
    {"exponents far apart",
     [](const Form& form, uint32_t bits) {
       return WordOf(form, bits & 0xbbffbbff, (bits & 0x8fff8fff) | 0x30003000,
                     (bits & 0x8fffffff) | 0x30000000);
     },
     [](const Form&, uint32_t bits) { return (bits & 0x8fffffff) | 0x30000000; }},
    {"sums beyond 2^31 units",
     [](const Form& form, uint32_t) { return WordOf(form, 0x3bff3bff, 0x3f7f3f7f, 0x3f7fffff); },
     [](const Form&, uint32_t bits) { return 0x3e800000 + (bits & 0x7fffff); }},
    {"few products, sums below them",
     [](const Form& form, uint32_t bits) {
       return bits % 8 != 0
                  ? 0
                  : WordOf(form, bits & 0xbbffbbff, (bits & 0x8fff8fff) | 0x30003000, bits & 0xbfffffff);
     },
     [](const Form&, uint32_t bits) { return bits % 4 == 0 ? bits & 0x80000000u : bits & 0x87ffffff; }},
    {"infinite sums and NaN",
     [](const Form& form, uint32_t bits) {
       return WordOf(form, bits & 0xbbffbbff, (bits & 0x8fff8fff) | 0x30003000,
                     (bits & 0x8fffffff) | 0x30000000);
     },
     [](const Form&, uint32_t bits) { return bits % 256 == 0 ? bits | 0x7f800000 : bits & 0xbfffffff; }},
    // 1 and 2^-8, of either sign, sometimes with the last bit of the format: most of a sum is 0.
    {"terms that cancel",
     [](const Form& form, uint32_t bits) {
       const uint32_t ones = WordOf(form, 0x3c003c00, 0x3f803f80, 0x3f800000),
                      down = WordOf(form, 0x20002000, 0x04000400, 0x04000000),
                      last = WordOf(form, 0x00010001, 0x00010001, 0x00002000);
       uint32_t word = ones ^ (bits & 0x80008000);
       if (std::string(form.factor) == "tf32") word &= 0xffff0000;
       if (bits % 5 == 0) word -= down;
       if (bits % 7 < 2) word |= last & (bits << 3 | 0x2000);
       return word;
     },
     [](const Form&, uint32_t bits) {
       const uint32_t exponent = 103 + bits % 27;
       return (bits & 0x80000000u) | exponent << 23 | (bits % 3 == 0 ? bits >> 9 & 0x7fffff : 0);
     }},
    {"any bits", [](const Form&, uint32_t bits) { return bits; },
     [](const Form&, uint32_t bits) { return bits; }},
    {"subnormal factors",
     [](const Form& form, uint32_t bits) {
       return bits % 3 != 0 ? bits & WordOf(form, 0x83ff83ff, 0x807f807f, 0x807fffff)
                            : bits & WordOf(form, 0xf7fff7ff, 0xdfffdfff, 0xdfffffff);
     },
     [](const Form&, uint32_t bits) { return bits % 2 == 0 ? bits & 0x807fffff : bits & 0xa7ffffff; }},
};

template <typename Run>
Words Results(const Form& form, const Data& data, uint32_t seed, Run run) {
  std::mt19937 random(seed);
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t count : {kWordsOfA, kWordsOfB, kWordsOfC}) {
    auto words = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(words);
    words->data.resize(size_t{4} * count * kThreads);
    for (size_t n = 0; n < words->data.size(); n += 4) {
      // Numbers of few exponents in each format, and small ones as accumulators.
      const uint32_t word = count == kWordsOfC ? data.sum(form, static_cast<uint32_t>(random()))
                                               : data.factors(form, static_cast<uint32_t>(random()));
      std::memcpy(words->data.data() + n, &word, 4);
    }
    call.arguments.push_back(std::move(*words));
  }
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  return {call.arguments[0].data, call.arguments[2].data};
}

uint32_t Rounds() {
  const char* text = std::getenv("PTX2CPU_RANDOM_COUNT");
  return text == nullptr ? 1 : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

namespace {

void CheckSums(const Form& form, const std::vector<const char*>& targets) {
  INFO(form.shape << " " << form.factor);
  const BuiltKernel module = BuildKernel(Kernel(form), "k");
  const uint32_t rounds = Rounds();
  for (const char* target : targets) {
    INFO(target);
    auto kernel = JitKernel::Create(module, {.target = *lowering::ResolveTarget(target)});
    if (!kernel) FAIL(kernel.error().Render());
    for (const Data& data : kData) {
      if (std::string(form.factor) == "s8" && &data != kData) continue;
      for (uint32_t seed = 5; seed < 5 + rounds; ++seed) {
        INFO(data.name << ", seed " << seed);
        const Words wanted = Results(form, data, seed, [&](harness::KernelCall& call) {
          return harness::RunInterpreter(module, call);
        });
        CHECK(Results(form, data, seed, [&](harness::KernelCall& call) { return (*kernel)->Run(call); }) ==
              wanted);
      }
    }
  }
}

}  // namespace

TEST_CASE("accumulators in slots have the sums of the interpreter", "[matrix][long]") {
  for (const Form& form : kForms) CheckSums(form, {"native", "x86-64-v3", "x86-64-v2"});
}

TEST_CASE("short products in slots have the sums of the interpreter", "[matrix][long]") {
  for (const Form& form : kShortForms) CheckSums(form, {"native", "x86-64-v3"});
}

TEST_CASE("a fragment is prepared once, and a chain of products works on the slots", "[matrix]") {
  for (const Form& form : kForms) {
    INFO(form.factor);
    // Without tiles (matrix_tiles_test.cpp).
    auto jit = lowering::Jit::Create(
        {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
    REQUIRE(jit);
    auto code = (*jit)->Explain(BuildKernel(Kernel(form), "k"), "k", lowering::Jit::Stage::kLlvm);
    REQUIRE(code);
    const std::string factor = form.factor;
    const std::string name = factor == "s8"     ? "s8_s8"
                             : factor == "f16"  ? "f16_k16_f32"
                             : factor == "bf16" ? "bf16_k16"
                                                : "tf32_k8";
    const std::string call = "call void @ptx2cpu_matrix_" + name;
    // Consecutive products of floats with different sums are one call.
    const size_t alone = Count(*code, call + "("), runs = Count(*code, call + "_all(");
    CHECK(alone == (factor == "s8" ? 4u : 1u));
    CHECK(runs == (factor == "s8" ? 0u : 2u));
    CHECK(Count(*code, call + "_b(") == 2);
    if (factor != "s8") CHECK(Count(*code, call + "_a(") == 2);
    // Only the sums whose registers change places are copied: there the registers follow each other.
    CHECK(Count(*code, "i32 32)") == 1);
  }
}
