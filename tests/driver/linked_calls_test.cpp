// A program as large as the runtimes that offloading compilers link to each kernel: many texts through
// cuLinkAddData, whose functions call each other by name and through tables of pointers and have collectives
// at their ends. A copy of each reached function at each call would be far too many.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/driver/driver_session.h"
#include "tests/sanitized.h"

using namespace driver_test;

namespace {

constexpr uint32_t kTexts = 24;      // each calls the next one's functions
constexpr uint32_t kFunctions = 10;  // of a text
constexpr uint32_t kPointers = 4;    // functions of a text's table
constexpr uint32_t kTableEvery = 4;  // texts
constexpr uint32_t kThreads = 64;
#ifdef PTX2CPU_TEST_SANITIZED
constexpr double kMaxSeconds = 200;
#else
constexpr double kMaxSeconds = 10;  // of processors, with all compiling
#endif
constexpr int kTries = 3;  // machines are busy

std::string Name(uint32_t text, uint32_t function) {
  return "f" + std::to_string(text) + "_" + std::to_string(function);
}
std::string Table(uint32_t text) { return "table" + std::to_string(text); }

// Which functions of the next text one calls, by the last bit of its value.
std::array<uint32_t, 2> Called(uint32_t function) { return {function, (function + 3) % kFunctions}; }
bool CallsByPointer(uint32_t text, uint32_t function) {
  return function == 0 && text + 1 < kTexts && (text + 1) % kTableEvery == 0;
}

std::string Call(const std::string& callee, const std::string& prototype = "") {
  return "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %v; call (b), " + callee + ", (a)" + prototype +
         "; ld.param.b32 %v, [b]; }\n";
}

std::string Function(uint32_t text, uint32_t function) {
  const std::string number = std::to_string(text * kFunctions + function);
  std::string body = ".visible .func (.param .b32 r) " + Name(text, function) +
                     "(.param .b32 x)\n{\n.reg .pred %p; .reg .b32 %v, %w, %m; .reg .b64 %q, %t;\n"
                     "ld.param.b32 %v, [x];\nmad.lo.u32 %v, %v, 3, " +
                     number + ";\nand.b32 %w, %v, 1;\nsetp.ne.u32 %p, %w, 0;\n";
  if (text + 1 == kTexts) {  // a shuffle with itself
    body += "mov.u32 %m, %lanemask_eq;\nmov.u32 %w, %laneid;\nshfl.sync.idx.b32 %v, %v, %w, 31, %m;\n";
  } else if (CallsByPointer(text, function)) {
    body += "shr.u32 %w, %v, 4;\nand.b32 %w, %w, " + std::to_string(kPointers - 1) +
            ";\nmul.wide.u32 %q, %w, 8;\nmov.u64 %t, " + Table(text + 1) +
            ";\nadd.s64 %q, %q, %t;\nld.global.u64 %q, [%q];\n"
            "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n" +
            Call("%q", ", P");
  } else {
    const auto [even, odd] = Called(function);
    body += "@%p bra ODD;\n" + Call(Name(text + 1, even)) + "bra.uni DONE;\nODD:\n" +
            Call(Name(text + 1, odd)) + "DONE:\n";
  }
  return body + "xor.b32 %v, %v, " + number + ";\nst.param.b32 [r], %v;\nret;\n}\n";
}

std::string Text(uint32_t text) {
  std::string all = kHead, table;
  for (uint32_t n = 0; n < kFunctions && text + 1 < kTexts; ++n)
    all += ".extern .func (.param .b32 r) " + Name(text + 1, n) + "(.param .b32 x);\n";
  if ((text + 1) % kTableEvery == 0 && text + 1 < kTexts)
    all += ".extern .global .align 8 .u64 " + Table(text + 1) + "[" + std::to_string(kPointers) + "];\n";
  for (uint32_t n = 0; n < kFunctions; ++n) all += Function(text, n);
  if (text % kTableEvery == 0) {
    for (uint32_t n = 0; n < kPointers; ++n) table += (n == 0 ? "" : ", ") + Name(text, n);
    all += ".visible .global .align 8 .u64 " + Table(text) + "[" + std::to_string(kPointers) + "] = {" +
           table + "};\n";
  }
  if (text != 0) return all;
  return all + R"(.visible .entry start(.param .u64 out) {
  .reg .b32 %v; .reg .b64 %a, %o;
  ld.param.u64 %o, [out];
  mov.u32 %v, %tid.x;
  mul.wide.u32 %a, %v, 4;
  add.s64 %o, %o, %a;
  )" + Call(Name(0, 0)) +
         "  st.global.u32 [%o], %v;\n  ret;\n}\n";
}

uint32_t Expected(uint32_t text, uint32_t function, uint32_t value) {
  const uint32_t number = text * kFunctions + function;
  value = value * 3 + number;
  if (text + 1 < kTexts) {
    const uint32_t callee =
        CallsByPointer(text, function) ? (value >> 4) % kPointers : Called(function)[value & 1];
    value = Expected(text + 1, callee, value);
  }
  return value ^ number;
}

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The texts are linked and the kernel runs; the results.
std::vector<uint32_t> LinkAndRun() {
  CUlinkState state;
  REQUIRE(cuLinkCreate_v2(0, nullptr, nullptr, &state) == CUDA_SUCCESS);
  for (uint32_t n = 0; n < kTexts; ++n) {
    const std::string text = Text(n);
    REQUIRE(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1,
                             nullptr, 0, nullptr, nullptr) == CUDA_SUCCESS);
  }
  void* image;
  size_t size;
  REQUIRE(cuLinkComplete(state, &image, &size) == CUDA_SUCCESS);
  CUmodule module;
  CUfunction function;
  CUdeviceptr out;
  REQUIRE(cuModuleLoadData(&module, image) == CUDA_SUCCESS);
  REQUIRE(cuLinkDestroy(state) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "start") == CUDA_SUCCESS);
  int threads = 0;  // what libgomp asks first: it compiles the kernel
  REQUIRE(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&out, kThreads * sizeof(uint32_t)) == CUDA_SUCCESS);
  REQUIRE(Run(function, 1, kThreads, nullptr, out) == CUDA_SUCCESS);
  std::vector<uint32_t> results(kThreads);
  REQUIRE(cuMemcpyDtoH_v2(results.data(), out, kThreads * sizeof(uint32_t)) == CUDA_SUCCESS);
  REQUIRE(cuMemFree_v2(out) == CUDA_SUCCESS);
  REQUIRE(cuModuleUnload(module) == CUDA_SUCCESS);
  return results;
}

}  // namespace

TEST_CASE("a large program of linked texts whose functions call through pointers runs within ten seconds") {
  const Session session;
  double seconds = kMaxSeconds;
  for (int n = 0; n < kTries && seconds >= kMaxSeconds; ++n) {
    const double before = ProcessorSeconds();
    const std::vector<uint32_t> results = LinkAndRun();
    seconds = ProcessorSeconds() - before;
    for (uint32_t thread = 0; thread < kThreads; ++thread) CHECK(results[thread] == Expected(0, 0, thread));
  }
  CHECK(seconds < kMaxSeconds);
}
