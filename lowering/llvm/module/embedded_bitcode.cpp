// Embeds the bitcode files in the library; CMake sets PTX2CPU_BITCODE_DIR. A compiler cache must not keep the
// result by its headers alone (ccache: no depend mode), since none of them names these files.
#define BITCODE(name)                                      \
  __asm__(                                                 \
      ".section .rodata.ptx2cpu_bitcode,\"a\",@progbits\n" \
      ".balign 16\n"                                       \
      ".globl ptx2cpu_bitcode_" #name                      \
      "\n"                                                 \
      "ptx2cpu_bitcode_" #name                             \
      ":\n"                                                \
      ".incbin \"" PTX2CPU_BITCODE_DIR "/" #name           \
      ".bc\"\n"                                            \
      ".globl ptx2cpu_bitcode_" #name                      \
      "_end\n"                                             \
      "ptx2cpu_bitcode_" #name                             \
      "_end:\n"                                            \
      ".byte 0\n"                                          \
      ".text\n");
#include "lowering/llvm/module/bitcode.def"
#undef BITCODE
