// A module of PTX 1.3 as a program of that time uses it: parameters in the body, a .tex variable, launches by
// cuParamSet.
#include <catch2/catch.hpp>

#include "tests/driver/memory_context.h"

namespace driver_memory_test {

TEST_CASE("a kernel of PTX 1.3 reads the texture that the host has bound", "[memory]") {
  constexpr char kKernel[] = R"(
.version 1.3
.target sm_10, map_f64_to_f32
.tex .u64 image;
.shared .align 4 .b8 staged[16];
.entry look
{
  .reg .u16 %rh<3>;
  .reg .u32 %r<4>;
  .reg .u64 %rd<6>;
  .reg .f32 %f<12>;
  .param .u64 out;
  .param .f32 factor;
  cvt.u32.u16 %r1, %tid.x;
  cvt.rn.f32.u32 %f1, %r1;
  mov.f32 %f2, 0f3F800000;
  mov.f32 %f3, 0f00000000;
  tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f1, %f2, %f3, %f3}];
  ld.param.f32 %f8, [factor];
  mad.f32 %f9, %f4, %f8, %f2;
  mul24.lo.u32 %r2, %r1, 4;
  cvt.u64.u32 %rd1, %r2;
  mov.u64 %rd2, staged;
  add.u64 %rd3, %rd1, %rd2;
  st.shared.f32 [%rd3+0], %f9;
  bar.sync 0;
  mov.u32 %r3, staged;
  sub.u32 %r2, %r3, %r2;
  add.u32 %r2, %r2, 12;
  ld.shared.f32 %f10, [%r2+0];
  ld.param.u64 %rd4, [out];
  add.u64 %rd5, %rd4, %rd1;
  st.global.f32 [%rd5+0], %f10;
  exit;
}
)";
  UseContext();
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, kKernel) == CUDA_SUCCESS);
  CUfunction look = nullptr;
  REQUIRE(cuModuleGetFunction(&look, module, "look") == CUDA_SUCCESS);
  const float texels[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR d = {};
  d.Width = 4, d.Height = 2, d.Format = CU_AD_FORMAT_FLOAT, d.NumChannels = 1;
  REQUIRE(cuArrayCreate_v2(&array, &d) == CUDA_SUCCESS);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = texels, copy.dstMemoryType = CU_MEMORYTYPE_ARRAY,
  copy.dstArray = array;
  copy.WidthInBytes = sizeof texels[0], copy.Height = 2;
  REQUIRE(cuMemcpy2D_v2(&copy) == CUDA_SUCCESS);
  CUtexref reference = nullptr;
  REQUIRE(cuModuleGetTexRef(&reference, module, "image") == CUDA_SUCCESS);
  REQUIRE(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT) == CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, 16) == CUDA_SUCCESS);
  REQUIRE(cuFuncSetBlockShape(look, 4, 1, 1) == CUDA_SUCCESS);
  REQUIRE(cuParamSetv(look, 0, &memory, 8) == CUDA_SUCCESS);
  REQUIRE(cuParamSetf(look, 8, 0.5f) == CUDA_SUCCESS);
  REQUIRE(cuParamSetSize(look, 12) == CUDA_SUCCESS);
  REQUIRE(cuLaunchGrid(look, 1, 1) == CUDA_SUCCESS);
  float out[4] = {};
  REQUIRE(cuMemcpyDtoH_v2(out, memory, 16) == CUDA_SUCCESS);
  CHECK(out[0] == 4.5f);  // texel 7 of row 1, through shared memory from the other end
  CHECK(out[1] == 4.0f);
  CHECK(out[2] == 3.5f);
  CHECK(out[3] == 3.0f);
  cuModuleUnload(module);
  cuArrayDestroy(array);
  cuMemFree_v2(memory);
}

TEST_CASE("a kernel for 32-bit hosts is not launched", "[memory]") {
  constexpr char kKernel[] =
      ".version 1.4\n.target sm_10\n.entry k (.param .u32 p)\n{\n.reg .u32 %r<3>;\nld.param.u32 %r1, "
      "[p];\nst.global.u32 [%r1+0], %r1;\nexit;\n}\n";
  UseContext();
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, kKernel) == CUDA_SUCCESS);
  CUfunction function = nullptr;
  REQUIRE(cuModuleGetFunction(&function, module, "k") == CUDA_SUCCESS);
  uint32_t address = 16;
  void* parameters[] = {&address};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr) ==
        CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  cuModuleUnload(module);
}

}  // namespace driver_memory_test
