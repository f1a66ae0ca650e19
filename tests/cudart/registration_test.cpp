// Kernels by host address: registration, launches of each kind, in all three libraries.
#include <dlfcn.h>

#include <array>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

// out[thread] = a * thread + b
const std::string kLine = Module(R"(
.visible .entry line(.param .u64 out, .param .u32 a, .param .u32 b) {
  .reg .u64 %rd<4>; .reg .u32 %r<5>;
  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];
  mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r3, %r1, %r2;
  mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret;
}
)");

const char kStub = 0, kOtherStub = 0;  // their addresses identify kernels

struct Output {
  explicit Output(const Face& face) : face_(face) {
    REQUIRE(face.Call("cudaMalloc", reinterpret_cast<void**>(&device), size_t{128}) == cudaSuccess);
  }
  ~Output() { face_.Call("cudaFree", static_cast<void*>(device)); }
  std::array<uint32_t, 32> Read() {
    std::array<uint32_t, 32> host{};
    REQUIRE(face_.Call("cudaMemcpy", static_cast<void*>(host.data()), static_cast<const void*>(device),
                       sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }
  const Face& face_;
  uint32_t* device = nullptr;
};

struct Arguments {
  uint32_t* out;
  uint32_t a, b;
  void* list[3] = {&out, &a, &b};
};

cudaError_t Launch(const Face& face, const void* stub, Arguments& arguments, cudaStream_t stream = nullptr,
                   const char* suffix = "") {
  const std::string name = std::string("cudaLaunchKernel") + suffix;
  return face.Call(name.c_str(), stub, dim3{1, 1, 1}, dim3{32, 1, 1}, static_cast<void**>(arguments.list),
                   size_t{0}, stream);
}

}  // namespace

TEST_CASE("a kernel is launched by the address of its stub", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Registered binary(face, {kLine});
    binary.Function(&kStub, "line");
    binary.End();
    Output output(face);
    Arguments arguments{output.device, 3, static_cast<uint32_t>(major)};
    REQUIRE(Launch(face, &kStub, arguments) == cudaSuccess);
    const auto host = output.Read();
    for (uint32_t i = 0; i < 32; ++i) REQUIRE(host[i] == 3 * i + static_cast<uint32_t>(major));
    REQUIRE(face.Last() == cudaSuccess);
  }
}

TEST_CASE("a stub pops the configuration that the call pushed, also within another", "[cudart]") {
  for (const int major : kMajors) {
    const Face& face = Face::Of(major);
    const auto push = face.Get<unsigned(dim3, dim3, size_t, CUstream_st*)>("__cudaPushCallConfiguration");
    const auto pop = face.Get<cudaError_t(dim3*, dim3*, size_t*, void*)>("__cudaPopCallConfiguration");
    dim3 grid{}, block{};
    size_t shared = 0;
    cudaStream_t stream = nullptr;
    REQUIRE(push({1, 2, 3}, {4, 5, 6}, 7, CU_STREAM_LEGACY) == 0);
    REQUIRE(push({8, 1, 1}, {9, 1, 1}, 10, CU_STREAM_PER_THREAD) == 0);
    REQUIRE(pop(&grid, &block, &shared, &stream) == cudaSuccess);
    REQUIRE((grid.x == 8 && block.x == 9 && shared == 10 && stream == CU_STREAM_PER_THREAD));
    std::thread([&] {  // each thread has its own
      dim3 g, b;
      size_t s;
      cudaStream_t c;
      CHECK(pop(&g, &b, &s, &c) == cudaErrorMissingConfiguration);
    })
        .join();
    REQUIRE(pop(&grid, &block, &shared, &stream) == cudaSuccess);
    REQUIRE((grid.y == 2 && grid.z == 3 && block.x == 4 && block.z == 6 && shared == 7 &&
             stream == CU_STREAM_LEGACY));
  }
}

TEST_CASE("the stubs of CUDA 13 ask for the kernel once and launch by its handle", "[cudart]") {
  const Face& face = Face::Of(13);
  Registered binary(face, {kLine});
  binary.Function(&kStub, "line");
  binary.Function(&kOtherStub, "no_such_kernel");
  binary.End();
  cudaKernel_t kernel = nullptr;
  REQUIRE(face.Call("__cudaGetKernel", &kernel, static_cast<const void*>(&kStub)) == cudaSuccess);
  Output output(face);
  Arguments arguments{output.device, 2, 1};
  const auto launch = [&](cudaKernel_t handle, const char* name) {
    return face.Call(name, handle, dim3{1, 1, 1}, dim3{32, 1, 1}, static_cast<void**>(arguments.list),
                     size_t{0}, cudaStream_t{});
  };
  REQUIRE(launch(kernel, "__cudaLaunchKernel") == cudaSuccess);
  REQUIRE(output.Read()[5] == 11);
  arguments.b = 100;
  REQUIRE(launch(kernel, "__cudaLaunchKernel_ptsz") == cudaSuccess);
  REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
  REQUIRE(output.Read()[5] == 110);
  // A stub whose kernel is not there keeps what it got, and every launch of it fails in the same way.
  REQUIRE(face.Call("__cudaGetKernel", &kernel, static_cast<const void*>(&kOtherStub)) ==
          cudaErrorInvalidDeviceFunction);
  REQUIRE(launch(kernel, "__cudaLaunchKernel") == cudaErrorInvalidDeviceFunction);
  REQUIRE(launch(kernel, "__cudaLaunchKernel") == cudaErrorInvalidDeviceFunction);
  REQUIRE(face.Last() == cudaErrorInvalidDeviceFunction);
}

TEST_CASE("launches with a configuration structure, cooperative ones, and by handle", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Registered binary(face, {kLine});
    binary.Function(&kStub, "line");
    binary.End();
    Output output(face);
    Arguments arguments{output.device, 1, 7};
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    const cudaLaunchConfig_t config{{1, 1, 1}, {32, 1, 1}, 0, nullptr, &attribute, 1};
    REQUIRE(face.Call("cudaLaunchKernelExC", &config, static_cast<const void*>(&kStub),
                      static_cast<void**>(arguments.list)) == cudaSuccess);
    REQUIRE(output.Read()[31] == 38);
    arguments.b = 9;
    REQUIRE(face.Call("cudaLaunchCooperativeKernel", static_cast<const void*>(&kStub), dim3{1, 1, 1},
                      dim3{32, 1, 1}, static_cast<void**>(arguments.list), size_t{0},
                      cudaStream_t{}) == cudaSuccess);
    REQUIRE(output.Read()[31] == 40);
    cudaFunction_t function = nullptr;
    REQUIRE(face.Call("cudaGetFuncBySymbol", &function, static_cast<const void*>(&kStub)) == cudaSuccess);
    arguments.b = 11;
    REQUIRE(Launch(face, function, arguments) == cudaSuccess);
    REQUIRE(output.Read()[31] == 42);
  }
}

TEST_CASE("configure, set up, launch: the calls of compilers before CUDA 9", "[cudart]") {
  const Face& face = Face::Of(11);
  Registered binary(face, {kLine});
  binary.Function(&kStub, "line");
  Output output(face);
  const uint32_t a = 5, b = 6;
  REQUIRE(face.Call("cudaLaunch", static_cast<const void*>(&kStub)) == cudaErrorMissingConfiguration);
  REQUIRE(face.Call("cudaConfigureCall", dim3{1, 1, 1}, dim3{32, 1, 1}, size_t{0}, cudaStream_t{}) ==
          cudaSuccess);
  REQUIRE(face.Call("cudaSetupArgument", static_cast<const void*>(&output.device), size_t{8}, size_t{0}) ==
          cudaSuccess);
  REQUIRE(face.Call("cudaSetupArgument", static_cast<const void*>(&a), size_t{4}, size_t{8}) == cudaSuccess);
  REQUIRE(face.Call("cudaSetupArgument", static_cast<const void*>(&b), size_t{4}, size_t{12}) == cudaSuccess);
  REQUIRE(face.Call("cudaLaunch", static_cast<const void*>(&kStub)) == cudaSuccess);
  REQUIRE(output.Read()[10] == 56);
}

TEST_CASE("after a fault each launch returns the fault, whatever else is wrong with it", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Registered binary(face,
                      {Module(".visible .entry traps() { trap; }\n.visible .entry nothing() { ret; }\n")});
    binary.Function(&kStub, "traps");
    binary.Function(&kOtherStub, "nothing");
    binary.End();
    const auto launch = [&](const void* function, unsigned threads, size_t shared) {
      return face.Call("cudaLaunchKernel", function, dim3{1, 1, 1}, dim3{threads, 1, 1},
                       static_cast<void**>(nullptr), shared, cudaStream_t{});
    };
    CHECK(launch(&kStub, 1, 0) == cudaSuccess);
    CHECK(face.Call("cudaDeviceSynchronize") == cudaErrorLaunchFailure);
    CHECK(launch(&kStub, 1, 0) == cudaErrorLaunchFailure);
    CHECK(launch(&kOtherStub, 1, 0) == cudaErrorLaunchFailure);     // not loaded yet
    CHECK(launch(&kOtherStub, 5000, 0) == cudaErrorLaunchFailure);  // no shape
    CHECK(launch(&kOtherStub, 1, size_t{1} << 40) == cudaErrorLaunchFailure);
    CHECK(launch(&launch, 1, 0) == cudaErrorLaunchFailure);  // no kernel
    CHECK(launch(nullptr, 1, 0) == cudaErrorLaunchFailure);
    CHECK(face.Call("cudaLaunchCooperativeKernel", static_cast<const void*>(&launch), dim3{1, 1, 1},
                    dim3{1, 1, 1}, static_cast<void**>(nullptr), size_t{0},
                    cudaStream_t{}) == cudaErrorLaunchFailure);
    CHECK(face.Call("cudaDeviceReset") == cudaSuccess);
    face.Last();
    CHECK(launch(&kOtherStub, 1, 0) == cudaSuccess);
    CHECK(face.Call("cudaDeviceSynchronize") == cudaSuccess);
  }
}

TEST_CASE("the libraries can be opened by their names without a number", "[cudart]") {
  const std::string folder = PTX2CPU_BINARY_DIR "/lib/ptx2cpu/";
  const auto function = [&](const char* library, const char* name) {
    void* const handle = dlopen((folder + library).c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != nullptr);
    return dlsym(handle, name);
  };
  CHECK(function("libcuda.so", "cuInit") != nullptr);
  CHECK(function("libcuda.so", "cuInit") == function("libcuda.so.1", "cuInit"));
  CHECK(function("libcudart.so", "cudaMalloc") == function("libcudart.so.13", "cudaMalloc"));
}

TEST_CASE("what is not registered, or no more, is not launched", "[cudart]") {
  const Face& face = Face::Of(13);
  Arguments arguments{nullptr, 0, 0};
  REQUIRE(Launch(face, nullptr, arguments) == cudaErrorInvalidDeviceFunction);
  REQUIRE(Launch(face, &arguments, arguments) == cudaErrorInvalidResourceHandle);
  {
    Registered binary(face, {kLine});
    binary.Function(&kStub, "line");
    binary.End();
    Output output(face);
    arguments.out = output.device;
    REQUIRE(Launch(face, &kStub, arguments) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
  }
  REQUIRE(Launch(face, &kStub, arguments) == cudaErrorInvalidResourceHandle);
  REQUIRE(face.Last() == cudaErrorInvalidResourceHandle);
}

TEST_CASE("the pieces of a device link are one module", "[cudart]") {
  const std::string definitions = Module(R"(
.visible .global .align 4 .u32 shared_value = 40;
.visible .func (.param .u32 result) twice(.param .u32 x) {
  .reg .u32 %r<3>; ld.param.u32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.u32 [result], %r2; ret;
}
)");
  const std::string uses = Module(R"(
.extern .global .align 4 .u32 shared_value;
.extern .func (.param .u32 result) twice(.param .u32 x);
.visible .entry user(.param .u64 out) {
  .reg .u64 %rd<2>; .reg .u32 %r<4>;
  ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [shared_value];
  { .param .u32 x; .param .u32 y; st.param.u32 [x], %r1; call (y), twice, (x); ld.param.u32 %r2, [y]; }
  st.global.u32 [%rd1], %r2; ret;
}
)");
  const Face& face = Face::Of(12);
  Registered binary(face, {definitions, uses});
  binary.Function(&kStub, "user");
  uint32_t shadow = 0;
  binary.Variable(&shadow, "shared_value", 4);
  binary.End();
  Output output(face);
  void* list[] = {&output.device};
  const auto launch = [&] {
    return face.Call("cudaLaunchKernel", static_cast<const void*>(&kStub), dim3{1, 1, 1}, dim3{1, 1, 1},
                     static_cast<void**>(list), size_t{0}, cudaStream_t{});
  };
  REQUIRE(launch() == cudaSuccess);
  REQUIRE(output.Read()[0] == 80);
  const uint32_t ninety = 90;
  REQUIRE(face.Call("cudaMemcpyToSymbol", static_cast<const void*>(&shadow),
                    static_cast<const void*>(&ninety), size_t{4}, size_t{0},
                    cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(launch() == cudaSuccess);
  REQUIRE(output.Read()[0] == 180);
}

TEST_CASE("many threads launch at once, from the first use on", "[cudart]") {
  const Face& face = Face::Of(13);
  Registered binary(face, {kLine});
  binary.Function(&kStub, "line");
  binary.End();
  std::vector<std::thread> threads;
  std::array<bool, 8> right{};
  for (uint32_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      uint32_t* device = nullptr;
      uint32_t host[32] = {};
      if (face.Call("cudaMalloc", reinterpret_cast<void**>(&device), size_t{128}) != cudaSuccess) return;
      bool good = true;
      for (uint32_t k = 0; k < 50; ++k) {
        Arguments arguments{device, t, k};
        good = good && Launch(face, &kStub, arguments, nullptr, "_ptsz") == cudaSuccess;
        good =
            good && face.Call("cudaMemcpy_ptds", static_cast<void*>(host), static_cast<const void*>(device),
                              size_t{128}, cudaMemcpyDeviceToHost) == cudaSuccess;
        good = good && host[31] == 31 * t + k;
      }
      right[t] = good && face.Call("cudaFree", static_cast<void*>(device)) == cudaSuccess &&
                 face.Last() == cudaSuccess;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool good : right) REQUIRE(good);
}
