// Gathers that are loads of single lanes, or have narrower offsets: results are those of threads one by one,
// also where lanes that are not active have addresses of nothing.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 256;

// How a lane's word %w, below 256, becomes an address; odd ones are far from all memory. Loads of words, and
// of pairs of words at once.
struct Form {
  const char *address, *load;
  bool remains;  // as a gather of 16 lanes
};
constexpr Form kForms[] = {
    // Offsets of 32 bits without a sign.
    {"mul.wide.u32 %at, %w, 4;\n  add.s64 %at, %in, %at;", "ld.global.u32 %v, [%at+4];", true},
    {"or.b32 %w, %w, 0x80000000;\n  shl.b32 %odd, %odd, 1;\n  mul.wide.u32 %at, %w, 4;\n"
     "  add.s64 %at, %in, %at;\n  sub.s64 %at, %at, 0x200000000;",
     "ld.global.u32 %v, [%at+4];", true},
    // With one, from the array's middle.
    {"sub.s32 %w, %w, 128;\n  mul.wide.s32 %at, %w, 4;\n  add.s64 %at, %in, %at;",
     "ld.global.u32 %v, [%at+512];", true},
    {"shl.b32 %w, %w, 2;\n  add.u32 %w, %w, %tile;\n  cvt.u64.u32 %at, %w;\n  cvt.u32.u64 %w, %at;",
     "ld.shared.u32 %v, [%w+4];", true},
    // Addresses of 64 bits.
    {"cvt.u64.u32 %at, %w;\n  mul.lo.u64 %at, %at, %four;\n  add.s64 %at, %in, %at;",
     "ld.global.u32 %v, [%at+4];", false},
    {"and.b32 %w, %w, 254;\n  mul.wide.u32 %at, %w, 4;\n  add.s64 %at, %in, %at;",
     "ld.global.u64 %d, [%at];\n  cvt.u32.u64 %v, %d;\n  shr.u64 %d, %d, 32;\n  cvt.u32.u64 %w, %d;\n"
     "  xor.b32 %v, %v, %w;",
     false},
};

// For each thread: what is at the place of its word, added to 5; 5 alone where `is_guarded` and the word is
// odd.
std::string Kernel(const Form& form, bool is_guarded) {
  const std::string guard = is_guarded ? "  and.b32 %odd, %w, 1;\n" : "  mov.u32 %odd, 0;\n";
  return kHead + R"(.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pfour)
.reqntid 256, 1
{
  .shared .align 8 .b8 window[1032];
  .reg .pred %p; .reg .b32 %t, %w, %v, %s, %odd, %tile, %own; .reg .b64 %in, %out, %four, %at, %d, %far;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u64 %four, [pfour];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 4;
  add.s64 %out, %out, %at;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  mov.u32 %tile, window;
  mad.lo.u32 %own, %t, 4, %tile;
  st.shared.u32 [%own], %v;
  bar.sync 0;
  ld.global.u32 %w, [%out];
  and.b32 %w, %w, 254;
  mul.hi.u32 %v, %v, 511;
  and.b32 %v, %v, 1;
  or.b32 %w, %w, %v;
  mov.u32 %s, 5;
)" + guard +
         "  " + form.address + R"(
  setp.ne.u32 %p, %odd, 0;
  cvt.u64.u32 %far, %odd;
  shl.b64 %far, %far, 45;
  add.s64 %at, %at, %far;
  @%p bra DONE;
  )" + form.load +
         R"(
  add.u32 %s, %s, %v;
DONE:
  st.global.u32 [%out], %s;
  ret;
}
)";
}

std::vector<std::byte> Run(const std::string& text, const lowering::JitOptions& options) {
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  call.arguments = {MixedWords(kThreads + 1), MixedWords(kThreads, 1000), *rt::ParseSpec("u64:4")};
  RunOrFail(*CompileText(text, options), call);
  return call.arguments[1].data;
}

std::string CodeOf(const std::string& text, const std::string& omit, uint32_t width = 0) {
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(),
                                    .target = *lowering::ResolveTarget("x86-64-v4"),
                                    .lane_width = width,
                                    .omit = omit});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  return *code;
}

bool Gathers(const std::string& code) {
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);)
    if (line.find(" call ") != std::string::npos && line.find("llvm.masked.gather") != std::string::npos)
      return true;
  return false;
}

}  // namespace

TEST_CASE("gathers of any address do what threads one by one do", "[gathers]") {
  test::Sample sample(5);
  for (const Form& form : kForms) {
    for (const bool is_guarded : {false, true}) {
      const std::string text = Kernel(form, is_guarded);
      INFO(text);
      const std::vector<std::byte> plain = Run(text, {.lane_width = 1});
      for (const char* target : {"native", "x86-64-v3"}) {
        for (const uint32_t width : {0u, 4u, 8u, 16u, 32u, 64u}) {
          if (sample.Skips()) continue;
          INFO(target << ", " << width);
          CHECK(Run(text, {.target = *lowering::ResolveTarget(target), .lane_width = width}) == plain);
        }
      }
    }
  }
}

TEST_CASE("gathers of wide addresses are loads where gathers are slow", "[gathers]") {
  for (const Form& form : kForms) {
    const std::string text = Kernel(form, false), before = CodeOf(text, "gathers-by-loads"),
                      after = CodeOf(text, "");
    INFO(after);
    CHECK(Gathers(before));
    CHECK(Gathers(after) == form.remains);
    CHECK(after != before);
  }
}

TEST_CASE("of very many gathers only some are loads", "[gathers]") {
  Form many{kForms[4].address, nullptr, false};
  std::string load;
  for (int n = 0; n < 160; ++n)
    load +=
        "  mul.lo.u64 %d, %d, %four;\n  add.s64 %at, %in, %d;\n  ld.global.u32 %w, [%at];\n  add.u32 %v, %v, "
        "%w;\n";
  load = "ld.global.u32 %v, [%at+4];\n  cvt.u64.u32 %d, %v;\n" + load;
  many.load = load.c_str();
  const std::string code = CodeOf(Kernel(many, false), "", 16);
  size_t lanes = 0;
  for (size_t at = code.find("extractelement"); at != std::string::npos;
       at = code.find("extractelement", at + 1))
    ++lanes;
  CHECK(lanes > 1900);
  CHECK(lanes < 3000);
  CHECK(Gathers(code));
}
