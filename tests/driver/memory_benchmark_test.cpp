// The cost of calls on memory, on request: test_driver "[.benchmark]". Medians of batches, one thread,
// nothing else queued.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "memory_gate.h"

namespace driver_memory_test {

TEST_CASE("what allocation and copies cost", "[.benchmark]") {
  UseContext();
  TestStream stream;
  CUdeviceptr device = 0, second = 0, memory = 0;
  void* pinned = nullptr;
  std::vector<char> pageable(1 << 20);
  REQUIRE(cuMemAlloc_v2(&device, 1 << 20) == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&second, 1 << 20) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocHost_v2(&pinned, 1 << 20) == CUDA_SUCCESS);
  const auto time = [](const char* what, int count, const std::function<void()>& call) {
    std::vector<double> batches;
    for (int batch = 0; batch < 21; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < count; ++i) call();
      batches.push_back(
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / count);
    }
    std::nth_element(batches.begin(), batches.begin() + 10, batches.end());
    std::printf("%-60s %10.0f ns\n", what, batches[10]);
  };
  time("cuMemAlloc, cuMemFree of 1 KiB", 1000, [&] { cuMemAlloc_v2(&memory, 1024), cuMemFree_v2(memory); });
  time("cuMemAlloc, cuMemFree of 1 MiB", 1000,
       [&] { cuMemAlloc_v2(&memory, 1 << 20), cuMemFree_v2(memory); });
  time("cuMemAlloc, cuMemFree of 1 GiB", 100, [&] { cuMemAlloc_v2(&memory, 1 << 30), cuMemFree_v2(memory); });
  time("cuMemAllocHost, cuMemFreeHost of 1 KiB", 1000,
       [&] { cuMemAllocHost_v2(&pinned, 1024), cuMemFreeHost(pinned); });
  REQUIRE(cuMemAllocHost_v2(&pinned, 1 << 20) == CUDA_SUCCESS);
  time("cuMemAllocAsync, cuMemFreeAsync of 1 KiB", 1000,
       [&] { cuMemAllocAsync(&memory, 1024, stream), cuMemFreeAsync(memory, stream); });
  time("cuMemcpyHtoD of 64 bytes, pageable", 1000, [&] { cuMemcpyHtoD_v2(device, pageable.data(), 64); });
  time("cuMemcpyDtoH of 64 bytes, pinned", 1000, [&] { cuMemcpyDtoH_v2(pinned, device, 64); });
  time("cuMemcpyHtoD of 1 MiB, pageable", 100, [&] { cuMemcpyHtoD_v2(device, pageable.data(), 1 << 20); });
  time("the same by memcpy", 100,
       [&] { std::copy(pageable.begin(), pageable.end(), reinterpret_cast<char*>(device)); });
  time("cuMemcpyDtoDAsync of 64 bytes", 1000, [&] { cuMemcpyDtoDAsync_v2(second, device, 64, stream); });
  time("cuMemsetD32Async of 64 bytes", 1000, [&] { cuMemsetD32Async(second, 1, 16, stream); });
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  unsigned type = 0;
  time("cuPointerGetAttribute, one address", 1000,
       [&] { cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device); });
  std::vector<CUdeviceptr> many(20000);
  for (CUdeviceptr& each : many) REQUIRE(cuMemAlloc_v2(&each, 100) == CUDA_SUCCESS);
  size_t next = 0;
  time("the same, any of 20,000", 1000, [&] {
    next = (next + 7919) % many.size();
    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, many[next]);
  });
  for (const CUdeviceptr each : many) cuMemFree_v2(each);
  cuMemFree_v2(device);
  cuMemFree_v2(second);
  cuMemFreeHost(pinned);
}

}  // namespace driver_memory_test
