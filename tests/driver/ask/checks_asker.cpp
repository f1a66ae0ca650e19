// Programs that use memory after they freed it, free what is not theirs to free, and free too little.
// `checks_asker NAME` (checked_memory_test.cpp).
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "driver_api.h"
#include "runtime/cuda/driver/core/exports.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

namespace {

constexpr char kPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry fill(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [p]; mov.u32 %r, %tid.x; mad.wide.u32 %a, %r, 4, %a;
  st.global.u32 [%a], %r;
  ret;
}
)";

CUfunction fill;

void Begin() {
  CUcontext context;
  CUmodule module;
  const bool good = cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                    cuCtxSetCurrent(context) == CUDA_SUCCESS &&
                    cuModuleLoadData(&module, kPtx) == CUDA_SUCCESS &&
                    cuModuleGetFunction(&fill, module, "fill") == CUDA_SUCCESS;
  if (!good) std::printf("no kernel\n");
}

void Fill(const char* what, CUdeviceptr at) {
  void* parameters[] = {&at};
  const CUresult launch = cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  std::printf("%s: launch %d wait %d\n", what, launch, cuCtxSynchronize());
}

// Not inlined: it is one call of the driver.
[[gnu::noinline]] CUdeviceptr Allocate(size_t bytes) {
  CUdeviceptr made = 0;
  if (cuMemAlloc_v2(&made, bytes) != CUDA_SUCCESS) std::printf("no memory\n");
  return made;
}

// Small and large blocks, of the heap and of a pool. Blocks of the same size follow, which must not take the
// place of those that were freed.
void UseAfterFree() {
  Begin();
  const CUdeviceptr small = Allocate(400), large = Allocate(1 << 20);
  Fill("allocated", small);
  cuMemFree_v2(small);
  cuMemFree_v2(large);
  const CUdeviceptr next = Allocate(400);
  std::printf("%s place\n", next == small ? "the same" : "another");
  Fill("next", next);
  Fill("small", small + 40);
  Fill("large", large);
  CUdeviceptr pooled = 0;
  cuMemAllocAsync(&pooled, 256, nullptr);
  Fill("pooled", pooled);
  cuMemFreeAsync(pooled, nullptr);
  Fill("pooled", pooled);
}

void BadFree() {
  Begin();
  const CUdeviceptr first = Allocate(400), second = Allocate(1 << 20);
  std::printf("first %d", cuMemFree_v2(first));
  std::printf(" again %d", cuMemFree_v2(first));
  std::printf(" inside %d", cuMemFree_v2(second + 512));
  std::printf(" as of the host %d", cuMemFreeHost(reinterpret_cast<void*>(second)));
  std::printf(" stack %d", cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(&first), nullptr));
  std::printf(" second %d\n", cuMemFree_v2(second));
}

// 64 threads write 256 bytes, the width of a row; then begin 4 bytes into one.
void PitchedRows() {
  Begin();
  CUdeviceptr rows = 0;
  size_t pitch = 0;
  if (cuMemAllocPitch_v2(&rows, &pitch, 256, 4, 4) != CUDA_SUCCESS) std::printf("no memory\n");
  Fill("first", rows);
  Fill("last", rows + 3 * pitch);
  Fill("beyond", rows + 2 * pitch + 4);
  cuMemFree_v2(rows);
}

// Memory of the host that nothing has made known to the driver, and that a kernel is given.
void HostMemory() {
  Begin();
  static unsigned plain[64], registered[64];
  int pageable = -1;
  cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0);
  std::printf("pageable memory: %d\n", pageable);
  Fill("plain", reinterpret_cast<CUdeviceptr>(plain));
  cuMemHostRegister_v2(registered, sizeof registered, 0);
  Fill("registered", reinterpret_cast<CUdeviceptr>(registered));
}

// Memory that is freed in a stream, while launches before that wait there for the host. A later launch is
// late.
void FreedInStream() {
  Begin();
  static std::atomic<bool> go = false;
  CUstream stream;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUdeviceptr pooled = 0, plain = Allocate(256);
  cuMemAllocAsync(&pooled, 256, stream);
  cuStreamSynchronize(stream);
  cuLaunchHostFunc(
      stream,
      [](void*) {
        while (!go) usleep(100);
      },
      nullptr);
  for (CUdeviceptr* at : {&pooled, &plain}) {
    void* parameters[] = {at};
    cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
    std::printf("free %d ", cuMemFreeAsync(*at, stream));
  }
  go = true;
  std::printf("wait %d\n", cuStreamSynchronize(stream));
  std::fflush(stdout);
  void* parameters[] = {&pooled};
  cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
  std::printf("late: wait %d\n", cuStreamSynchronize(stream));
}

// Freed blocks are kept, but not so that a program has less memory than without checks.
void ManyFreed() {
  Begin();
  size_t free = 0, total = 0;
  cuMemGetInfo_v2(&free, &total);
  int failed = 0;
  for (int i = 0; i < 64; ++i) {
    CUdeviceptr half = 0;
    if (cuMemAlloc_v2(&half, total / 2) == CUDA_SUCCESS) {
      cuMemFree_v2(half);
    } else {
      ++failed;
    }
  }
  std::printf("failed %d\n", failed);
}

void Leak() {
  Begin();
  const CUdeviceptr freed = Allocate(100);
  for (int i = 0; i < 3; ++i) Allocate(4000);
  CUdeviceptr pooled = 0;
  cuMemAllocAsync(&pooled, 256, nullptr);
  cuMemFree_v2(freed);
}

// A context that ends frees what is left.
void LeakOfContext() {
  Begin();
  Allocate(4000);
  std::printf("reset %d\n", cuDevicePrimaryCtxReset_v2(0));
}

struct Row {
  std::string_view name;
  void (*run)();
};
constexpr Row kRows[] = {{"use_after_free", UseAfterFree},
                         {"bad_free", BadFree},
                         {"many_freed", ManyFreed},
                         {"pitched_rows", PitchedRows},
                         {"host_memory", HostMemory},
                         {"freed_in_stream", FreedInStream},
                         {"leak", Leak},
                         {"leak_of_context", LeakOfContext}};

}  // namespace

int main(int argc, char** argv) {
  dup2(STDOUT_FILENO, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  for (const Row& row : kRows) {
    if (argc == 2 && row.name == argv[1]) return row.run(), 0;
  }
  return 2;
}
