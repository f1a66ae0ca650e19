// Advice on managed memory by address, and virtual memory shared by a file descriptor.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "memory_context.h"
#include "runtime/cuda/driver/memory/memory_advice.h"

namespace driver_memory_test {

TEST_CASE("advice: random pieces agree with a list of bytes", "[memory]") {
  ptx2cpu::driver::AdviceMap map;
  constexpr size_t kBytes = 200;
  std::vector<int> model(kBytes, -1);  // preferred device of each byte
  std::mt19937 random(31);
  for (int step = 0; step < 5000; ++step) {
    const size_t begin = random() % kBytes, end = begin + 1 + random() % (kBytes - begin);
    const int device = static_cast<int>(random() % 3);
    switch (random() % 3) {
      case 0:
        map.Change(begin, end,
                   [&](ptx2cpu::driver::Advice& a) { a.preferred = {CU_MEM_LOCATION_TYPE_DEVICE, device}; });
        for (size_t i = begin; i < end; ++i) model[i] = device;
        break;
      case 1:
        if (random() % 4 != 0) break;
        map.Forget(begin, end);
        for (size_t i = begin; i < end; ++i) model[i] = -1;
        break;
      default: {
        std::set<int> seen,
            expected(model.begin() + static_cast<long>(begin), model.begin() + static_cast<long>(end));
        map.Look(begin, end, [&](const ptx2cpu::driver::Advice& a) {
          seen.insert(a.preferred.type == CU_MEM_LOCATION_TYPE_DEVICE ? a.preferred.id : -1);
        });
        REQUIRE(seen == expected);
      }
    }
  }
}

TEST_CASE("advice: parts of an allocation, and none of what was there before", "[memory]") {
  UseContext();
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAllocManaged(&memory, 16384, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  REQUIRE(cuMemAdvise_v2(memory, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, device) == CUDA_SUCCESS);
  REQUIRE(cuMemAdvise(memory + 8192, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU) ==
          CUDA_SUCCESS);
  const auto get = [](CUmem_range_attribute attribute, CUdeviceptr at, size_t bytes) {
    int value = -7;
    REQUIRE(cuMemRangeGetAttribute(&value, sizeof value, attribute, at, bytes) == CUDA_SUCCESS);
    return value;
  };
  CHECK(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 8192) == 1);
  CHECK(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 16384) == 0);
  CHECK(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory + 8192, 8192) == CU_DEVICE_CPU);
  CHECK(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 16384) == CU_DEVICE_INVALID);
  int mostly = -7, preferred = -7;
  void* data[] = {&mostly, &preferred};
  size_t sizes[] = {4, 4};
  CUmem_range_attribute which[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                   CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  REQUIRE(cuMemRangeGetAttributes(data, sizes, which, 2, memory, 4096) == CUDA_SUCCESS);
  CHECK(mostly == 1);
  CHECK(preferred == CU_DEVICE_INVALID);
  REQUIRE(cuMemFree_v2(memory) == CUDA_SUCCESS);
  CUdeviceptr again = 0;
  REQUIRE(cuMemAllocManaged(&again, 16384, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  CHECK(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, again, 8192) == 0);
  cuMemFree_v2(again);
}

TEST_CASE("virtual memory crosses a file descriptor", "[memory]") {
  UseContext();
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED, properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  constexpr size_t kBytes = 2 << 20;
  CUmemGenericAllocationHandle made = 0, imported = 0;
  REQUIRE(cuMemCreate(&made, kBytes, &properties, 0) == CUDA_SUCCESS);
  int file = -1;
  REQUIRE(cuMemExportToShareableHandle(&file, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_SUCCESS);
  REQUIRE(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS);
  close(file);
  CUdeviceptr at = 0;
  REQUIRE(cuMemAddressReserve(&at, 2 * kBytes, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(at, kBytes, 0, made, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(at + kBytes, kBytes, 0, imported, 0) == CUDA_SUCCESS);
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  REQUIRE(cuMemSetAccess(at, 2 * kBytes, &access, 1) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD32_v2(at, 0x01020304, kBytes / 4) == CUDA_SUCCESS);
  unsigned out = 0;
  REQUIRE(cuMemcpyDtoH_v2(&out, at + 2 * kBytes - 4, 4) == CUDA_SUCCESS);
  CHECK(out == 0x01020304);
  // Read only: the page's attribute is the same for all.
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  REQUIRE(cuMemSetAccess(at, kBytes, &access, 1) == CUDA_SUCCESS);
  unsigned long long flags = 0;
  REQUIRE(cuMemGetAccess(&flags, &properties.location, at) == CUDA_SUCCESS);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
  REQUIRE(cuMemUnmap(at, 2 * kBytes) == CUDA_SUCCESS);
  REQUIRE(cuMemRelease(made) == CUDA_SUCCESS);
  REQUIRE(cuMemRelease(imported) == CUDA_SUCCESS);
  CHECK(cuMemRelease(imported) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemAddressFree(at, 2 * kBytes) == CUDA_SUCCESS);
}

TEST_CASE("free memory falls by what is allocated", "[memory]") {
  UseContext();
  size_t before = 0, between = 0, after = 0, total = 0;
  REQUIRE(cuMemGetInfo_v2(&before, &total) == CUDA_SUCCESS);
  CHECK(before <= total);
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, 100 << 20) == CUDA_SUCCESS);
  REQUIRE(cuMemGetInfo_v2(&between, &total) == CUDA_SUCCESS);
  CHECK(before - between == 100 << 20);
  REQUIRE(cuMemFree_v2(memory) == CUDA_SUCCESS);
  REQUIRE(cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS);
  CHECK(after == before);
  CHECK(cuMemAlloc_v2(&memory, total + 1) == CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace driver_memory_test
