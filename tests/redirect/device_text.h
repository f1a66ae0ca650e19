/* A kernel that asks a function in another file for the answer, and what takes its place once they are
 * linked. */
#pragma once

#define PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PTX_OF_KERNEL(CALL)                                                          \
  ".visible .entry answer(.param .u64 to)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n" \
  "ld.param.u64 %rd1, [to];\ncvta.to.global.u64 %rd2, %rd1;\n" CALL "st.global.u32 [%rd2], %r1;\nret;\n}\n"

#define PTX_WHOLE PTX_HEAD PTX_OF_KERNEL("mov.u32 %r1, 42;\n")
#define PTX_CALLER                                                    \
  PTX_HEAD ".extern .func (.param .b32 r) number();\n" PTX_OF_KERNEL( \
      "{\n.param .b32 r;\ncall.uni (r), number, ();\nld.param.b32 %r1, [r];\n}\n")
#define PTX_CALLEE                                                                                     \
  PTX_HEAD                                                                                             \
  ".visible .func (.param .b32 r) number()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, 43;\nst.param.b32 [r], " \
  "%r1;\nret;\n}\n"
