// Which copies and sets the caller waits for, by kind of memory.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "memory_gate.h"
#include "runtime/cuda/driver/memory/allocations.h"

namespace driver_memory_test {

namespace {

struct Ends {
  static constexpr size_t kBytes = 256 << 10;
  CUdeviceptr device = 0, second = 0, managed = 0;
  unsigned char* pinned = nullptr;
  std::vector<unsigned char> pageable = std::vector<unsigned char>(kBytes);

  Ends() {
    UseContext();
    REQUIRE(cuMemAlloc_v2(&device, kBytes) == CUDA_SUCCESS);
    REQUIRE(cuMemAlloc_v2(&second, kBytes) == CUDA_SUCCESS);
    REQUIRE(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    void* host = nullptr;
    REQUIRE(cuMemAllocHost_v2(&host, kBytes) == CUDA_SUCCESS);
    pinned = static_cast<unsigned char*>(host);
    std::memset(pinned, 1, kBytes);
    std::memset(reinterpret_cast<void*>(device), 0, kBytes);
    std::memset(reinterpret_cast<void*>(second), 0, kBytes);
  }
  ~Ends() {
    cuMemFree_v2(device);
    cuMemFree_v2(second);
    cuMemFree_v2(managed);
    cuMemFreeHost(pinned);
  }
};

unsigned char First(CUdeviceptr memory) { return *reinterpret_cast<volatile unsigned char*>(memory); }

}  // namespace

TEST_CASE("asynchronous copies of pinned and device memory do not wait", "[memory]") {
  Ends ends;
  TestStream stream;
  {
    Gate gate(stream);
    REQUIRE(cuMemcpyHtoDAsync_v2(ends.device, ends.pinned, Ends::kBytes, stream) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyDtoDAsync_v2(ends.second, ends.device, Ends::kBytes, stream) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyDtoHAsync_v2(ends.pinned, ends.second, 16, stream) == CUDA_SUCCESS);
    REQUIRE(cuMemsetD8Async(ends.managed, 9, 16, stream) == CUDA_SUCCESS);
    CHECK(First(ends.device) == 0);
    ends.pinned[100] = 7;  // the program's race: the copy reads it later
    gate.Open();
  }
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(First(ends.second + 100) == 7);
  CHECK(First(ends.second + 99) == 1);
  CHECK(First(ends.managed) == 9);
}

TEST_CASE("asynchronous copies out of pageable memory have read it when they return", "[memory]") {
  Ends ends;
  TestStream stream;
  std::fill(ends.pageable.begin(), ends.pageable.end(), 5);
  Gate gate(stream);
  // Little is set aside, and no call waits.
  REQUIRE(cuMemcpyHtoDAsync_v2(ends.device, ends.pageable.data(), 5000, stream) == CUDA_SUCCESS);
  CHECK_FALSE(gate.opened());
  std::fill(ends.pageable.begin(), ends.pageable.begin() + 5000, 6);
  CHECK(First(ends.device) == 0);
  // For much the stream has to come to it.
  {
    OpenLater later(gate);
    REQUIRE(cuMemcpyHtoDAsync_v2(ends.second, ends.pageable.data() + 5000, Ends::kBytes - 5000, stream) ==
            CUDA_SUCCESS);
    CHECK(gate.opened());
  }
  std::fill(ends.pageable.begin(), ends.pageable.end(), 8);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(First(ends.device) == 5);
  CHECK(First(ends.device + 4999) == 5);
  CHECK(First(ends.second) == 5);
}

TEST_CASE("asynchronous copies into pageable memory are done when they return", "[memory]") {
  Ends ends;
  TestStream stream;
  Gate gate(stream);
  OpenLater later(gate);
  REQUIRE(cuMemsetD8Async(ends.device, 4, Ends::kBytes, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoHAsync_v2(ends.pageable.data(), ends.device, 64, stream) == CUDA_SUCCESS);
  CHECK(gate.opened());
  CHECK(ends.pageable[63] == 4);
}

TEST_CASE("synchronous copies wait for what is before them, and return when done", "[memory]") {
  Ends ends;
  TestStream blocking(CU_STREAM_DEFAULT);
  {
    Gate gate(blocking);
    OpenLater later(gate);
    REQUIRE(cuMemsetD8Async(ends.device, 3, Ends::kBytes, blocking) == CUDA_SUCCESS);
    // The legacy stream comes after all blocking ones.
    REQUIRE(cuMemcpyDtoH_v2(ends.pageable.data(), ends.device, 128) == CUDA_SUCCESS);
    CHECK(gate.opened());
    CHECK(ends.pageable[127] == 3);
  }
  TestStream stream;
  {
    Gate gate(stream);
    REQUIRE(cuMemsetD8Async(ends.device, 2, Ends::kBytes, stream) == CUDA_SUCCESS);
    // But not after one that does not block.
    REQUIRE(cuMemcpyDtoH_v2(ends.pageable.data(), ends.device, 128) == CUDA_SUCCESS);
    CHECK_FALSE(gate.opened());
    CHECK(ends.pageable[127] == 3);
  }
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
}

TEST_CASE("between devices, and for sets of device memory, the caller continues", "[memory]") {
  Ends ends;
  TestStream blocking(CU_STREAM_DEFAULT);
  {
    Gate gate(blocking);
    REQUIRE(cuMemsetD8_v2(ends.device, 1, Ends::kBytes) == CUDA_SUCCESS);
    REQUIRE(cuMemcpyDtoD_v2(ends.second, ends.device, Ends::kBytes) == CUDA_SUCCESS);
    CHECK_FALSE(gate.opened());
    CHECK(First(ends.second) == 0);
    OpenLater later(gate);
    REQUIRE(cuMemsetD8_v2(ends.managed, 2, 64) == CUDA_SUCCESS);  // the host sees managed memory at once
    CHECK(gate.opened());
    CHECK(First(ends.managed) == 2);
    CHECK(First(ends.second) == 1);
  }
  const unsigned on = 1;
  REQUIRE(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, ends.device) == CUDA_SUCCESS);
  Gate gate(blocking);
  OpenLater later(gate);
  REQUIRE(cuMemsetD8_v2(ends.device, 5, Ends::kBytes) == CUDA_SUCCESS);
  CHECK(gate.opened());
  CHECK(First(ends.device) == 5);
}

TEST_CASE("a free waits for the work that may use the memory", "[memory]") {
  Context& context = UseContext();
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, 1 << 20) == CUDA_SUCCESS);
  TestStream stream;
  Gate gate(stream);
  OpenLater later(gate);
  REQUIRE(cuMemsetD8Async(memory, 1, 1 << 20, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemFree_v2(memory) == CUDA_SUCCESS);
  CHECK(gate.opened());
  CHECK(context.error() == CUDA_SUCCESS);
}

TEST_CASE("what a context made goes with it", "[memory]") {
  UseContext();
  Context& fresh = NewContext(Devices::Get()[0], 0);
  ContextStack::OfThread().Push(&fresh);
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR d = {};
  d.Width = 9, d.Height = 9, d.Format = CU_AD_FORMAT_FLOAT, d.NumChannels = 1;
  REQUIRE(cuMemAlloc_v2(&memory, 100) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocHost_v2(&host, 100) == CUDA_SUCCESS);
  REQUIRE(cuArrayCreate_v2(&array, &d) == CUDA_SUCCESS);
  std::vector<char> own(100);
  REQUIRE(cuMemHostRegister_v2(own.data(), own.size(), 0) == CUDA_SUCCESS);
  CHECK(Allocations::Get().Find(own.data()).has_value());
  fresh.End();
  ContextStack::OfThread().Pop();
  for (const void* gone : {reinterpret_cast<const void*>(memory), static_cast<const void*>(host),
                           static_cast<const void*>(own.data())}) {
    CHECK_FALSE(Allocations::Get().Find(gone).has_value());
  }
  UseContext();
  CHECK(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMemFree_v2(memory) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("without a context there is no memory", "[memory]") {
  UseContext();
  ContextStack::OfThread().SetTop(nullptr);
  CUdeviceptr memory = 0;
  char byte = 0;
  CHECK(cuMemAlloc_v2(&memory, 1) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemcpyDtoH_v2(&byte, 4096, 1) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemsetD8Async(4096, 0, 1, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  UseContext();
  CHECK(cuMemsetD8Async(4096, 0, 1, reinterpret_cast<CUstream>(&byte)) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("what a context made may be given back by a thread that has left it", "[memory]") {
  UseContext();
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUevent event = nullptr;
  CUstream stream = nullptr;
  std::vector<char> own(4096);
  REQUIRE(cuMemAlloc_v2(&memory, 100) == CUDA_SUCCESS);
  REQUIRE(cuMemHostAlloc(&host, 100, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemHostRegister_v2(own.data(), own.size(), 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8Async(memory, 1, 100, stream) == CUDA_SUCCESS);
  ContextStack::OfThread().SetTop(nullptr);
  CHECK(cuMemFree_v2(memory + 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree_v2(memory) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(memory) == CUDA_ERROR_INVALID_CONTEXT);  // it has no owner now
  CHECK(cuMemFreeHost(host) == CUDA_SUCCESS);
  CHECK(cuMemHostUnregister(own.data()) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(event) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  UseContext();
}

TEST_CASE("many threads allocate, copy and free", "[memory]") {
  UseContext();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      UseContext();
      std::vector<unsigned> in(5000, t), out(5000);
      CUstream stream = nullptr;
      if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) ++wrong;
      for (int round = 0; round < 100; ++round) {
        CUdeviceptr a = 0, b = 0;
        const size_t bytes = in.size() * sizeof(unsigned);
        if (cuMemAlloc_v2(&a, bytes) != CUDA_SUCCESS || cuMemAllocAsync(&b, bytes, stream) != CUDA_SUCCESS)
          ++wrong;
        if (cuMemcpyHtoDAsync_v2(a, in.data(), bytes, stream) != CUDA_SUCCESS) ++wrong;
        if (cuMemcpyDtoDAsync_v2(b, a, bytes, stream) != CUDA_SUCCESS) ++wrong;
        if (cuMemcpyDtoHAsync_v2(out.data(), b, bytes, stream) != CUDA_SUCCESS || out != in) ++wrong;
        if (cuMemFreeAsync(b, stream) != CUDA_SUCCESS || cuMemFree_v2(a) != CUDA_SUCCESS) ++wrong;
        std::fill(out.begin(), out.end(), 99u);
      }
      cuStreamDestroy_v2(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace driver_memory_test
