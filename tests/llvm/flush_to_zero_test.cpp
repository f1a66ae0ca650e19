// Kernels that run with the processor's flush to zero: the interpreter's bits, in chains of .ftz operations
// and next to the least normal number. Their callers keep subnormal numbers, also after a fault.
#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <sstream>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 128;
constexpr const char* kTargets[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "native"};

bool HasFlush() { return lowering::TraitsOf(*lowering::ResolveTarget("native")).is_x86; }

// x, y and z from memory; `body` makes x.
std::string Kernel(const std::string& body) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p, %q; .reg .b16 %h; .reg .b32 %i, %n, %w; .reg .b64 %in, %out, %at; .reg .f32 %x, %y, %z, %t; .reg .f64 %d;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  mad.wide.u32 %at, %i, 12, %in;
  ld.global.f32 %x, [%at];
  ld.global.f32 %y, [%at+4];
  ld.global.f32 %z, [%at+8];
)" + body +
         R"(  st.global.f32 [%out], %x;
  ret;
}
)";
}

// Zeros, subnormal numbers, factors of the least normal number, and numbers of everyday size.
uint32_t Word(std::mt19937& random) {
  constexpr uint32_t kNear[] = {0,          1,          0x007FFFFF, 0x00800000, 0x3F800000,
                                0x20000000, 0x40000000, 0x01000000, 0x5F800000, 0x7F800000};
  const uint32_t word = kNear[random() % std::size(kNear)] + static_cast<uint32_t>(random() % 4) - 2;
  const uint32_t any = static_cast<uint32_t>(random()) & 0x3FFFFFFF;
  return (random() % 3 == 0 ? any : word & 0x7FFFFFFF) | static_cast<uint32_t>(random() % 2) << 31;
}

std::vector<std::byte> Run(const auto& run, uint32_t seed) {
  std::mt19937 random(seed);
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t count : {3 * kThreads, kThreads}) {
    auto argument = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(argument);
    argument->data.resize(4 * size_t{count});
    for (size_t at = 0; at < argument->data.size(); at += 4) {
      const uint32_t word = Word(random);
      std::memcpy(&argument->data[at], &word, 4);
    }
    call.arguments.push_back(std::move(*argument));
  }
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  std::vector<std::byte> out = call.arguments[1].data;
  for (size_t at = 0; at < out.size(); at += 4) {  // NaN of any bits
    uint32_t word = 0;
    std::memcpy(&word, &out[at], 4);
    if ((word & 0x7FFFFFFF) > 0x7F800000) word = 0x7FFFFFFF;
    std::memcpy(&out[at], &word, 4);
  }
  return out;
}

void CheckSame(const std::string& body, uint32_t seed) {
  INFO(body);
  const BuiltKernel module = BuildKernel(Kernel(body), "k");
  const auto expected =
      Run([&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); }, seed);
  for (const std::string target : kTargets) {
    INFO(target);
    auto kernel = JitKernel::Create(
        BuildKernel(Kernel(body), "k"),
        {.target = *lowering::ResolveTarget(target), .optimisation = seed % 4 == 3 ? 0 : 3});
    if (!kernel) FAIL(kernel.error().Render());
    CHECK(Run([&](harness::KernelCall& call) { return (*kernel)->Run(call); }, seed) == expected);
  }
}

std::string CodeOf(const std::string& body, const std::string& target = "x86-64-v4") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target)});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(Kernel(body), "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  return *code;
}

bool Flushes(const std::string& body, const std::string& target = "x86-64-v4") {
  return CodeOf(body, target).find("ldmxcsr") != std::string::npos;
}

}  // namespace

TEST_CASE("kernels that flush to zero give the interpreter's bits", "[flush]") {
  if (!HasFlush()) return;
  constexpr const char* kSteps[] = {
      "mul.ftz.f32 %x, %x, %y;",
      "mul.ftz.f32 %x, %x, 0f3F800000;",  // LLVM makes it x
      "mul.ftz.f32 %x, %x, 0fBF800000;",
      "add.ftz.f32 %x, %x, 0f80000000;",
      "sub.ftz.f32 %x, %y, 0f00000000;",
      "add.ftz.f32 %x, %x, %z;",
      "sub.ftz.f32 %x, %y, %x;",
      "fma.rn.ftz.f32 %x, %x, %y, %z;",
      "fma.rn.ftz.sat.f32 %z, %x, %y, %z;",
      "fma.rn.ftz.f32 %x, %x, 0f3F800000, %y;",
      "div.rn.ftz.f32 %x, %x, %y;",
      "rcp.rn.ftz.f32 %y, %x;",
      "sqrt.rn.ftz.f32 %z, %y;",
      "mul.ftz.sat.f32 %x, %x, %y;",
      "max.ftz.f32 %x, %x, %y;",
      "min.f32 %x, %x, %z;",
      "neg.ftz.f32 %y, %y;",
      "abs.f32 %z, %z;",
      "setp.lt.f32 %p, %x, %y;\n  selp.f32 %x, %y, %z, %p;",
      "setp.gt.ftz.f32 %p, %x, 0f00000000;\n  selp.f32 %x, %z, %x, %p;",
      "sub.ftz.f32 %t, %x, %y;\n  setp.gt.ftz.f32 %p, %t, 0f00000000;\n  selp.f32 %x, %z, %x, %p;",
      "sub.ftz.f32 %t, %x, %y;\n  setp.neu.f32 %p, %t, 0f00000000;\n  selp.f32 %y, %z, %y, %p;",
      "mul.ftz.f32 %t, %x, %x;\n  setp.eq.f32 %p, %t, 0f00000000;\n  selp.f32 %y, %z, %y, %p;",
      "cvt.rn.f16.f32 %h, %x;\n  fma.rn.f16 %h, %h, %h, %h;\n  cvt.f32.f16 %x, %h;",
      "mov.f32 %t, %x;\n  mov.f32 %x, %y;\n  mov.f32 %y, %z;\n  mov.f32 %z, %t;",
      "mul.rz.ftz.f32 %y, %x, %y;",
      "cvt.rni.ftz.f32.f32 %x, %x;",
  };
  std::mt19937 random(5);
  test::Sample some(5);
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::string body;
    for (uint32_t n = 0; n < 1 + seed % 8; ++n)
      body += "  " + std::string(kSteps[random() % std::size(kSteps)]) + "\n";
    if (!some.Skips()) CheckSame(body, seed);
  }
}

// What is known after loops are unrolled is computed by LLVM.
TEST_CASE("what LLVM computes is flushed too", "[flush]") {
  if (!HasFlush()) return;
  for (const char* trips : {"2", "127", "140"}) {
    CheckSame(
        "  mov.u32 %n, 0;\n  mov.f32 %t, 0f3F800001;\nagain:\n  mul.ftz.f32 %t, %t, 0f3F000000;\n"
        "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p, %n, " +
            std::string(trips) + ";\n  @%p bra again;\n  add.ftz.f32 %x, %x, %t;\n",
        7);
  }
}

TEST_CASE("kernels flush to zero if all subnormal results are flushed", "[flush]") {
  if (!HasFlush()) return;
  const std::string product = "  mul.ftz.f32 %x, %x, %y;\n";
  CHECK(Flushes(product));
  CHECK(Flushes(product + "  setp.lt.f32 %p, %x, %z;\n  selp.f32 %x, %y, %z, %p;\n"));
  CHECK(Flushes(product + "  ex2.approx.ftz.f32 %y, %x;\n  add.ftz.f32 %x, %x, %y;\n"));
  for (const char* other :
       {"mul.f32 %y, %y, %z;", "cvt.f64.f32 %d, %y;\n  add.f64 %d, %d, %d;\n  cvt.rn.f32.f64 %y, %d;",
        "tanh.approx.f32 %y, %y;", "sin.approx.f32 %y, %y;",
        "cvt.rn.bf16.f32 %h, %y;\n  fma.rn.bf16 %h, %h, %h, %h;\n  mov.b32 %w, {%h, %h};\n  mov.b32 %y, "
        "%w;"}) {
    INFO(other);
    const std::string body = product + "  " + other + "\n  min.f32 %x, %x, %y;\n";
    CHECK(!Flushes(body));
    if (body.find("approx") == std::string::npos) CheckSame(body, 3);
  }
  CHECK(!Flushes("  mul.f32 %x, %x, %y;\n"));
  CHECK(Flushes(product + "  red.global.add.f32 [%in], %x;\n"));
  CHECK(!Flushes(product + "  red.add.f32 [%in], %x;\n"));  // shared memory keeps subnormal numbers
  CHECK(!Flushes("  fma.rn.ftz.f32 %x, %x, %y, %z;\n", "x86-64-v2"));  // by a function of the C library
  // The operands are from memory, the product and the sum need no test.
  const std::string code = CodeOf("  fma.rn.ftz.f32 %x, %x, %y, %z;\n  add.ftz.f32 %x, %x, %x;\n");
  size_t tests = 0, products = 0;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    tests += line.find(" and ") != std::string::npos && line.find("2139095040") != std::string::npos;
    products += line.find("call ") != std::string::npos && line.find("@llvm.fma") != std::string::npos;
  }
  CHECK(products > 0);
  CHECK(tests == 3 * products);
}

// LLVM computes with constants as if nothing was flushed.
TEST_CASE("results of constants are flushed too", "[flush]") {
  if (!HasFlush()) return;
  test::Sample some(3);
  for (const char* result :
       {"div.approx.ftz.f32 %x, 0f00C00000, 0f40800000;", "div.rn.ftz.f32 %x, 0f00C00000, 0f40800000;",
        "mul.ftz.f32 %x, 0f00C00000, 0f3E800000;", "mul.rn.ftz.f32 %x, 0f00800000, 0f3F7FFFFF;",
        "fma.rn.ftz.f32 %x, 0f00800000, 0f3F000000, 0f00000000;",
        "fma.rn.ftz.f32 %x, 0f00800000, 0f3F7FFFFF, 0f80000000;", "sub.ftz.f32 %x, 0f00C00000, 0f00800000;",
        "rcp.rn.ftz.f32 %x, 0f7F000001;"}) {
    INFO(result);
    for (const char* after : {"  min.f32 %x, %x, %y;\n", ""}) {
      if (!some.Skips()) CheckSame("  mul.ftz.f32 %y, %x, %y;\n  " + std::string(result) + "\n" + after, 3);
    }
  }
}

TEST_CASE("results of what becomes constant in LLVM's passes are flushed too", "[flush]") {
  if (!HasFlush()) return;
  const auto loop = [](const std::string& first, const std::string& step) {
    return "  mul.ftz.f32 %y, %x, %y;\n  mov.f32 %t, " + first + ";\n  mov.u32 %n, 0;\nL:\n  " + step +
           "\n  add.u32 %n, %n, 1;\n  setp.lt.u32 %p, %n, 6;\n  @%p bra L;\n  min.f32 %x, %t, %y;\n" +
           "  mov.f32 %x, %t;\n";
  };
  for (const std::string& body :
       {loop("0f00C00000", "fma.rn.ftz.f32 %t, %t, 0f3F000000, 0f00000000;"),
        loop("0f01000000", "fma.rn.ftz.f32 %t, %t, 0f3F400000, 0f80000000;"),
        loop("0f00800000", "mul.ftz.f32 %t, %t, 0f3F7FFFFF;"),
        loop("0f00800001", "mul.ftz.f32 %t, %t, 0f3F7FFFFE;"),
        loop("0f40800000", "div.rn.ftz.f32 %t, 0f00C00000, %t;"),
        loop("0f3F800000",
             "mul.ftz.f32 %t, %t, 0f3F000000;\n  fma.rn.ftz.f32 %z, %t, 0f00800000, 0f00000000;"
             "\n  max.f32 %y, %y, %z;")}) {
    CheckSame(body, 2);
    CheckSame(body, 3);
  }
  // On one way only.
  CheckSame(
      "  mul.ftz.f32 %y, %x, %y;\n  setp.gt.f32 %p, %z, 0f00000000;\n  mov.f32 %t, %x;\n"
      "  @%p mov.f32 %t, 0f00C00000;\n  @%p bra L;\n  add.ftz.f32 %t, %t, %z;\nL:\n"
      "  fma.rn.ftz.f32 %x, %t, 0f3F000000, 0f00000000;\n",
      2);
}

TEST_CASE("a fault in a kernel that flushes to zero leaves the callers' arithmetic", "[flush]") {
  if (!HasFlush()) return;
  const auto product = [] {
    volatile float x = 0x1p-100f, y = 0x1p-40f;
    return x * y;
  };
  for (const char* fault : {"@%p trap;", "mov.u64 %at, 64;\n  @%p st.global.f32 [%at], %x;"}) {
    INFO(fault);
    auto kernel = JitKernel::Create(BuildKernel(
        Kernel("  mul.ftz.f32 %x, %x, %y;\n  setp.ne.u32 %p, %i, 1000;\n  " + std::string(fault) + "\n"),
        "k"));
    REQUIRE(kernel);
    harness::KernelCall call{{64, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
    for (const char* spec : {"inout:u32:[0]", "inout:u32:[0]"}) {
      call.arguments.push_back(*rt::ParseSpec(spec));
      call.arguments.back().data.resize(12 * size_t{kThreads});
    }
    CHECK(!(*kernel)->Run(call));
    CHECK(product() == 0x1p-140f);
  }
  // The same on workers.
  CheckSame("  mul.f32 %x, %x, %y;\n", 1);
}
