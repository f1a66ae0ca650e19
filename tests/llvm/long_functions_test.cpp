// Kernels that are compiled in another way because they are large: functions cut into pieces, nests of loops
// too deep for LLVM's loop passes, tables with thousands of targets, calls of one of many functions, blocks
// of thousands of instructions.
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96;
using Words = std::vector<uint32_t>;

struct LargeKernel {
  const char* name;
  std::string (*body)();    // %v: the thread's word, %t: its number, %u: the argument
  std::string (*before)();  // the kernel
  void (*expected)(Words& words, uint32_t u);
};

template <typename Line>
std::string Repeat(uint32_t n, const Line& line) {
  std::string text;
  for (uint32_t i = 0; i < n; ++i) text += line(std::to_string(i));
  return text;
}
std::string Nothing() { return {}; }

std::string Loops() {
  return Repeat(600, [](const std::string& i) {
    return "mov.u32 %r, 0;\n$L" + i +
           ":\nmad.lo.u32 %v, %v, 3, %r;\nadd.u32 %r, %r, 1;\nand.b32 %s, %v, 3;\n"
           "setp.lt.u32 %p, %r, %s;\n@%p bra $L" +
           i + ";\n";
  });
}
void RunLoops(Words& words, uint32_t) {
  for (uint32_t& v : words) {
    for (uint32_t i = 0; i < 600; ++i) {
      uint32_t r = 0;
      do v = v * 3 + r++;
      while (r < (v & 3));
    }
  }
}

std::string Exchanges() {
  return "mov.u32 %r, tile;\nmad.lo.u32 %r, %t, 4, %r;\nxor.b32 %s, %r, 4;\n" +
         Repeat(90, [](const std::string& i) {
           return "st.shared.u32 [%r], %v;\nbar.sync 0;\nld.shared.u32 %x, [%s];\nmad.lo.u32 %v, %v, 5, %x;\n"
                  "add.u32 %v, %v, " +
                  i + ";\nbar.sync 0;\n";
         });
}
std::string Tile() { return ".shared .align 4 .b8 tile[4096];\n"; }
void RunExchanges(Words& words, uint32_t) {
  for (uint32_t i = 0; i < 90; ++i) {
    const Words old = words;
    for (uint32_t t = 0; t < kThreads; ++t) words[t] = old[t] * 5 + old[t ^ 1] + i;
  }
}

// Loop k has another turn where bit k of %u xor 0 or 1 is 1.
constexpr uint32_t kDepth = 60;
std::string Nest() {
  std::string text =
      ".reg .b32 %i<" + std::to_string(kDepth) + ">;\nand.b32 %x, %t, 1;\nxor.b32 %x, %x, %u;\n" +
      Repeat(kDepth, [](const std::string& k) { return "mov.u32 %i" + k + ", 0;\n$L" + k + ":\n"; }) +
      "mad.lo.u32 %v, %v, 3, 1;\n";
  for (uint32_t k = kDepth; k-- > 0;) {
    const std::string n = std::to_string(k);
    text += "shr.u32 %s, %x, " + n + ";\nand.b32 %s, %s, 1;\nadd.u32 %i" + n + ", %i" + n +
            ", 1;\nsetp.le.u32 %p, %i" + n + ", %s;\n@%p bra $L" + n + ";\n";
  }
  return text;
}
void RunNest(Words& words, uint32_t u) {
  for (uint32_t t = 0; t < kThreads; ++t) {
    const uint32_t bits = static_cast<uint32_t>(std::popcount((t & 1) ^ u));
    for (uint32_t i = 0; i < 1u << bits; ++i) words[t] = words[t] * 3 + 1;
  }
}

std::string Table(uint32_t entries, uint32_t targets) {
  std::string list, code;
  for (uint32_t i = 0; i < entries; ++i) list += (i == 0 ? "$L" : ", $L") + std::to_string(i % targets);
  for (uint32_t i = 0; i < targets; ++i)
    code += "$L" + std::to_string(i) + ":\nmad.lo.u32 %v, %v, " + std::to_string(i) + ", %u;\nbra.uni $E;\n";
  return "rem.u32 %r, %v, " + std::to_string(entries) + ";\n$T: .branchtargets " + list +
         ";\nbrx.idx %r, $T;\n" + code + "$E:\n";
}
std::string ManyTargets() { return Table(1500, 1500); }
std::string FewTargets() { return Table(900, 3); }
void RunManyTargets(Words& words, uint32_t u) {
  for (uint32_t& v : words) v = v * (v % 1500) + u;
}
void RunFewTargets(Words& words, uint32_t u) {
  for (uint32_t& v : words) v = v * (v % 900 % 3) + u;
}

constexpr uint32_t kFunctions = 80;
std::string Functions() {
  std::string text, table;
  for (uint32_t i = 0; i < kFunctions; ++i) {
    const std::string n = std::to_string(i);
    text += ".func (.param .b32 result) f" + n +
            "(.param .b32 x)\n{\n.reg .b32 %v;\nld.param.b32 %v, [x];\nmad.lo.u32 %v, %v, 3, " + n +
            ";\nst.param.b32 [result], %v;\nret;\n}\n";
    table += (i == 0 ? "f" : ", f") + n;
  }
  return text + ".global .align 8 .u64 table[" + std::to_string(kFunctions) + "] = {" + table + "};\n";
}
std::string CallOfOne() {
  return "rem.u32 %r, %v, " + std::to_string(kFunctions) +
         ";\nmul.wide.u32 %f, %r, 8;\nmov.u64 %g, table;\nadd.s64 %f, %f, %g;\nld.global.u64 %f, [%f];\n"
         "{\n.param .b32 a, b;\nst.param.b32 [a], %v;\n$P: .callprototype (.param .b32 _) _ (.param .b32 "
         "_);\n"
         "call (b), %f, (a), $P;\nld.param.b32 %v, [b];\n}\n";
}
void RunFunctions(Words& words, uint32_t) {
  for (uint32_t& v : words) v = v * 3 + v % kFunctions;
}

std::string Shuffles() {
  return Repeat(700, [](const std::string& i) {
    return "shfl.sync.bfly.b32 %r, %v, 1, 31, -1;\nmad.lo.u32 %v, %r, 3, " + i + ";\n";
  });
}
void RunShuffles(Words& words, uint32_t) {
  for (uint32_t i = 0; i < 700; ++i) {
    const Words old = words;
    for (uint32_t t = 0; t < kThreads; ++t) words[t] = old[t ^ 1] * 3 + i;
  }
}

// Pairs of lanes take an arm together.
constexpr uint32_t kArms = 280;
std::string ShufflesInArms() {
  return Repeat(kArms, [](const std::string& i) {
    return "shr.u32 %s, %t, 1;\nxor.b32 %s, %s, %u;\nxor.b32 %s, %s, " + i +
           ";\nand.b32 %s, %s, 3;\nsetp.ne.u32 %p, %s, 0;\n@%p bra $L" + i +
           ";\nactivemask.b32 %x;\nshfl.sync.bfly.b32 %r, %v, 1, 31, %x;\nmad.lo.u32 %v, %r, 3, %v;\n$L" + i +
           ":\nadd.u32 %v, %v, 1;\n";
  });
}
void RunShufflesInArms(Words& words, uint32_t u) {
  for (uint32_t i = 0; i < kArms; ++i) {
    const Words old = words;
    for (uint32_t t = 0; t < kThreads; ++t) {
      if (((t >> 1 ^ u ^ i) & 3) == 0) words[t] += old[t ^ 1] * 3;
      ++words[t];
    }
  }
}

constexpr LargeKernel kKernels[] = {
    {"loops", Loops, Nothing, RunLoops},
    {"exchanges", Exchanges, Tile, RunExchanges},
    {"nest", Nest, Nothing, RunNest},
    {"many targets", ManyTargets, Nothing, RunManyTargets},
    {"few targets", FewTargets, Nothing, RunFewTargets},
    {"functions", CallOfOne, Functions, RunFunctions},
    {"shuffles", Shuffles, Nothing, RunShuffles},
    {"shuffles in arms", ShufflesInArms, Nothing, RunShufflesInArms},
};

std::string TextOf(const LargeKernel& kernel) {
  return kHead + kernel.before() + R"(
.visible .entry k(.param .u64 pout, .param .u32 pu)
{
  .reg .pred %p; .reg .b32 %t, %u, %v, %r, %s, %x; .reg .b64 %a, %q, %f, %g;
  ld.param.u64 %a, [pout];
  ld.param.u32 %u, [pu];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %q, %t, 4;
  add.s64 %a, %a, %q;
  ld.global.u32 %v, [%a];
)" + kernel.body() +
         "st.global.u32 [%a], %v;\nret;\n}\n";
}

}  // namespace

TEST_CASE("large functions compute what small ones would", "[long_functions][long]") {
  std::mt19937 random(11);
  for (const LargeKernel& large : kKernels) {
    auto kernel = JitKernel::Create(BuildKernel(TextOf(large), "k"));
    if (!kernel) FAIL(large.name << ": " << kernel.error().Render());
    for (const uint32_t u : {0u, 1u, 0x8au, 0x10100u}) {
      Words words(kThreads);
      for (uint32_t& word : words) word = static_cast<uint32_t>(random());
      harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
      auto parsed = rt::ParseSpec("inout:u32:[0]");
      REQUIRE(parsed);
      parsed->data.resize(4 * kThreads);
      std::memcpy(parsed->data.data(), words.data(), 4 * kThreads);
      call.arguments.push_back(std::move(*parsed));
      call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(u)));
      const Status status = (*kernel)->Run(call);
      if (!status) FAIL(large.name << ": " << status.error().Render());
      large.expected(words, u);
      INFO(large.name << " with " << u);
      CHECK(std::memcmp(call.arguments[0].data.data(), words.data(), 4 * kThreads) == 0);
    }
  }
}
