// Memory and events between processes: handles, pools, physical memory. The other process is
// ask/ipc_asker.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/driver/driver_session.h"
#include "tests/driver/ipc_case.h"

using namespace driver_test;
using namespace ipc_case;

namespace {

class Other {
 public:
  Other(const char* mode, const std::string& handle, const std::string& last, int file = -1) {
    int to[2], from[2];
    REQUIRE(pipe(to) == 0);
    REQUIRE(pipe(from) == 0);
    child_ = fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      dup2(to[0], 0), dup2(from[1], 1);
      close(to[1]), close(from[0]);
      if (file >= 0) dup2(file, kFile);
      const char* const program = PTX2CPU_BINARY_DIR "/bin/driver_ipc_asker";
      execl(program, program, mode, handle.c_str(), last.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]), close(from[1]);
    in_ = fdopen(to[1], "w"), out_ = fdopen(from[0], "r");
  }
  ~Other() {
    fclose(in_), fclose(out_);
    waitpid(child_, nullptr, 0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  std::string Line() {
    char text[128] = {};
    if (std::fgets(text, sizeof text, out_) == nullptr) return {};
    const std::string line = text;
    return line.substr(0, line.find('\n'));
  }
  void Continue() {
    std::fputs("\n", in_);
    std::fflush(in_);
  }

 private:
  pid_t child_ = 0;
  FILE *in_ = nullptr, *out_ = nullptr;
};

void Write(CUdeviceptr memory, const std::vector<unsigned char>& values) {
  REQUIRE(cuMemcpyHtoD_v2(memory, values.data(), values.size()) == CUDA_SUCCESS);
}
std::vector<unsigned char> Read(CUdeviceptr memory, size_t bytes) {
  std::vector<unsigned char> values(bytes);
  REQUIRE(cuMemcpyDtoH_v2(values.data(), memory, bytes) == CUDA_SUCCESS);
  return values;
}
CUdeviceptr Allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, bytes) == CUDA_SUCCESS);
  return memory;
}
CUipcMemHandle HandleOf(CUdeviceptr memory) {
  CUipcMemHandle handle{};
  REQUIRE(cuIpcGetMemHandle(&handle, memory) == CUDA_SUCCESS);
  return handle;
}

}  // namespace

TEST_CASE("ipc: another process reads and writes device memory") {
  const Session session;
  for (const size_t bytes : {size_t{1}, size_t{300}, size_t{64} << 10, (size_t{3} << 20) + 5}) {
    INFO(bytes << " bytes");
    const CUdeviceptr memory = Allocate(bytes), neighbour = Allocate(bytes);
    Write(memory, Pattern(bytes, 1)), Write(neighbour, Pattern(bytes, 5));
    const CUipcMemHandle handle = HandleOf(memory), same = HandleOf(memory + bytes / 2);
    CHECK(std::memcmp(&handle, &same, sizeof handle) == 0);
    CHECK(Read(memory, bytes) == Pattern(bytes, 1));  // it kept its content
    {
      Other other("memory", ToHex(handle), std::to_string(bytes));
      CHECK(other.Line() == "ok");
    }
    CHECK(Read(memory, bytes) == Pattern(bytes, 2));
    CHECK(Read(neighbour, bytes) == Pattern(bytes, 5));
    CHECK(cuMemFree_v2(memory) == CUDA_SUCCESS);
    CHECK(cuMemFree_v2(neighbour) == CUDA_SUCCESS);
  }
}

TEST_CASE("ipc: what is allocated after a free is not shared") {
  const Session session;
  constexpr size_t kBytes = 1 << 20;
  const CUdeviceptr memory = Allocate(kBytes);
  Write(memory, Pattern(kBytes, 1));
  Other other("hold", ToHex(HandleOf(memory)), std::to_string(kBytes));
  REQUIRE(other.Line() == "open");
  REQUIRE(cuMemFree_v2(memory) == CUDA_SUCCESS);
  const CUdeviceptr next = Allocate(kBytes);
  Write(next, Pattern(kBytes, 77));
  other.Continue();
  CHECK(other.Line() == "ok");
  CHECK(Read(next, kBytes) == Pattern(kBytes, 77));
  CHECK(cuMemFree_v2(next) == CUDA_SUCCESS);
}

TEST_CASE("ipc: streams of two processes wait for each other's records") {
  const Session session;
  const CUdeviceptr memory = Allocate(1);
  Write(memory, {1});
  CUstream stream = nullptr;
  CUevent event = nullptr;
  REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS) == CUDA_SUCCESS);
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);  // never recorded
  CUipcEventHandle handle{};
  REQUIRE(cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
  const CUipcMemHandle memory_handle = HandleOf(memory);
  std::atomic<bool> open{false};
  const auto gate = [](void* flag) {
    while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
  };
  REQUIRE(cuLaunchHostFunc(stream, gate, &open) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8Async(memory, 7, 1, stream) == CUDA_SUCCESS);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  Other other("event", ToHex(handle), ToHex(memory_handle));
  CHECK(other.Line() == "waits");
  CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  open = true;
  other.Continue();
  CHECK(other.Line() == "recorded");
  CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
  CHECK(Read(memory, 1) == std::vector<unsigned char>{9});
  other.Continue();
  CHECK(other.Line() == "ok");
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(memory) == CUDA_SUCCESS);
}

TEST_CASE("ipc: pools and physical memory as descriptors") {
  const Session session;
  constexpr size_t kBytes = 100000;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = nullptr, plain = nullptr;
  REQUIRE(cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS);
  CUdeviceptr first = 0, memory = 0, private_memory = 0;
  REQUIRE(cuMemAllocFromPoolAsync(&first, 700, pool, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocFromPoolAsync(&memory, kBytes, pool, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  Write(memory, Pattern(kBytes, 1));
  int file = -1;
  REQUIRE(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_SUCCESS);
  CUmemPoolPtrExportData data{};
  REQUIRE(cuMemPoolExportPointer(&data, memory) == CUDA_SUCCESS);
  {
    Other other("pool", ToHex(data), std::to_string(kBytes), file);
    CHECK(other.Line() == "ok");
  }
  CHECK(Read(memory, kBytes) == Pattern(kBytes, 2));
  close(file);
  // A pool that was not made to be shared.
  REQUIRE(cuDeviceGetDefaultMemPool(&plain, 0) == CUDA_SUCCESS);
  CHECK(cuMemPoolExportToShareableHandle(&file, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemAllocAsync(&private_memory, 16, nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolExportPointer(&data, private_memory) == CUDA_ERROR_INVALID_VALUE);
  for (const CUdeviceptr each : {first, memory, private_memory})
    CHECK(cuMemFreeAsync(each, nullptr) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  CHECK(cuMemPoolDestroy(pool) == CUDA_SUCCESS);

  constexpr size_t kGrain = 2 << 20;
  CUmemAllocationProp physical{};
  physical.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  physical.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  physical.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr at = 0;
  REQUIRE(cuMemCreate(&handle, kGrain, &physical, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemAddressReserve(&at, kGrain, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(at, kGrain, 0, handle, 0) == CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  REQUIRE(cuMemSetAccess(at, kGrain, &access, 1) == CUDA_SUCCESS);
  Write(at, Pattern(kGrain, 1));
  REQUIRE(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_SUCCESS);
  {
    Other other("virtual", "-", std::to_string(kGrain), file);
    CHECK(other.Line() == "ok");
  }
  CHECK(Read(at, kGrain) == Pattern(kGrain, 2));
  close(file);
  CHECK(cuMemUnmap(at, kGrain) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(at, kGrain) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
}

TEST_CASE("ipc: wrong arguments") {
  const Session session;
  const CUdeviceptr memory = Allocate(4096);
  CUipcMemHandle handle = HandleOf(memory), none{};
  CUdeviceptr opened = 0;
  CHECK(cuIpcGetMemHandle(nullptr, memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcGetMemHandle(&none, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcOpenMemHandle_v2(&opened, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcOpenMemHandle_v2(&opened, none, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuIpcOpenMemHandle_v2(&opened, handle, 1) == CUDA_ERROR_INVALID_CONTEXT);  // its own process
  CHECK(cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr managed = 0;
  REQUIRE(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  CHECK(cuIpcGetMemHandle(&none, managed) == CUDA_ERROR_INVALID_VALUE);
  CUevent event = nullptr;
  CUipcEventHandle event_handle{};
  REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  CHECK(cuIpcGetEventHandle(&event_handle, event) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuIpcOpenEventHandle(&event, event_handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(managed) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(memory) == CUDA_SUCCESS);
}
