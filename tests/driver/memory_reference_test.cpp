// Texture and surface references: the value of a module's variable when the host has bound memory to it.
#include <catch2/catch.hpp>
#include <cstring>

#include "memory_context.h"
#include "runtime/abi/texture.h"

namespace driver_memory_test {

namespace {

// To the linker of a module, a reference is a variable of 8 bytes.
constexpr char kModule[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .u64 image;
.visible .global .align 8 .u64 canvas;
.visible .global .align 4 .u32 number;
)";

struct TestModule {
  TestModule() {
    UseContext();
    REQUIRE(cuModuleLoadData(&handle, kModule) == CUDA_SUCCESS);
  }
  ~TestModule() { cuModuleUnload(handle); }
  const void* Held(const char* name) {
    CUdeviceptr variable = 0;
    size_t bytes = 0;
    REQUIRE(cuModuleGetGlobal_v2(&variable, &bytes, handle, name) == CUDA_SUCCESS);
    const void* held = nullptr;
    std::memcpy(&held, reinterpret_cast<const void*>(variable), sizeof held);
    return held;
  }
  CUmodule handle = nullptr;
};

}  // namespace

TEST_CASE("references: the variable holds what is bound", "[memory]") {
  TestModule module;
  CUtexref reference = nullptr, same = nullptr;
  REQUIRE(cuModuleGetTexRef(&reference, module.handle, "image") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetTexRef(&same, module.handle, "image") == CUDA_SUCCESS);
  CHECK(same == reference);
  CHECK(cuModuleGetTexRef(&same, module.handle, "number") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetTexRef(&same, module.handle, "nothing") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuTexRefDestroy(reference) == CUDA_ERROR_INVALID_VALUE);
  CHECK(module.Held("image") == nullptr);
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS);
  REQUIRE(cuTexRefSetFormat(reference, CU_AD_FORMAT_UNSIGNED_INT8, 4) == CUDA_SUCCESS);
  size_t offset = 9;
  REQUIRE(cuTexRefSetAddress_v2(&offset, reference, memory, 400) == CUDA_SUCCESS);
  CHECK(offset == 0);
  const auto* seen = static_cast<const ptx2cpu_texture*>(module.Held("image"));
  REQUIRE(seen != nullptr);
  CHECK(seen->kind == PTX2CPU_KIND_TEXTURE_REFERENCE);
  CHECK(seen->image.shape == PTX2CPU_SHAPE_LINEAR);
  CHECK(seen->image.level[0].width == 100);
  CHECK(seen->as_float == 1);
  CHECK(seen->address[0] == PTX2CPU_ADDRESS_CLAMP);
  // What is set while it is bound counts at once.
  REQUIRE(cuTexRefSetFlags(reference, CU_TRSF_READ_AS_INTEGER) == CUDA_SUCCESS);
  CHECK(static_cast<const ptx2cpu_texture*>(module.Held("image"))->as_float == 0);
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR d = {};
  d.Width = 6, d.Height = 3, d.Format = CU_AD_FORMAT_FLOAT, d.NumChannels = 2;
  REQUIRE(cuArrayCreate_v2(&array, &d) == CUDA_SUCCESS);
  REQUIRE(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT) == CUDA_SUCCESS);
  REQUIRE(cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR) == CUDA_SUCCESS);
  seen = static_cast<const ptx2cpu_texture*>(module.Held("image"));
  CHECK(seen->image.shape == PTX2CPU_SHAPE_2D);
  CHECK(seen->image.channels == 2);
  CHECK(seen->linear_filter == 1);
  d.Height = 2;
  REQUIRE(cuTexRefSetAddress2D_v3(reference, &d, memory, 512) == CUDA_SUCCESS);
  CHECK(static_cast<const ptx2cpu_texture*>(module.Held("image"))->image.shape == PTX2CPU_SHAPE_PITCH);
  REQUIRE(cuTexRefSetAddress_v2(&offset, reference, 0, 0) == CUDA_SUCCESS);
  CHECK(module.Held("image") == nullptr);  // unbound

  CUsurfref surface = nullptr;
  CUarray told = nullptr;
  REQUIRE(cuModuleGetSurfRef(&surface, module.handle, "canvas") == CUDA_SUCCESS);
  CHECK(cuSurfRefGetArray(&told, surface) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuSurfRefSetArray(surface, array, 0) == CUDA_SUCCESS);
  REQUIRE(cuSurfRefGetArray(&told, surface) == CUDA_SUCCESS);
  CHECK(told == array);
  const auto* canvas = static_cast<const ptx2cpu_surface*>(module.Held("canvas"));
  REQUIRE(canvas != nullptr);
  CHECK(canvas->kind == PTX2CPU_KIND_SURFACE_REFERENCE);
  CHECK(canvas->image.level[0].width == 6);
  cuArrayDestroy(array);
  cuMemFree_v2(memory);
}

TEST_CASE("references: a module that is loaded again has new ones", "[memory]") {
  for (int round = 0; round < 3; ++round) {
    TestModule module;
    CUtexref reference = nullptr;
    CUdeviceptr memory = 0, bound = 0;
    REQUIRE(cuModuleGetTexRef(&reference, module.handle, "image") == CUDA_SUCCESS);
    CHECK(cuTexRefGetAddress_v2(&bound, reference) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cuMemAlloc_v2(&memory, 512) == CUDA_SUCCESS);
    REQUIRE(cuTexRefSetAddress_v2(nullptr, reference, memory, 512) == CUDA_SUCCESS);
    REQUIRE(cuTexRefGetAddress_v2(&bound, reference) == CUDA_SUCCESS);
    CHECK(bound == memory);
    if (round == 1)
      REQUIRE(cuTexRefSetAddress_v2(nullptr, reference, 0, 0) ==
              CUDA_SUCCESS);  // what was bound is still reported
    cuMemFree_v2(memory);
    cuModuleUnload(module.handle);
    CHECK(cuTexRefGetAddress_v2(&bound, reference) == CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_CASE("module variables are memory to copies", "[memory]") {
  TestModule module;
  CUdeviceptr variable = 0;
  size_t bytes = 0;
  REQUIRE(cuModuleGetGlobal_v2(&variable, &bytes, module.handle, "number") == CUDA_SUCCESS);
  CHECK(bytes == 4);
  unsigned value = 0x12345678, out = 0;
  REQUIRE(cuMemcpyHtoD_v2(variable, &value, 4) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8_v2(variable, 0xff, 1) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH_v2(&out, variable, 4) == CUDA_SUCCESS);
  CHECK(out == 0x123456ff);
  CHECK(cuMemcpyHtoD_v2(variable + 1, &value, 4) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(variable) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a kernel reads and writes what the host has bound", "[memory]") {
  constexpr char kKernel[] = R"(
.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.visible .entry look(.param .u64 out, .param .u64 object, .param .u64 canvas) {
  .reg .b64 %rd<4>;
  .reg .f32 %f<7>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [object];
  ld.param.u64 %rd3, [canvas];
  mov.f32 %f1, 0f40000000;
  mov.f32 %f2, 0f3FC00000;
  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd2, {%f1, %f2}];
  st.global.f32 [%rd1], %f3;
  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [image, {%f1, %f2}];
  st.global.f32 [%rd1+4], %f3;
  mov.u32 %r1, 8;
  mov.u32 %r2, 1;
  sust.b.2d.b32.trap [%rd3, {%r1, %r2}], {%f3};
  ret;
}
)";
  UseContext();
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, kKernel) == CUDA_SUCCESS);
  CUfunction look = nullptr;
  REQUIRE(cuModuleGetFunction(&look, module, "look") == CUDA_SUCCESS);
  float texels[3][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}, out[2] = {}, painted = 0;
  CUarray arrays[2] = {};
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = 4, d.Height = 3, d.Format = CU_AD_FORMAT_FLOAT, d.NumChannels = 1,
  d.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  for (CUarray& array : arrays) REQUIRE(cuArray3DCreate_v2(&array, &d) == CUDA_SUCCESS);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = texels, copy.dstMemoryType = CU_MEMORYTYPE_ARRAY,
  copy.dstArray = arrays[0];
  copy.WidthInBytes = sizeof texels[0], copy.Height = 3;
  REQUIRE(cuMemcpy2D_v2(&copy) == CUDA_SUCCESS);
  CUDA_RESOURCE_DESC r = {};
  CUDA_TEXTURE_DESC t = {};
  r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = arrays[0];
  CUtexObject object = 0;
  CUsurfObject canvas = 0;
  REQUIRE(cuTexObjectCreate(&object, &r, &t, nullptr) == CUDA_SUCCESS);
  r.res.array.hArray = arrays[1];
  REQUIRE(cuSurfObjectCreate(&canvas, &r) == CUDA_SUCCESS);
  CUtexref reference = nullptr;
  REQUIRE(cuModuleGetTexRef(&reference, module, "image") == CUDA_SUCCESS);
  REQUIRE(cuTexRefSetArray(reference, arrays[0], CU_TRSA_OVERRIDE_FORMAT) == CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, 8) == CUDA_SUCCESS);
  void* parameters[] = {&memory, &object, &canvas};
  for (const CUfilter_mode filter : {CU_TR_FILTER_MODE_POINT, CU_TR_FILTER_MODE_LINEAR}) {
    REQUIRE(cuTexRefSetFilterMode(reference, filter) == CUDA_SUCCESS);
    REQUIRE(cuLaunchKernel(look, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyDtoH_v2(out, memory, 8) == CUDA_SUCCESS);
    CHECK(out[0] == 6.0f);                                               // (2, 1.5) is in texel 2 of row 1
    CHECK(out[1] == (filter == CU_TR_FILTER_MODE_POINT ? 6.0f : 5.5f));  // on its edge to texel 1
  }
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY, back.srcArray = arrays[1], back.srcXInBytes = 8, back.srcY = 1;
  back.dstMemoryType = CU_MEMORYTYPE_HOST, back.dstHost = &painted, back.WidthInBytes = 4, back.Height = 1;
  REQUIRE(cuMemcpy2D_v2(&back) == CUDA_SUCCESS);
  CHECK(painted == 5.5f);
  cuTexObjectDestroy(object);
  cuSurfObjectDestroy(canvas);
  for (CUarray array : arrays) cuArrayDestroy(array);
  cuMemFree_v2(memory);
  cuModuleUnload(module);
}

}  // namespace driver_memory_test
