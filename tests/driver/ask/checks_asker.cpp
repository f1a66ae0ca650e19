// Programs that use memory after they freed it, free memory that is not allocated, and leave memory
// allocated. `checks_asker NAME [apart]` (checked_memory_test.cpp).
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
.visible .entry read(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [p];
  ld.global.u32 %r, [%a];
  ret;
}
.visible .entry write_byte(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [p]; mov.u32 %r, 1;
  st.global.u8 [%a], %r;
  ret;
}
.visible .entry paint(.param .u64 image, .param .u32 x) {
  .reg .b64 %i; .reg .b32 %x, %y;
  ld.param.u64 %i, [image]; ld.param.u32 %x, [x]; shl.b32 %x, %x, 2; mov.u32 %y, 3;
  sust.b.2d.b32.trap [%i, {%x, %y}], {%x};
  ret;
}
.extern .func (.param .b64 memory) malloc(.param .b64 size);
.extern .func free(.param .b64 memory);
.visible .entry keep_one_of_two() {
  .reg .b64 %a;
  { .param .b64 size; .param .b64 memory; st.param.b64 [size], 61;
    call (memory), malloc, (size); ld.param.b64 %a, [memory]; }
  { .param .b64 size; .param .b64 memory; st.param.b64 [size], 100;
    call (memory), malloc, (size); ld.param.b64 %a, [memory]; }
  { .param .b64 memory; st.param.b64 [memory], %a; call free, (memory); }
  ret;
}
)";

CUmodule module;
CUfunction fill;

void Begin() {
  CUcontext context;
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

// One thread of another kernel.
void Run(const char* what, const char* kernel, void** parameters) {
  CUfunction function;
  cuModuleGetFunction(&function, module, kernel);
  const CUresult launch = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  std::printf("%s: launch %d wait %d\n", what, launch, cuCtxSynchronize());
}
void Run(const char* what, const char* kernel, CUdeviceptr at) {
  void* parameters[] = {&at};
  Run(what, kernel, parameters);
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

// Memory is freed in a stream while earlier launches in it wait for the host. A launch after the free uses it
// too late.
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

void LeakOfDeviceHeap() {
  Begin();
  Run("kernel", "keep_one_of_two", static_cast<void**>(nullptr));
}

// The last row of an array of 16 x 4 words, and the word after it.
void ArrayBounds() {
  Begin();
  CUDA_ARRAY3D_DESCRIPTOR_v2 form = {};
  form.Width = 16, form.Height = 4, form.Format = CU_AD_FORMAT_UNSIGNED_INT32, form.NumChannels = 1;
  form.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  CUsurfObject surface = 0;
  if (cuArray3DCreate_v2(&resource.res.array.hArray, &form) != CUDA_SUCCESS ||
      cuSurfObjectCreate(&surface, &resource) != CUDA_SUCCESS)
    std::printf("no surface\n");
  for (unsigned x : {15u, 16u}) {
    void* parameters[] = {&surface, &x};
    Run("paint", "paint", parameters);
  }
}

// Fresh memory, of which fills, copies, kernels and the host write parts.
void FreshMemory() {
  Begin();
  const CUdeviceptr fresh = Allocate(256);
  Run("fresh", "read", fresh);
  cuMemsetD8_v2(fresh, 1, 3);
  Run("three bytes filled", "read", fresh);
  const unsigned word = 5;
  cuMemcpyHtoD_v2(fresh, &word, 2);
  cuMemcpyHtoD_v2(fresh + 3, &word, 1);
  Run("all copied", "read", fresh);
  cuMemcpyHtoD_v2(fresh + 8, &word, 2);
  Run("half copied", "read", fresh + 8);
  Run("a byte written", "write_byte", fresh + 16);
  Run("a byte written", "read", fresh + 16);
  cuMemcpyDtoD_v2(fresh + 32, fresh + 64, 4);
  Run("fresh, copied", "read", fresh + 32);
  cuMemcpyDtoD_v2(fresh + 32, fresh, 4);
  Run("written, copied", "read", fresh + 32);
  CUdeviceptr pooled = 0, managed = 0;
  cuMemAllocAsync(&pooled, 256, nullptr);
  Run("of a pool", "read", pooled);
  cuMemAllocManaged(&managed, 256, CU_MEM_ATTACH_GLOBAL);
  Run("managed", "read", managed);
  std::memset(reinterpret_cast<void*>(managed + 1), 0xb1, 3);  // what fresh memory may hold
  Run("host and kernel", "write_byte", managed);
  Run("host and kernel", "read", managed);
}

// An address that the hardware refuses.
void WildPointer() {
  Begin();
  Fill("wild", 1 << 20);
}

// Nothing orders the two launches.
void TwoStreams() {
  Begin();
  CUdeviceptr at = Allocate(256);
  CUstream streams[2];
  void* parameters[] = {&at};
  for (CUstream& stream : streams) {
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
  }
  std::printf("both: wait %d\n", cuCtxSynchronize());
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
                         {"leak_of_context", LeakOfContext},
                         {"leak_of_device_heap", LeakOfDeviceHeap},
                         {"array_bounds", ArrayBounds},
                         {"wild_pointer", WildPointer},
                         {"two_streams", TwoStreams},
                         {"fresh_memory", FreshMemory}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) dup2(STDOUT_FILENO, STDERR_FILENO);  // else the two streams stay apart
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  for (const Row& row : kRows) {
    if (argc >= 2 && row.name == argv[1]) return row.run(), 0;
  }
  return 2;
}
