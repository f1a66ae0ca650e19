// The other process of tests/driver/ipc_test.cpp: opens what the test exports, checks it, changes it. Prints
// a line before each wait for a line of standard input, and "ok" at the end; a failure names its line.
//
//   ipc_asker memory HANDLE BYTES       reads Pattern(BYTES, 1), writes Pattern(BYTES, 2)
//   ipc_asker hold HANDLE BYTES         opens, waits, reads Pattern(BYTES, 1)
//   ipc_asker event HANDLE MEMORY       waits for the event in a stream, reads 7, writes 9, records the event
//   ipc_asker pool DATA BYTES           the pool of descriptor kFile: as memory
//   ipc_asker virtual - BYTES           the physical memory of descriptor kFile: as memory
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "driver_api.h"
#include "tests/driver/ipc_case.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;
using namespace ipc_case;

namespace {

void Expect(bool holds, int line) {
  if (holds) return;
  std::printf("line %d\n", line);
  std::exit(1);
}
#define EXPECT(...) Expect((__VA_ARGS__), __LINE__)

void Wait(const char* said) {
  std::puts(said);
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
}

void ReadAndWrite(CUdeviceptr memory, size_t bytes) {
  std::vector<unsigned char> got(bytes);
  EXPECT(cuMemcpyDtoH_v2(got.data(), memory, bytes) == CUDA_SUCCESS);
  EXPECT(got == Pattern(bytes, 1));
  const auto next = Pattern(bytes, 2);
  EXPECT(cuMemcpyHtoD_v2(memory, next.data(), bytes) == CUDA_SUCCESS);
}

CUdeviceptr Open(const std::string& handle) {
  CUdeviceptr memory = 0;
  EXPECT(cuIpcOpenMemHandle_v2(&memory, FromHex<CUipcMemHandle>(handle),
                               CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
  return memory;
}

void Memory(const std::string& handle, size_t bytes) {
  const CUdeviceptr memory = Open(handle), again = Open(handle);
  EXPECT(memory == again);
  ReadAndWrite(memory, bytes);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT(cuMemGetAddressRange_v2(&base, &size, memory + bytes / 2) == CUDA_SUCCESS);
  EXPECT(base == memory && size == bytes);
  EXPECT(cuMemFree_v2(memory) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuIpcCloseMemHandle(memory) == CUDA_SUCCESS);
  EXPECT(cuMemsetD8_v2(memory, 2, 1) == CUDA_SUCCESS);  // still open once
  EXPECT(cuIpcCloseMemHandle(memory) == CUDA_SUCCESS);
  EXPECT(cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE);
}

void Hold(const std::string& handle, size_t bytes) {
  const CUdeviceptr memory = Open(handle);
  Wait("open");
  ReadAndWrite(memory, bytes);
}

void Event(const std::string& handle, const std::string& memory_handle) {
  const CUdeviceptr memory = Open(memory_handle);
  CUevent event = nullptr;
  CUstream stream = nullptr;
  EXPECT(cuIpcOpenEventHandle(&event, FromHex<CUipcEventHandle>(handle)) == CUDA_SUCCESS);
  EXPECT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  EXPECT(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  void* pinned = nullptr;  // a copy to other memory of the host would wait here
  EXPECT(cuMemAllocHost_v2(&pinned, 1) == CUDA_SUCCESS);
  auto* const got = static_cast<unsigned char*>(pinned);
  EXPECT(cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS);
  EXPECT(cuMemcpyDtoHAsync_v2(got, memory, 1, stream) == CUDA_SUCCESS);
  EXPECT(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  Wait("waits");
  EXPECT(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  EXPECT(*got == 7);
  EXPECT(cuEventQuery(event) == CUDA_SUCCESS);
  EXPECT(cuMemsetD8Async(memory, 9, 1, stream) == CUDA_SUCCESS);
  EXPECT(cuEventRecord(event, stream) == CUDA_SUCCESS);
  Wait("recorded");
  EXPECT(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  EXPECT(cuEventDestroy_v2(event) == CUDA_SUCCESS);
}

void Pool(const std::string& data, size_t bytes) {
  CUmemoryPool pool = nullptr;
  EXPECT(cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(intptr_t{kFile}),
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
  auto place = FromHex<CUmemPoolPtrExportData>(data);
  CUdeviceptr memory = 0, none = 0;
  EXPECT(cuMemPoolImportPointer(&memory, pool, &place) == CUDA_SUCCESS);
  ReadAndWrite(memory, bytes);
  EXPECT(cuMemAllocFromPoolAsync(&none, bytes, pool, nullptr) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuMemFreeAsync(memory, nullptr) == CUDA_SUCCESS);
  EXPECT(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  EXPECT(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
}

void Virtual(size_t bytes) {
  CUmemGenericAllocationHandle physical = 0;
  CUdeviceptr at = 0;
  EXPECT(cuMemImportFromShareableHandle(&physical, reinterpret_cast<void*>(intptr_t{kFile}),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS);
  EXPECT(cuMemAddressReserve(&at, bytes, 0, 0, 0) == CUDA_SUCCESS);
  EXPECT(cuMemMap(at, bytes, 0, physical, 0) == CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT(cuMemSetAccess(at, bytes, &access, 1) == CUDA_SUCCESS);
  ReadAndWrite(at, bytes);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::string_view mode = arguments[1];
  const std::string handle = arguments[2], last = arguments[3];
  CUcontext context = nullptr;
  EXPECT(cuInit(0) == CUDA_SUCCESS);
  EXPECT(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  EXPECT(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  if (mode == "event") {
    Event(handle, last);
  } else {
    const size_t bytes = std::stoull(last);
    if (mode == "memory") Memory(handle, bytes);
    if (mode == "hold") Hold(handle, bytes);
    if (mode == "pool") Pool(handle, bytes);
    if (mode == "virtual") Virtual(bytes);
  }
  std::puts("ok");
  return 0;
}
