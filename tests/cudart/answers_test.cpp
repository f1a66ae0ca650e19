// The results of valid and invalid calls. Where nothing else is stated, the numbers are those of an H200 with
// CUDA 13.0.
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

const std::string kKernels = Module(R"(
.visible .entry nothing() { ret; }
.visible .entry arguments(.param .u32 a, .param .f64 b, .param .u8 c) { ret; }
.visible .entry wild(.param .u64 p) {
  .reg .u64 %rd<2>; .reg .u32 %r<2>; ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; ret;
}
)");
const char kNothing = 0, kArguments = 0, kWild = 0;

struct Kernels {
  explicit Kernels(const Face& face) : binary(face, {kKernels}) {
    binary.Function(&kNothing, "nothing");
    binary.Function(&kArguments, "arguments");
    binary.Function(&kWild, "wild");
    binary.End();
  }
  Registered binary;
};

cudaError_t Launch(const Face& face, const void* stub, dim3 grid, dim3 block, size_t shared = 0,
                   void** arguments = nullptr) {
  return face.Call("cudaLaunchKernel", stub, grid, block, arguments, shared, cudaStream_t{});
}

}  // namespace

TEST_CASE("the last error is the thread's, read once and then gone", "[cudart]") {
  for (const int major : kMajors) {
    const Face& face = Face::Of(major);
    REQUIRE(face.Last() == cudaSuccess);
    REQUIRE(face.Call("cudaSetDevice", 99) == cudaErrorInvalidDevice);
    REQUIRE(face.Call("cudaFree", static_cast<void*>(nullptr)) == cudaSuccess);  // success leaves it
    std::thread([&] { CHECK(face.Last() == cudaSuccess); }).join();
    REQUIRE(face.Call("cudaPeekAtLastError") == cudaErrorInvalidDevice);
    REQUIRE(face.Last() == cudaErrorInvalidDevice);
    REQUIRE(face.Last() == cudaSuccess);
  }
}

TEST_CASE("errors have names and texts", "[cudart]") {
  const Face& face = Face::Of(13);
  const auto name = face.Get<const char*(cudaError_t)>("cudaGetErrorName");
  const auto text = face.Get<const char*(cudaError_t)>("cudaGetErrorString");
  REQUIRE(std::string(name(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
  REQUIRE(std::string(text(cudaSuccess)) == "no error");
  REQUIRE(std::string(text(cudaErrorMemoryAllocation)) == "out of memory");
  REQUIRE(std::string(name(static_cast<cudaError_t>(12345))) == "unrecognized error code");
}

TEST_CASE("launches of a wrong shape", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Kernels kernels(face);
    // Known of CUDA 11 and 12: the shape is a wrong configuration; since 13 a wrong value.
    const cudaError_t shape = major < 13 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
    REQUIRE(Launch(face, &kNothing, {1, 1, 1}, {2000, 1, 1}) == shape);
    REQUIRE(Launch(face, &kNothing, {1, 1, 1}, {0, 1, 1}) == shape);
    REQUIRE(Launch(face, &kNothing, {0, 1, 1}, {1, 1, 1}) == shape);
    REQUIRE(Launch(face, &kNothing, {1, 70000, 1}, {1, 1, 1}) == shape);
    REQUIRE(face.Last() == shape);
    REQUIRE(Launch(face, &kNothing, {1, 1, 1}, {32, 1, 1}, 60000) == cudaErrorInvalidValue);
    REQUIRE(Launch(face, &kNothing, {1, 1, 1}, {32, 1, 1}, size_t{5} << 30) == cudaErrorInvalidValue);
    REQUIRE(face.Call("cudaLaunchCooperativeKernel", static_cast<const void*>(&kNothing), dim3{100000, 1, 1},
                      dim3{1024, 1, 1}, static_cast<void**>(nullptr), size_t{0},
                      cudaStream_t{}) == cudaErrorCooperativeLaunchTooLarge);
    REQUIRE(Launch(face, &kNothing, {1, 1, 1}, {32, 1, 1}) == cudaSuccess);
    REQUIRE(face.Last() == cudaErrorCooperativeLaunchTooLarge);
  }
}

TEST_CASE("attributes of functions", "[cudart]") {
  const Face& face = Face::Of(13);
  Kernels kernels(face);
  const void* const nothing = &kNothing;
  cudaFuncAttributes attributes{};
  REQUIRE(face.Call("cudaFuncGetAttributes", &attributes, nothing) == cudaSuccess);
  REQUIRE(attributes.maxThreadsPerBlock == 1024);
  REQUIRE(attributes.ptxVersion == 80);
  REQUIRE(attributes.sharedSizeBytes == 0);
  REQUIRE(attributes.maxDynamicSharedSizeBytes == 48 * 1024);
  REQUIRE(face.Call("cudaFuncGetAttributes", &attributes, static_cast<const void*>(nullptr)) ==
          cudaErrorInvalidDeviceFunction);
  REQUIRE(face.Call("cudaFuncGetAttributes", &attributes, static_cast<const void*>(&attributes)) ==
          cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaFuncGetAttributes", static_cast<cudaFuncAttributes*>(nullptr), nothing) ==
          cudaErrorInvalidValue);
  const auto set = [&](unsigned attribute, int value) {
    return face.Call("cudaFuncSetAttribute", nothing, static_cast<cudaFuncAttribute>(attribute), value);
  };
  REQUIRE(set(8, 300000) == cudaErrorInvalidValue);
  REQUIRE(set(8, 60000) == cudaSuccess);
  REQUIRE(set(99, 1) == cudaErrorInvalidValue);
  REQUIRE(Launch(face, nothing, {1, 1, 1}, {32, 1, 1}, 60000) == cudaSuccess);
  const char* name = nullptr;
  REQUIRE(face.Call("cudaFuncGetName", &name, nothing) == cudaSuccess);
  REQUIRE(std::string(name) == "nothing");
  size_t offset = 0, size = 0;
  REQUIRE(face.Call("cudaFuncGetParamInfo", static_cast<const void*>(&kArguments), size_t{2}, &offset,
                    &size) == cudaSuccess);
  REQUIRE((offset == 16 && size == 1));
  REQUIRE(face.Call("cudaFuncGetParamInfo", static_cast<const void*>(&kArguments), size_t{3}, &offset,
                    &size) == cudaErrorInvalidValue);
  size_t count = 0;
  REQUIRE(face.Call("cudaFuncGetParamCount", static_cast<const void*>(&kArguments), &count) == cudaSuccess);
  REQUIRE(count == 3);
  cudaKernel_t kernel = nullptr;
  REQUIRE(face.Call("cudaGetKernel", &kernel, static_cast<const void*>(&offset)) ==
          cudaErrorInvalidDeviceFunction);
  int blocks = -1;
  REQUIRE(face.Call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, nothing, 0, size_t{0}) ==
          cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, nothing, 2000, size_t{0}) ==
          cudaSuccess);
  REQUIRE(blocks == 0);
}

TEST_CASE("questions about devices", "[cudart]") {
  const Face& face = Face::Of(13);
  int number = 0;
  REQUIRE(face.Call("cudaGetDeviceCount", &number) == cudaSuccess);
  REQUIRE(number >= 1);
  REQUIRE(face.Call("cudaGetDeviceCount", static_cast<int*>(nullptr)) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaGetDevice", static_cast<int*>(nullptr)) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaDeviceGetAttribute", &number, static_cast<cudaDeviceAttr>(10), 0) == cudaSuccess);
  REQUIRE(number == 32);
  REQUIRE(face.Call("cudaDeviceGetAttribute", &number, static_cast<cudaDeviceAttr>(9999), 0) ==
          cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaDeviceGetAttribute", &number, static_cast<cudaDeviceAttr>(10), 55) ==
          cudaErrorInvalidDevice);
  unsigned flags = 0;
  REQUIRE(face.Call("cudaSetDeviceFlags", 0x1000u) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaGetDeviceFlags", &flags) == cudaSuccess);
  REQUIRE((flags & 8) == 8);  // host memory is mapped
  REQUIRE(face.Call("cudaDeviceEnablePeerAccess", 0, 0u) == cudaErrorPeerAccessUnsupported);
  REQUIRE(face.Call("cudaDeviceDisablePeerAccess", 0) == cudaErrorPeerAccessNotEnabled);
  REQUIRE(face.Call("cudaDeviceCanAccessPeer", &number, 0, 0) == cudaSuccess);
  REQUIRE(number == 0);
  REQUIRE(face.Call("cudaDeviceSetLimit", static_cast<cudaLimit>(77), size_t{1}) == cudaErrorInvalidValue);
  int version = 0;
  for (const auto& [major, expected] : {std::pair{11, 11080}, {12, 12090}, {13, 13000}}) {
    REQUIRE(Face::Of(major).Call("cudaRuntimeGetVersion", &version) == cudaSuccess);
    REQUIRE(version == expected);
  }
}

TEST_CASE("memory: wrong pointers, kinds and sizes", "[cudart]") {
  const Face& face = Face::Of(13);
  void *p = nullptr, *null = nullptr;
  REQUIRE(face.Call("cudaMalloc", static_cast<void**>(nullptr), size_t{4}) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaMalloc", &p, size_t{1} << 60) == cudaErrorMemoryAllocation);
  REQUIRE(face.Call("cudaMalloc", &p, size_t{0}) == cudaSuccess);
  REQUIRE(p == nullptr);
  REQUIRE(face.Call("cudaMallocManaged", &p, size_t{0}, 1u) == cudaSuccess);
  REQUIRE(face.Call("cudaFree", reinterpret_cast<void*>(0x1234)) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaFreeArray", cudaArray_t{}) == cudaSuccess);
  REQUIRE(face.Call("cudaHostAlloc", &p, size_t{64}, 0x100u) == cudaErrorInvalidValue);
  int host[8] = {};
  const auto copy = [&](void* to, const void* from, size_t bytes, unsigned kind) {
    return face.Call("cudaMemcpy", to, from, bytes, static_cast<cudaMemcpyKind>(kind));
  };
  REQUIRE(face.Call("cudaMalloc", &p, size_t{1000}) == cudaSuccess);
  REQUIRE(copy(host, host + 4, 4, 9) == cudaErrorInvalidMemcpyDirection);
  REQUIRE(copy(nullptr, nullptr, 0, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(copy(nullptr, host, 4, cudaMemcpyHostToHost) == cudaErrorInvalidValue);
  REQUIRE(copy(p, host, size_t{1} << 26, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  REQUIRE(copy(p, host, 4, cudaMemcpyHostToHost) == cudaSuccess);
  REQUIRE(copy(p, host, 4, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  REQUIRE(copy(host, p, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  REQUIRE(copy(p, host, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  REQUIRE(copy(host, host + 4, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaMemset", null, 0, size_t{4}) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaMemset", null, 0, size_t{0}) == cudaSuccess);
  REQUIRE(face.Call("cudaMemset", p, 0, size_t{1} << 30) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaMemcpy2D", p, size_t{4}, static_cast<const void*>(host), size_t{8}, size_t{8},
                    size_t{2}, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  REQUIRE(face.Call("cudaFreeHost", p) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaFree", p) == cudaSuccess);
  REQUIRE(face.Call("cudaFree", p) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaHostRegister", null, size_t{4}, 0u) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaHostUnregister", static_cast<void*>(host)) == cudaErrorHostMemoryNotRegistered);
  REQUIRE(face.Last() == cudaErrorHostMemoryNotRegistered);
}

TEST_CASE("streams and events: wrong handles and flags", "[cudart]") {
  const Face& face = Face::Of(13);
  void* handle = nullptr;
  cudaEvent_t first = nullptr, second = nullptr;
  float milliseconds = 0;
  REQUIRE(face.Call("cudaStreamCreateWithFlags", reinterpret_cast<cudaStream_t*>(&handle), 99u) ==
          cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaEventCreateWithFlags", reinterpret_cast<cudaEvent_t*>(&handle), 99u) ==
          cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaStreamCreate", static_cast<cudaStream_t*>(nullptr)) == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaStreamDestroy", cudaStream_t{}) == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaEventDestroy", cudaEvent_t{}) == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaEventRecord", cudaEvent_t{}, cudaStream_t{}) == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaEventSynchronize", cudaEvent_t{}) == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaStreamWaitEvent", cudaStream_t{}, cudaEvent_t{}, 0u) ==
          cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaLaunchHostFunc", cudaStream_t{}, cudaHostFn_t{}, static_cast<void*>(nullptr)) ==
          cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaEventCreate", &first) == cudaSuccess);
  REQUIRE(face.Call("cudaEventCreate", &second) == cudaSuccess);
  REQUIRE(face.Call("cudaEventElapsedTime", &milliseconds, first, second) == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaEventQuery", first) == cudaSuccess);
  REQUIRE(face.Call("cudaEventDestroy", first) == cudaSuccess);
  REQUIRE(face.Call("cudaEventDestroy", second) == cudaSuccess);
  REQUIRE(face.Last() == cudaErrorInvalidResourceHandle);
}

TEST_CASE("driver functions by name", "[cudart]") {
  void* function = nullptr;
  unsigned status = 77;
  for (const int major : {12, 13}) {
    const Face& face = Face::Of(major);
    REQUIRE(face.Call("cudaGetDriverEntryPoint", "cuMemAlloc", &function, 0ull, &status) == cudaSuccess);
    REQUIRE((status == 0 && function != nullptr));
    REQUIRE(face.Call("cudaGetDriverEntryPoint", "cuNoSuch", &function, 0ull, &status) == cudaSuccess);
    REQUIRE((status == 1 && function == nullptr));
    REQUIRE(face.Call("cudaGetDriverEntryPointByVersion", "cuMemAlloc", &function, 1000u, 0ull, &status) ==
            cudaSuccess);
    REQUIRE(status == 2);
    REQUIRE(face.Call("cudaGetDriverEntryPoint", "cuMemAlloc", &function, 77ull, &status) ==
            cudaErrorInvalidValue);
    void* per_thread = nullptr;
    REQUIRE(face.Call("cudaGetDriverEntryPoint", "cuLaunchKernel", &function, 0ull, &status) == cudaSuccess);
    REQUIRE(face.Call("cudaGetDriverEntryPoint_ptsz", "cuLaunchKernel", &per_thread, 0ull, &status) ==
            cudaSuccess);
    REQUIRE(function != per_thread);
    REQUIRE(face.Last() == cudaErrorInvalidValue);
  }
  REQUIRE(Face::Of(11).Call("cudaGetDriverEntryPoint", "cuMemAlloc", &function, 0ull) == cudaSuccess);
  REQUIRE(Face::Of(11).Call("cudaGetDriverEntryPoint", "cuNoSuch", &function, 0ull) ==
          cudaErrorSymbolNotFound);
  REQUIRE(Face::Of(11).Last() == cudaErrorSymbolNotFound);
}

TEST_CASE("a fault ends the context; after a reset there is a new one", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Kernels kernels(face);
    void* bad = reinterpret_cast<void*>(16);
    void* list[] = {&bad};
    void* p = nullptr;
    int device = -1;
    REQUIRE(Launch(face, &kWild, {1, 1, 1}, {1, 1, 1}, 0, list) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaErrorIllegalAddress);
    REQUIRE(face.Call("cudaPeekAtLastError") == cudaErrorIllegalAddress);
    REQUIRE(face.Last() == cudaErrorIllegalAddress);
    REQUIRE(face.Last() == cudaSuccess);
    REQUIRE(face.Call("cudaMalloc", &p, size_t{4}) == cudaErrorIllegalAddress);
    REQUIRE(face.Call("cudaGetDevice", &device) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceReset") == cudaSuccess);
    face.Last();
    REQUIRE(face.Call("cudaMalloc", &p, size_t{4}) == cudaSuccess);
    REQUIRE(Launch(face, &kNothing, {1, 1, 1}, {1, 1, 1}) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    std::thread([&] {  // also in threads that come later
      CHECK(Launch(face, &kNothing, {1, 1, 1}, {1, 1, 1}) == cudaSuccess);
      CHECK(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    })
        .join();
    REQUIRE(face.Call("cudaFree", p) == cudaSuccess);
  }
}

TEST_CASE("refused functions return the error of their row", "[cudart]") {
  const Face& face = Face::Of(13);
  cudaGraphicsResource_t resource = nullptr;
  REQUIRE(face.Call("cudaGraphicsGLRegisterBuffer", &resource, 1u, 0u) == cudaErrorNotSupported);
  REQUIRE(face.Call("cudaGraphicsMapResources", 1, &resource, cudaStream_t{}) ==
          cudaErrorInvalidResourceHandle);
  REQUIRE(face.Last() == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Call("cudaProfilerStart") == cudaSuccess);
  REQUIRE(Face::Of(11).Call("cudaProfilerInitialize", "a", "b", 0) == cudaSuccess);
}
