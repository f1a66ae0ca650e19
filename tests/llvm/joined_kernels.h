// A module whose kernels share a large function that flatten-calls copies into each.
#pragma once

#include <string>

namespace ptx2cpu::llvm_test {

// @walk(x, depth) calls itself, by name or through a pointer, and meets the warp's other lanes. Kernels a, b
// and c store what it returns of tid, 3 tid + 1 and of an element of a local variable; `shared` has a shared
// variable, `wide` another parameter, `shaped` requires a shape, `large` is as large as the function.
inline std::string JoinedKernels(int steps = 4200) {
  const auto filler = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "  mad.lo.u32 %v, %v, 1664525, " + std::to_string(i * 7 + 1) + ";\n";
    return text;
  };
  const std::string head =
      "{\n  .reg .b32 %t, %n, %v, %r; .reg .b64 %out, %at;\n  ld.param.u64 %out, [out];\n"
      "  ld.param.u32 %n, [n];\n  mov.u32 %t, %tid.x;\n  mul.wide.u32 %at, %t, 4;\n"
      "  add.u64 %out, %out, %at;\n  mov.u32 %v, %t;\n";
  const std::string tail = "  call (%r), walk, (%v, %n);\n  st.global.u32 [%out], %r;\n  ret;\n}\n";
  const auto kernel = [&](const std::string& name, const std::string& body,
                          const std::string& more = "(.param .u64 out, .param .u32 n)") {
    return ".visible .entry " + name + more + "\n" + head + body + tail;
  };
  return std::string(
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".func (.param .u32 r) walk(.param .u32 x, .param .u32 depth);\n"
             ".visible .global .u64 way = walk;\n.shared .align 4 .b8 box[64];\n"
             ".func (.param .u32 r) walk(.param .u32 x, .param .u32 depth)\n{\n"
             "  .reg .pred %p, %q; .reg .b32 %v, %d, %o; .reg .b64 %f;\n"
             "  ld.param.u32 %v, [x];\n  ld.param.u32 %d, [depth];\n"
             "  shfl.sync.bfly.b32 %o, %v, 1, 31, 0xffffffff;\n  xor.b32 %v, %v, %o;\n") +
         filler(steps) +
         "  setp.eq.u32 %p, %d, 0;\n  @%p bra DONE;\n  sub.u32 %d, %d, 1;\n  and.b32 %o, %d, 1;\n"
         "  setp.eq.u32 %q, %o, 0;\n  @%q bra POINTER;\n  call (%o), walk, (%v, %d);\n  bra ADD;\n"
         "POINTER:\n  ld.global.u64 %f, [way];\n"
         "  prototype: .callprototype (.param .u32 _) _ (.param .u32 _, .param .u32 _);\n"
         "  call (%o), %f, (%v, %d), prototype;\nADD:\n  add.u32 %v, %v, %o;\n"
         "DONE:\n  st.param.u32 [r], %v;\n  ret;\n}\n" +
         kernel("a", "") + kernel("b", "  bar.sync 0;\n  mad.lo.u32 %v, %v, 3, 1;\n") +
         kernel("c",
                "  .local .align 4 .b8 own[32];\n  mov.u64 %at, own;\n  and.b32 %t, %t, 7;\n"
                "  mul.wide.u32 %at, %t, 4;\n  .reg .b64 %w;\n  mov.u64 %w, own;\n  add.u64 %w, %w, %at;\n"
                "  add.u32 %v, %v, 5;\n  st.local.u32 [%w], %v;\n  ld.local.u32 %v, [%w];\n") +
         kernel("shared", "  mov.u32 %t, box;\n  st.shared.u32 [%t], %n;\n") +
         kernel("wide", "", "(.param .u64 out, .param .u32 n, .param .u64 unused)") +
         kernel("shaped", "", "(.param .u64 out, .param .u32 n) .reqntid 64, 1, 1") +
         kernel("large", filler(steps));
}

}  // namespace ptx2cpu::llvm_test
