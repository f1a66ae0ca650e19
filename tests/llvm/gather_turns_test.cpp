// What rows of threads gather from a tile side by side is read at once and transposed: results are those of
// threads one by one.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kColumns = 32, kThreads = 256, kWords = 1024;

// A tile of 32 rows of `pitch` elements, in blocks of 32 x 8: out[y][x] = tile[x][y] + tile[x][y + 8].
// `updates`: each thread also increments the first element that it has read.
std::string Transposed(uint32_t bytes, uint32_t pitch, bool updates) {
  const std::string type = bytes == 8 ? "u64" : "u32", size = std::to_string(bytes),
                    r = bytes == 8 ? "%d" : "%r";
  std::string text = kHead + R"(.visible .entry k(.param .u64 pin, .param .u64 pout)
.reqntid 32, 8
{
  .reg .b32 %x, %y, %t, %at, %s, %r0, %r1; .reg .b64 %in, %out, %a, %d0, %d1;
  .shared .align 8 .b8 tile[8192];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %t, %y, 32, %x;
  mul.wide.u32 %a, %t, 4;
  add.s64 %in, %in, %a;
  shl.b32 %at, %t, 2;
  mov.u32 %s, tile;
  add.u32 %at, %at, %s;
)";
  for (uint32_t part = 0; part < 8; ++part) {
    text += "  ld.global.u32 %r0, [%in+" + std::to_string(part % 4 * kThreads * 4) +
            "];\n  st.shared.u32 [%at+" + std::to_string(part * kThreads * 4) + "], %r0;\n";
  }
  text += "  bar.sync 0;\n  mad.lo.u32 %at, %x, " + std::to_string(pitch * bytes) +
          ", %s;\n  mad.lo.u32 %at, %y, " + size + ", %at;\n  mul.wide.u32 %a, %t, " + size +
          ";\n  add.s64 %out, %out, %a;\n  ld.shared." + type + " " + r + "0, [%at];\n";
  if (updates)
    text += "  add." + type + " " + r + "0, " + r + "0, 1;\n  st.shared." + type + " [%at], " + r + "0;\n";
  text += "  ld.shared." + type + " " + r + "1, [%at+" + std::to_string(8 * bytes) + "];\n";
  return text + "  add." + type + " " + r + "0, " + r + "0, " + r + "1;\n  st.global." + type + " [%out], " +
         r + "0;\n  ret;\n}\n";
}

std::vector<uint32_t> Run(const std::string& text, uint32_t width, const char* target) {
  harness::KernelCall call{{1, 1, 1}, {kColumns, kThreads / kColumns, 1}, 0, {}, {}, {}};
  const SharedKernel kernel =
      CompileText(text, {.target = *lowering::ResolveTarget(target), .lane_width = width});
  call.arguments = {MixedWords(kWords), MixedWords(2 * kThreads, 1000)};
  RunOrFail(*kernel, call);
  std::vector<uint32_t> words(2 * kThreads);
  std::memcpy(words.data(), call.arguments[1].data.data(), 4 * words.size());
  return words;
}

size_t Gathers(const std::string& text, const std::string& omit) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .omit = omit});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  size_t count = 0;
  const std::string call = "@llvm.masked.gather";
  for (size_t at = code->find("call <"); at != std::string::npos; at = code->find("call <", at + 1))
    count += code->substr(at, code->find('\n', at) - at).find(call) != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("columns of a tile that are made of its rows hold what each row of threads gathers", "[turns]") {
  test::Sample sample(5);
  for (const uint32_t bytes : {4u, 8u}) {
    for (const uint32_t pitch : {16u, 17u, 31u}) {
      for (const bool updates : {false, true}) {
        const std::string text = Transposed(bytes, pitch, updates && pitch != 31);
        const std::vector<uint32_t> expected = Run(text, 1, "native");
        for (const char* target : {"native", "x86-64-v3"}) {
          for (const uint32_t width : {0u, 8u, 16u, 32u}) {
            if (sample.Skips()) continue;
            INFO(text << target << ", " << width);
            CHECK(Run(text, width, target) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("no gather is left of columns that rows of threads read", "[turns]") {
  for (const uint32_t bytes : {4u, 8u}) {
    const std::string text = Transposed(bytes, 17, false);
    INFO(text);
    CHECK(Gathers(text, "gathers-by-loads") == 0);
    CHECK(Gathers(text, "gathers-by-loads,gather-turns") >= 2);
    // What a turn stores may be what the next one gathers.
    CHECK(Gathers(Transposed(bytes, 17, true), "gathers-by-loads") >= 2);
  }
}
