// Launching from many threads, by every function for launches.
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/cuda/driver/core/call.h"
#include "tests/driver/driver_session.h"

using namespace driver_test;

TEST_CASE("eight threads launch a kernel that none has compiled, each in a stream of its own") {
  Session session;
  CUmodule module;
  CUfunction function;
  REQUIRE(cuModuleLoadData(&module, kBump.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "bump") == CUDA_SUCCESS);
  CUdeviceptr sum;
  REQUIRE(cuMemAlloc_v2(&sum, 4) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32_v2(sum, 0, 1) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);  // streams that do not block do not wait for it
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      CUstream stream;
      failures += cuCtxSetCurrent(session.context) != CUDA_SUCCESS;
      failures += cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
      for (int i = 0; i < 250; ++i) failures += Run(function, 4, 32, stream, sum, t + 1) != CUDA_SUCCESS;
      failures += cuStreamSynchronize(stream) != CUDA_SUCCESS;
      failures += cuStreamDestroy_v2(stream) != CUDA_SUCCESS;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  unsigned value = 0;
  CHECK(cuMemcpyDtoH_v2(&value, sum, 4) == CUDA_SUCCESS);
  CHECK(value == 36u * 250 * 4 * 32);
  CHECK(cuMemFree_v2(sum) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}

TEST_CASE(
    "threads with default streams of their own do not wait for each other, and end without their work lost") {
  Session session;
  CUmodule module;
  CUfunction function;
  REQUIRE(cuModuleLoadData(&module, kBump.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "bump") == CUDA_SUCCESS);
  CUdeviceptr sum;
  REQUIRE(cuMemAlloc_v2(&sum, 4) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32_v2(sum, 0, 1) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      failures += cuCtxSetCurrent(session.context) != CUDA_SUCCESS;
      for (int i = 0; i < 50; ++i)
        failures += Run(function, 2, 64, CU_STREAM_PER_THREAD, sum, 1u) != CUDA_SUCCESS;
      ptx2cpu::api::PerThreadDefaultStream scope;
      for (int i = 0; i < 50; ++i) failures += Run(function, 2, 64, nullptr, sum, 1u) != CUDA_SUCCESS;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  unsigned value = 0;
  CHECK(cuMemcpyDtoH_v2(&value, sum, 4) == CUDA_SUCCESS);
  CHECK(value == 8u * 100 * 2 * 64);
  CHECK(cuMemFree_v2(sum) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}

TEST_CASE("a module may be unloaded while its kernels run") {
  Session session;
  CUdeviceptr sum;
  REQUIRE(cuMemAlloc_v2(&sum, 4) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32_v2(sum, 0, 1) == CUDA_SUCCESS);
  CUmodule module;
  CUfunction function;
  REQUIRE(cuModuleLoadData(&module, kBump.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "bump") == CUDA_SUCCESS);
  for (int i = 0; i < 200; ++i) REQUIRE(Run(function, 16, 128, nullptr, sum, 1u) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(Run(function, 1, 1, nullptr, sum, 1u) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
  unsigned value = 0;
  CHECK(cuMemcpyDtoH_v2(&value, sum, 4) == CUDA_SUCCESS);
  CHECK(value == 200u * 16 * 128);
  CHECK(cuMemFree_v2(sum) == CUDA_SUCCESS);
}

TEST_CASE("an event of a launch attribute is recorded after the kernel") {
  Session session;
  CUmodule module;
  CUfunction function;
  CUdeviceptr total;
  REQUIRE(cuModuleLoadData(&module, kBump.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "bump_total") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetGlobal_v2(&total, nullptr, module, "total") == CUDA_SUCCESS);
  CUevent event;
  REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  unsigned n = 2;
  void* parameters[] = {&n};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  attribute.value.programmaticEvent.event = event;
  CUlaunchConfig config{};
  config.gridDimX = 3;
  config.blockDimX = 5;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  REQUIRE(cuLaunchKernelEx(&config, function, parameters, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
  CHECK(*reinterpret_cast<unsigned*>(total) == 30);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}
