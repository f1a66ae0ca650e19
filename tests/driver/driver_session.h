// The start of tests of the driver: cuInit and the primary context of device 0, released at the end.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "driver_api.h"

namespace driver_test {

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

struct Session {
  Session() {
    REQUIRE(cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  }
  ~Session() {
    cuCtxSetCurrent(nullptr);
    cuDevicePrimaryCtxRelease_v2(0);
  }
  CUcontext context = nullptr;
};

inline const std::string kHead = ".version 7.8\n.target sm_70\n.address_size 64\n";

// bump: adds n to *p, once per thread.
inline const std::string kBump = kHead + R"(
.visible .global .align 4 .u32 total;
.visible .entry bump(.param .u64 p, .param .u32 n) {
  .reg .u64 %rd<2>;
  .reg .u32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  atom.global.add.u32 %r2, [%rd1], %r1;
  ret;
}
.visible .entry bump_total(.param .u32 n) {
  .reg .u32 %r<3>;
  ld.param.u32 %r1, [n];
  atom.global.add.u32 %r2, [total], %r1;
  ret;
}
)";

template <typename... Args>
CUresult Run(CUfunction function, unsigned grid, unsigned block, CUstream stream, Args... args) {
  void* parameters[] = {&args..., nullptr};
  return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, nullptr);
}

}  // namespace driver_test
