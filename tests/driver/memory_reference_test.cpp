// Texture and surface references: what a module's variable holds when the host has bound something to it.
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
    cuMemFree_v2(memory);
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

}  // namespace driver_memory_test
