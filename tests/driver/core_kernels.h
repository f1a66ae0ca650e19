// Shared by all groups of core_questions.h: printing of results, and the kernels that they use.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

namespace core_questions {

template <typename... Values>
void TellValues(Values... values) {
  ((std::printf(" %lld", static_cast<long long>(values))), ...);
}

inline void TellEnd() {
  std::printf("\n");
  std::fflush(stdout);
}

// Each line: "label: code values". The values are read after the call, if it succeeded.
#define TELL(label, call, ...)                             \
  do {                                                     \
    const CUresult code_ = call;                           \
    std::printf("%s: %d", label, static_cast<int>(code_)); \
    if (code_ == CUDA_SUCCESS) TellValues(__VA_ARGS__);    \
    TellEnd();                                             \
  } while (false)

inline constexpr char kPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter;
.const .align 8 .b8 table[24];
.visible .entry add(.param .u64 p, .param .u32 n, .param .u16 small) {
  .reg .u64 %rd<3>;
  .reg .u32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  atom.global.add.u32 %r2, [%rd1], %r1;
  ret;
}
.visible .entry nothing() { ret; }
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry required() .reqntid 64, 2, 1 { ret; }
.visible .entry shares() {
  .shared .align 4 .b8 window[1024];
  .reg .u32 %r<2>;
  mov.u32 %r1, window;
  st.shared.u32 [%r1], %r1;
  ret;
}
.visible .entry traps() { trap; }
.visible .entry reads_null() {
  .reg .u64 %rd<2>;
  .reg .u32 %r<2>;
  mov.u64 %rd1, 0;
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;  // else nothing would change, and a compiler may leave both away
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

inline CUcontext context = nullptr;

inline void Start() {
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
}

struct Kernels {
  CUmodule module = nullptr;
  CUfunction add = nullptr, nothing = nullptr, bounded = nullptr, required = nullptr, shares = nullptr;
  Kernels() {
    Start();
    cuModuleLoadData(&module, kPtx);
    cuModuleGetFunction(&add, module, "add");
    cuModuleGetFunction(&nothing, module, "nothing");
    cuModuleGetFunction(&bounded, module, "bounded");
    cuModuleGetFunction(&required, module, "required");
    cuModuleGetFunction(&shares, module, "shares");
  }
};

inline CUresult Launch(CUfunction function, unsigned grid, unsigned block, unsigned shared = 0,
                       void** parameters = nullptr, void** extra = nullptr) {
  return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, nullptr, parameters, extra);
}

}  // namespace core_questions
