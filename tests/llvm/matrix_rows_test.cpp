// Loads of matrices whose rows lie at known distances from an address that all lanes have alike: loads of 16
// bytes, without a vector of addresses; and those whose rows lie anywhere.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kWindowWords = 2048, kThreads = 64;

struct Case {
  const char *count, *transposed;
  uint32_t registers;
  const char* distance;  // makes %row of %lane: bytes from the start
  bool is_known;
  const char* start = "0";
  const char* other_transposed = nullptr;  // a second load of the same rows
};
const Case kCases[] = {
    {"x4", "", 4, "mul.lo.u32 %row, %lane, 80;", true},
    {"x4", ".trans", 4, "mul.lo.u32 %row, %lane, 48;", true, "32"},
    {"x2", "", 2, "shl.b32 %row, %lane, 4;", true, "16"},
    {"x1", ".trans", 1, "and.b32 %row, %lane, 7; mad.lo.u32 %row, %row, 112, 16;", true},
    // Addresses that are stored once for two loads.
    {"x2", "", 2, "mul.lo.u32 %row, %lane, 80;", true, "0", ".trans"},
    {"x2", ".trans", 2, "mad.lo.u32 %row, %word, 16, 16;", false, "0", ""},
    // By a number that is loaded.
    {"x4", "", 4, "mad.lo.u32 %row, %word, 16, 16;", false},
};

std::string Load(const Case& c, const char* transposed, uint32_t first) {
  std::string list = "{";
  for (uint32_t n = 0; n < c.registers; ++n) list += (n == 0 ? "%r" : ", %r") + std::to_string(first + n);
  return std::string("  ldmatrix.sync.aligned.m8n8.") + c.count + transposed + ".shared.b16 " + list +
         "}, [%row];\n";
}

// Each warp reads its own half of the window; %word is any number below 16.
std::string Kernel(const Case& c) {
  std::string text = kHead + R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 start) .reqntid 64
{
  .shared .align 16 .b8 window[8192];
  .reg .b64 %in, %out, %at; .reg .b32 %t, %lane, %row, %word, %base, %start, %i, %r<4>; .reg .pred %p;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %start, [start];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 4;
  add.s64 %in, %in, %at;
  mov.u32 %base, window;
  mad.lo.u32 %row, %t, 4, %base;
  mov.u32 %i, 0;
FILL:
  ld.global.b32 %word, [%in];
  st.shared.b32 [%row], %word;
  add.s64 %in, %in, 256;
  add.u32 %row, %row, 256;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 32;
  @%p bra FILL;
  bar.sync 0;
  and.b32 %word, %word, 15;
  and.b32 %lane, %t, 31;
  shr.u32 %i, %t, 5;
  shl.b32 %i, %i, 12;
  add.u32 %base, %base, %i;
  add.u32 %base, %base, %start;
  )" + c.distance + R"(
  add.u32 %row, %row, %base;
)" + Load(c, c.transposed, 0);
  uint32_t registers = c.registers;
  if (c.other_transposed != nullptr) {
    text += Load(c, c.other_transposed, registers);
    registers *= 2;
  }
  text += "  add.s64 %out, %out, %at;\n";
  for (uint32_t n = 0; n < registers; ++n)
    text += "  st.global.b32 [%out+" + std::to_string(n * kThreads * 4) + "], %r" + std::to_string(n) + ";\n";
  return text + "  ret;\n}\n";
}

template <typename Run>
Result<std::vector<std::byte>> Results(Run run, const char* start) {
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t count : {kWindowWords, 4 * kThreads}) {
    auto words = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(words);
    words->data.resize(size_t{4} * count);
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t word = n * 2654435761u;
      std::memcpy(words->data.data() + size_t{4} * n, &word, 4);
    }
    call.arguments.push_back(std::move(*words));
  }
  auto argument = rt::ParseSpec(std::string("u32:") + start);
  REQUIRE(argument);
  call.arguments.push_back(std::move(*argument));
  TRY_STATUS(run(call));
  return call.arguments[1].data;
}

std::string Code(const ir::Module& module, const char* target) {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target)});
  REQUIRE(jit);
  auto code = (*jit)->Explain(module, "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("rows of matrices at known distances are loads without a vector of addresses", "[matrix][long]") {
  for (const Case& c : kCases) {
    const BuiltKernel module = BuildKernel(Kernel(c), "k");
    const auto wanted =
        Results([&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); }, c.start);
    if (!wanted) FAIL(wanted.error().Render());
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      INFO(c.count << c.transposed << " " << c.distance << " " << target);
      auto kernel = JitKernel::Create(module, {.target = *lowering::ResolveTarget(target)});
      if (!kernel) FAIL(kernel.error().Render());
      const auto given = Results([&](harness::KernelCall& call) { return (*kernel)->Run(call); }, c.start);
      if (!given) FAIL(given.error().Render());
      CHECK(*given == *wanted);
      CHECK((Code(module, target).find("call void @ptx2cpu_matrix_load(") == std::string::npos) ==
            c.is_known);
    }
  }
}

TEST_CASE("rows of matrices at known distances fault where they are not multiples of 16", "[matrix]") {
  const Case all{"x4", "", 4, "shl.b32 %row, %lane, 4;", true, "8"},
      one{"x4", "", 4, "mul.lo.u32 %row, %lane, 24;", true};
  for (const Case& c : {all, one}) {
    const BuiltKernel module = BuildKernel(Kernel(c), "k");
    auto kernel = JitKernel::Create(module);
    if (!kernel) FAIL(kernel.error().Render());
    const auto given = Results([&](harness::KernelCall& call) { return (*kernel)->Run(call); }, c.start);
    REQUIRE(!given);
    INFO(given.error().Render());
    CHECK(given.error().Render().find("misaligned") != std::string::npos);
    // The first lane whose row it is.
    CHECK(given.error().Render().find(c.start[0] == '8' ? "thread (0,0,0)" : "thread (1,0,0)") !=
          std::string::npos);
  }
}
