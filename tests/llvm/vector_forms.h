// Kernels of a short body, and the LLVM IR that they become.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

namespace ptx2cpu::llvm_test::forms {

// A kernel (in: u64, out: u64) whose threads have %i, their number, and %v, their word of in.
inline std::string Kernel(const std::string& body) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %i, %n, %v, %a<8>; .reg .f32 %f<8>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %at, %out, %at;
  ld.global.u32 %v, [%in];
)" + body +
         R"(
  st.global.u32 [%at], %v;
  ret;
}
)";
}

// Optimised LLVM IR.
inline std::string CodeOf(const std::string& ptx, const std::string& target = "x86-64-v4") {
  // Gathers stay what they are.
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(),
                                    .target = *lowering::ResolveTarget(target),
                                    .omit = "gathers-by-loads"});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(ptx, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return *text;
}

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// 100 rounds, and something in each.
inline std::string Rounds(const std::string& round) {
  return Kernel("  mov.u32 %n, 0;\nagain:\n" + round +
                "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p0, %n, 100;\n  @%p0 bra again;\n");
}

inline const std::string kMix = "  shf.l.wrap.b32 %a0, %v, %v, 7;\n  xor.b32 %v, %a0, %n;\n";
inline std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}
inline size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace ptx2cpu::llvm_test::forms
