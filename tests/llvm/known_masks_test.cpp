// Accesses under masks that are known: the lanes of a tree's last steps, at either end of a vector. Results
// are those of threads one by one, and no such access is left under its mask.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 64;

struct Element {
  std::string type, registers;
  uint32_t bytes;
};

// Two arrays in shared memory: the lower threads add up the first and, with `upper`, the upper ones the
// second, half as many in each step. Each thread stores what is left in the places of the one opposite.
std::string Trees(const Element& element, bool upper) {
  const std::string bytes = std::to_string(element.bytes), type = element.type;
  std::string text = kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid " +
                     std::to_string(kThreads) + "\n{\n  .reg .pred %p<4>; .reg .b32 %t, %at, %r<4>;\n" +
                     "  .reg .b64 %in, %out, %d<4>; .reg " + element.registers + " %v<4>;\n" +
                     "  .shared .align 16 .b8 low[" + std::to_string(kThreads * element.bytes) +
                     "];\n  .shared .align 16 .b8 high[" + std::to_string(kThreads * element.bytes) + "];\n";
  text += R"(
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  mul.lo.u32 %at, %t, )" +
          bytes + ";\n  cvt.u64.u32 %d0, %at;\n  add.s64 %in, %in, %d0;\n  ld.global." + type +
          R"( %v0, [%in];
  mov.u32 %r1, low;
  add.u32 %r1, %r1, %at;
  mov.u32 %r2, high;
  add.u32 %r2, %r2, %at;
)" + "  st.shared." +
          type + " [%r1], %v0;\n  st.shared." + type + " [%r2], %v0;\n  bar.sync 0;\n";
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    const std::string number = std::to_string(half), away = std::to_string(half * element.bytes);
    auto step = [&](const std::string& name, const std::string& skip, const std::string& at,
                    const std::string& other) {
      const std::string end = name + number;
      text += "  " + skip + "\n  @%p0 bra " + end + ";\n  ld.shared." + type + " %v1, [" + at +
              "];\n  ld.shared." + type + " %v2, [" + at + other + "];\n  add." + type +
              " %v1, %v1, %v2;\n  st.shared." + type + " [" + at + "], %v1;\n" + end + ":\n  bar.sync 0;\n";
    };
    step("LOW", "setp.ge.u32 %p0, %t, " + number + ";", "%r1", "+" + away);
    if (upper)
      step("HIGH", "setp.lt.u32 %p0, %t, " + std::to_string(kThreads - half) + ";", "%r2", "+-" + away);
  }
  const std::string last = std::to_string((kThreads - 1) * element.bytes);
  return text + "  mov.u32 %r1, low;\n  mov.u32 %r2, high;\n  sub.u32 %r3, " + last +
         ", %at;\n  add.u32 %r1, %r1, %r3;\n  add.u32 %r2, %r2, %r3;\n  ld.shared." + type +
         " %v1, [%r1];\n  ld.shared." + type +
         " %v2, [%r2];\n  cvt.u64.u32 %d0, %at;\n  add.s64 %d0, %d0, %d0;\n  add.s64 %out, %out, %d0;\n  "
         "st.global." +
         type + " [%out], %v1;\n  st.global." + type + " [%out+" + bytes + "], %v2;\n  ret;\n}\n";
}

std::vector<std::byte> Run(const std::string& text, const Element& element,
                           const lowering::JitOptions& options) {
  const SharedKernel kernel = CompileText(text, options);
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t count : {1u, 2u}) {
    auto parsed = rt::ParseSpec("inout:" + element.type + ":[0]");
    REQUIRE(parsed);
    parsed->data.resize(size_t{count} * kThreads * element.bytes);
    for (size_t i = 0; i < parsed->data.size(); ++i)
      parsed->data[i] = static_cast<std::byte>(0x3f - i * 7 % 13);
    call.arguments.push_back(std::move(*parsed));
  }
  RunOrFail(*kernel, call);
  return call.arguments[1].data;
}

}  // namespace

TEST_CASE("trees in shared memory leave the same in every place", "[known-masks][long]") {
  for (const Element& element : {Element{"u32", ".b32", 4}, Element{"f32", ".f32", 4},
                                 Element{"f64", ".f64", 8}, Element{"u16", ".b16", 2}}) {
    const std::string text = Trees(element, true);
    const std::vector<std::byte> plain = Run(text, element, {.lane_width = 1});
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      for (const uint32_t width : {0u, 8u, 16u, 32u, 64u}) {
        INFO(element.type << ", " << target << ", width " << width);
        CHECK(Run(text, element, {.target = *lowering::ResolveTarget(target), .lane_width = width}) == plain);
      }
    }
  }
}

TEST_CASE("accesses of known lanes are plain ones", "[known-masks]") {
  for (const Element& element : {Element{"u32", ".b32", 4}, Element{"f64", ".f64", 8}}) {
    for (const char* target : {"x86-64-v4", "x86-64-v3"}) {
      INFO(element.type << ", " << target);
      auto jit = lowering::Jit::Create(
          {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = 16});
      REQUIRE(jit);
      const auto code =
          (*jit)->Explain(BuildKernel(Trees(element, false), "k"), "k", lowering::Jit::Stage::kOptimized);
      REQUIRE(code);
      CHECK(code->find("call void @llvm.masked.store") == std::string::npos);
    }
  }
}
