// Two devices; contexts of the driver API beside the runtime's own.
#include <dlfcn.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

// Before the first call reads it.
const int kTwoDevices = setenv("PTX2CPU_DEVICES", "2", 1);

const std::string kCode = Module(R"(
.visible .global .align 4 .u32 mine = 10;
.visible .global .attribute(.managed) .align 4 .u32 common = 1;
.visible .entry add(.param .u32 by) {
  .reg .u32 %r<4>; ld.param.u32 %r1, [by];
  atom.global.add.u32 %r2, [mine], %r1; atom.global.add.u32 %r3, [common], %r1; ret;
}
)");

struct Code {
  explicit Code(const Face& of) : face(of), binary(of, {kCode}) {
    binary.Function(&stub, "add");
    binary.Variable(&mine, "mine", 4);
    binary.Managed(reinterpret_cast<void**>(&common), "common", 4);
    binary.End();
  }
  cudaError_t Add(uint32_t by, cudaStream_t stream = nullptr) {
    void* list[] = {&by};
    return face.Call("cudaLaunchKernel", static_cast<const void*>(&stub), dim3{1, 1, 1}, dim3{1, 1, 1},
                     static_cast<void**>(list), size_t{0}, stream);
  }
  uint32_t Mine() {
    uint32_t value = 0;
    REQUIRE(face.Call("cudaMemcpyFromSymbol", static_cast<void*>(&value), static_cast<const void*>(&mine),
                      size_t{4}, size_t{0}, cudaMemcpyDeviceToHost) == cudaSuccess);
    return value;
  }
  const Face& face;
  Registered binary;
  char stub = 0;
  uint32_t mine = 0;
  uint32_t* common = nullptr;
};

int Device(const Face& face) {
  int device = -1;
  REQUIRE(face.Call("cudaGetDevice", &device) == cudaSuccess);
  return device;
}

// Back to the first device at the end of a test.
struct Restore {
  const Face& face;
  ~Restore() { face.Call("cudaSetDevice", 0); }
};

}  // namespace

TEST_CASE("each device has its own variables; managed ones are common", "[cudart]") {
  REQUIRE(kTwoDevices == 0);
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    const Restore restore{face};
    int count = 0;
    REQUIRE(face.Call("cudaGetDeviceCount", &count) == cudaSuccess);
    REQUIRE(count == 2);
    Code code(face);
    REQUIRE(*code.common == 1);
    REQUIRE(code.Add(5) == cudaSuccess);
    REQUIRE(code.Mine() == 15);
    REQUIRE(face.Call("cudaSetDevice", 1) == cudaSuccess);
    REQUIRE(Device(face) == 1);
    REQUIRE(code.Mine() == 10);
    REQUIRE(code.Add(7) == cudaSuccess);
    REQUIRE(code.Mine() == 17);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    REQUIRE(*code.common == 13);
    void *here = nullptr, *there = nullptr;
    REQUIRE(face.Call("cudaGetSymbolAddress", &here, static_cast<const void*>(&code.mine)) == cudaSuccess);
    std::thread([&] { CHECK(Device(face) == 0); }).join();  // a new thread begins at the first
    REQUIRE(face.Call("cudaSetDevice", 0) == cudaSuccess);
    REQUIRE(face.Call("cudaGetSymbolAddress", &there, static_cast<const void*>(&code.mine)) == cudaSuccess);
    REQUIRE(here != there);
    REQUIRE(code.Mine() == 15);
  }
}

TEST_CASE("copies between devices, and access of peers", "[cudart]") {
  const Face& face = Face::Of(13);
  const Restore restore{face};
  void *first = nullptr, *second = nullptr;
  std::array<unsigned char, 32> host{};
  REQUIRE(face.Call("cudaMalloc", &first, size_t{32}) == cudaSuccess);
  REQUIRE(face.Call("cudaMemset", first, 0x37, size_t{32}) == cudaSuccess);
  REQUIRE(face.Call("cudaSetDevice", 1) == cudaSuccess);
  REQUIRE(face.Call("cudaMalloc", &second, size_t{32}) == cudaSuccess);
  REQUIRE(face.Call("cudaMemcpyPeer", second, 1, static_cast<const void*>(first), 0, size_t{32}) ==
          cudaSuccess);
  REQUIRE(face.Call("cudaMemcpy", static_cast<void*>(host.data()), static_cast<const void*>(second),
                    size_t{32}, cudaMemcpyDefault) == cudaSuccess);
  for (const unsigned char byte : host) REQUIRE(byte == 0x37);
  cudaPointerAttributes13 attributes{};
  REQUIRE(face.Call("cudaPointerGetAttributes", &attributes, static_cast<const void*>(second)) ==
          cudaSuccess);
  REQUIRE(attributes.device == 1);
  int can = 0;
  REQUIRE(face.Call("cudaDeviceCanAccessPeer", &can, 1, 0) == cudaSuccess);
  REQUIRE(can == 1);
  REQUIRE(face.Call("cudaDeviceDisablePeerAccess", 0) == cudaErrorPeerAccessNotEnabled);
  REQUIRE(face.Call("cudaDeviceEnablePeerAccess", 0, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaDeviceEnablePeerAccess", 0, 0u) == cudaErrorPeerAccessAlreadyEnabled);
  REQUIRE(face.Call("cudaDeviceDisablePeerAccess", 0) == cudaSuccess);
  REQUIRE(face.Call("cudaMemcpyPeer", second, 7, static_cast<const void*>(first), 0, size_t{32}) ==
          cudaErrorInvalidDevice);
  REQUIRE(face.Last() == cudaErrorInvalidDevice);
  for (void* memory : {first, second}) REQUIRE(face.Call("cudaFree", memory) == cudaSuccess);
}

TEST_CASE("a reset of one device leaves the other as it was", "[cudart]") {
  const Face& face = Face::Of(12);
  const Restore restore{face};
  Code code(face);
  REQUIRE(code.Add(1) == cudaSuccess);
  REQUIRE(face.Call("cudaSetDevice", 1) == cudaSuccess);
  REQUIRE(code.Add(2) == cudaSuccess);
  REQUIRE(code.Mine() == 12);
  REQUIRE(face.Call("cudaDeviceReset") == cudaSuccess);
  REQUIRE(Device(face) == 1);
  REQUIRE(code.Mine() == 10);
  REQUIRE(face.Call("cudaSetDevice", 0) == cudaSuccess);
  REQUIRE(code.Mine() == 11);
}

TEST_CASE("the runtime works in the context that the program made current", "[cudart]") {
  const Face& face = Face::Of(13);
  const Restore restore{face};
  void* const library = dlopen(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto create =
      reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(dlsym(library, "cuCtxCreate_v2"));
  const auto destroy = reinterpret_cast<CUresult (*)(CUcontext)>(dlsym(library, "cuCtxDestroy_v2"));
  const auto current = reinterpret_cast<CUresult (*)(CUcontext*)>(dlsym(library, "cuCtxGetCurrent"));
  Code code(face);
  REQUIRE(code.Add(3) == cudaSuccess);
  CUcontext primary = nullptr, own = nullptr, now = nullptr;
  REQUIRE(current(&primary) == CUDA_SUCCESS);
  REQUIRE(primary != nullptr);  // the first call made it current
  REQUIRE(create(&own, 0, 1) == CUDA_SUCCESS);
  REQUIRE(Device(face) == 1);
  REQUIRE(code.Mine() == 10);  // loaded there anew
  REQUIRE(code.Add(4) == cudaSuccess);
  REQUIRE(code.Mine() == 14);
  REQUIRE(destroy(own) == CUDA_SUCCESS);
  REQUIRE(current(&now) == CUDA_SUCCESS);
  REQUIRE(now == primary);
  REQUIRE(code.Mine() == 13);
  dlclose(library);
}
