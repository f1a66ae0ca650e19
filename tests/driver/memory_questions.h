// Questions to a CUDA driver about memory: legal and illegal calls, each with a label, and their results. The
// same source asks a real driver (record/record_answers.cpp, on a machine with a GPU; answers in
// memory_answers.txt) and ours (memory_answers_test.cpp). The includer brings the driver's names into scope.
// Only questions that every device answers alike are asked: no addresses, no sizes of a machine.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace memory_questions {

struct Answers {
  std::vector<std::pair<std::string, std::string>> list;
  void (*told)(const std::string& label, const std::string& answer) = nullptr;  // may be null

  // A result code, and what the call gave where it succeeded.
  template <typename... Values>
  void Add(const std::string& label, CUresult code, Values... values) {
    std::string text = std::to_string(static_cast<int>(code));
    if (code == CUDA_SUCCESS) ((text += " " + std::to_string(static_cast<long long>(values))), ...);
    list.emplace_back(label, text);
    if (told != nullptr) told(label, text);
  }
};

constexpr CUdeviceptr kNowhere = 0x10;

inline CUdeviceptr Address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

// One block of each kind of memory, 4096 bytes.
struct Blocks {
  static constexpr size_t kBytes = 4096;
  std::vector<char> pageable = std::vector<char>(3 * kBytes);
  CUdeviceptr device = 0, managed = 0, pool = 0;
  void *pinned = nullptr, *write_combined = nullptr;
  char* registered = nullptr;
  CUstream stream = nullptr;

  Blocks() {
    cuMemAlloc(&device, kBytes);
    cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL);
    cuMemAllocHost(&pinned, kBytes);
    cuMemHostAlloc(&write_combined, kBytes, CU_MEMHOSTALLOC_WRITECOMBINED);
    registered = static_cast<char*>(std::aligned_alloc(kBytes, 4 * kBytes));
    std::memset(registered, 0, 4 * kBytes);
    cuMemHostRegister(registered, kBytes, CU_MEMHOSTREGISTER_DEVICEMAP);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAllocAsync(&pool, kBytes, stream);
    cuStreamSynchronize(stream);
  }
  ~Blocks() {
    cuMemFreeAsync(pool, stream);
    cuStreamSynchronize(stream);
    cuStreamDestroy(stream);
    cuMemHostUnregister(registered);
    std::free(registered);
    cuMemFreeHost(write_combined);
    cuMemFreeHost(pinned);
    cuMemFree(managed);
    cuMemFree(device);
  }
  std::map<std::string, CUdeviceptr> All() const {
    return {{"device", device},
            {"managed", managed},
            {"pool", pool},
            {"pinned", Address(pinned)},
            {"registered", Address(registered)},
            {"pageable", Address(pageable.data())},
            {"nowhere", kNowhere}};
  }
};

inline void AskAllocation(Answers& a) {
  CUdeviceptr p = 0;
  void* h = nullptr;
  size_t pitch = 0;
  a.Add("alloc 0", cuMemAlloc(&p, 0));
  a.Add("alloc null", cuMemAlloc(nullptr, 16));
  a.Add("alloc 2^60", cuMemAlloc(&p, size_t{1} << 60));
  a.Add("alloc 1", cuMemAlloc(&p, 1), p % 256);
  a.Add("free inside", cuMemFree(p + 1));
  a.Add("free", cuMemFree(p));
  a.Add("free twice", cuMemFree(p));
  a.Add("free 0", cuMemFree(0));
  a.Add("free nowhere", cuMemFree(kNowhere));
  a.Add("free host null", cuMemFreeHost(nullptr));
  a.Add("alloc host 0", cuMemAllocHost(&h, 0));
  a.Add("host alloc 0", cuMemHostAlloc(&h, 0, 0));
  a.Add("host alloc null", cuMemHostAlloc(nullptr, 16, 0));
  a.Add("host alloc flags", cuMemHostAlloc(&h, 16, 0x100));
  a.Add("managed 0", cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
  a.Add("managed flags 0", cuMemAllocManaged(&p, 16, 0));
  a.Add("managed flags 3", cuMemAllocManaged(&p, 16, 3));
  a.Add("managed single", cuMemAllocManaged(&p, 16, CU_MEM_ATTACH_SINGLE));
  for (const unsigned element : {0u, 1u, 2u, 3u, 4u, 8u, 16u, 32u}) {
    const CUresult code = cuMemAllocPitch(&p, &pitch, 100, 3, element);
    a.Add("pitch of 100, element " + std::to_string(element), code, pitch);
    if (code == CUDA_SUCCESS) cuMemFree(p);
  }
  for (const size_t width : {1, 511, 512, 513, 1024, 1025, 5000}) {
    const CUresult code = cuMemAllocPitch(&p, &pitch, width, 2, 4);
    a.Add("pitch of " + std::to_string(width), code, pitch);
    if (code == CUDA_SUCCESS) cuMemFree(p);
  }
  a.Add("pitch width 0", cuMemAllocPitch(&p, &pitch, 0, 2, 4));
  a.Add("pitch height 0", cuMemAllocPitch(&p, &pitch, 4, 0, 4));
  cuMemAllocPitch(&p, &pitch, 100, 3, 4);
  CUdeviceptr base = 0;
  size_t size = 0;
  CUresult code = cuMemGetAddressRange(&base, &size, p + 5);
  a.Add("range of pitched 100 x 3", code, size, p - base);
  cuMemFree(p);
}

inline void AskHostMemory(Answers& a) {
  Blocks b;
  void* h = nullptr;
  CUdeviceptr p = 0;
  unsigned flags = 77;
  char* fresh = b.registered + 2 * Blocks::kBytes;
  a.Add("free of pinned", cuMemFree(Address(b.pinned)));
  a.Add("free host of device", cuMemFreeHost(reinterpret_cast<void*>(b.device)));
  a.Add("free host of managed", cuMemFreeHost(reinterpret_cast<void*>(b.managed)));
  a.Add("free host inside", cuMemFreeHost(static_cast<char*>(b.pinned) + 16));
  a.Add("free host of pageable", cuMemFreeHost(b.pageable.data()));
  a.Add("free host of registered", cuMemFreeHost(b.registered));
  a.Add("register again", cuMemHostRegister(b.registered, 4096, 0));
  a.Add("register overlap", cuMemHostRegister(b.registered + 2048, 4096, 0));
  a.Add("register of pinned", cuMemHostRegister(b.pinned, 4096, 0));
  a.Add("register 0", cuMemHostRegister(fresh, 0, 0));
  a.Add("register null", cuMemHostRegister(nullptr, 4096, 0));
  a.Add("register flags", cuMemHostRegister(fresh, 4096, 0x100));
  a.Add("register odd", cuMemHostRegister(fresh + 3, 77, 0));
  a.Add("register beside on its page", cuMemHostRegister(fresh + 1024, 77, 0));
  a.Add("unregister inside", cuMemHostUnregister(fresh + 4));
  a.Add("unregister odd", cuMemHostUnregister(fresh + 3));
  a.Add("unregister beside", cuMemHostUnregister(fresh + 1024));
  a.Add("unregister unknown", cuMemHostUnregister(b.pageable.data()));
  a.Add("unregister pinned", cuMemHostUnregister(b.pinned));
  a.Add("unregister null", cuMemHostUnregister(nullptr));
  a.Add("device pointer of pinned", cuMemHostGetDevicePointer(&p, b.pinned, 0), p == Address(b.pinned));
  a.Add("device pointer inside pinned", cuMemHostGetDevicePointer(&p, static_cast<char*>(b.pinned) + 5, 0),
        p == Address(b.pinned) + 5);
  a.Add("device pointer of registered", cuMemHostGetDevicePointer(&p, b.registered, 0),
        p == Address(b.registered));
  a.Add("device pointer flags", cuMemHostGetDevicePointer(&p, b.pinned, 1));
  a.Add("device pointer of pageable", cuMemHostGetDevicePointer(&p, b.pageable.data(), 0));
  a.Add("device pointer of managed", cuMemHostGetDevicePointer(&p, reinterpret_cast<void*>(b.managed), 0));
  a.Add("device pointer of device", cuMemHostGetDevicePointer(&p, reinterpret_cast<void*>(b.device), 0));
  a.Add("flags of pinned", cuMemHostGetFlags(&flags, b.pinned), flags);
  a.Add("flags of write combined", cuMemHostGetFlags(&flags, b.write_combined), flags);
  a.Add("flags inside pinned", cuMemHostGetFlags(&flags, static_cast<char*>(b.pinned) + 9), flags);
  a.Add("flags of registered", cuMemHostGetFlags(&flags, b.registered), flags);
  a.Add("flags of pageable", cuMemHostGetFlags(&flags, b.pageable.data()), flags);
  a.Add("flags of device", cuMemHostGetFlags(&flags, reinterpret_cast<void*>(b.device)), flags);
  for (const unsigned wanted : {0u, 1u, 2u, 4u, 7u}) {
    CUresult code = cuMemHostAlloc(&h, 64, wanted);
    if (code == CUDA_SUCCESS) code = cuMemHostGetFlags(&flags, h);
    a.Add("flags of host alloc " + std::to_string(wanted), code, flags);
    cuMemFreeHost(h);
  }
}

inline void AskPointerAttributes(Answers& a) {
  Blocks b;
  for (const auto& [name, pointer] : b.All()) {
    CUdeviceptr base = 0;
    size_t size = 0;
    CUresult code = cuMemGetAddressRange(&base, &size, pointer + 8);
    a.Add("address range " + name, code, size, pointer - base);
    for (int attribute = 1; attribute <= CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE; ++attribute) {
      if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) continue;
      unsigned long long value[2] = {0, 0};
      code = cuPointerGetAttribute(value, static_cast<CUpointer_attribute>(attribute), pointer + 8);
      unsigned long long shown = value[0];
      // Addresses and ids are not portable: whether they lead to the block is.
      if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
          attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
          attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        shown = value[0] - pointer;
      if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT || attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
          attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
        shown = value[0] != 0;
      // What a device can share or decompress, and how it maps, is its own affair.
      if (attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE ||
          attribute == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES ||
          attribute == CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE)
        continue;
      if (name == "pool" && (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                             attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE))
        continue;
      a.Add("attribute " + std::to_string(attribute) + " of " + name, code, shown);
    }
    // All at once: unknown memory is no error.
    CUcontext context = nullptr;
    unsigned type = 9, managed = 9;
    int ordinal = 9;
    CUdeviceptr device_pointer = 9;
    void* host_pointer = &b;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT,        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED,     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* data[] = {&context, &type, &managed, &ordinal, &device_pointer, &host_pointer};
    code = cuPointerGetAttributes(6, names, data, pointer + 8);
    a.Add("attributes of " + name, code, context != nullptr, type, managed, ordinal,
          device_pointer == 0 ? -1 : static_cast<long long>(device_pointer - pointer),
          host_pointer == nullptr ? -1 : static_cast<long long>(Address(host_pointer) - pointer));
    unsigned on = 1;
    a.Add("set sync memops of " + name,
          cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer));
    unsigned now = 9;
    a.Add("sync memops of " + name, cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer),
          now);
    a.Add("set memory type of " + name,
          cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
  }
  unsigned long long value = 0;
  a.Add("attribute 0", cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(0), b.device));
  a.Add("attribute 99", cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(99), b.device));
  a.Add("attribute into null", cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, b.device));
  a.Add("attribute of null", cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0));
  a.Add("no attributes", cuPointerGetAttributes(0, nullptr, nullptr, b.device));
  a.Add("range of null", cuMemGetAddressRange(nullptr, nullptr, b.device));
}

inline void AskCopies(Answers& a) {
  Blocks b;
  char host[64] = {};
  CUdeviceptr gone = 0;
  cuMemAlloc(&gone, 1 << 20);
  cuMemFree(gone);
  a.Add("h2d past the end", cuMemcpyHtoD(b.device + 4090, host, 16));
  a.Add("h2d from before", cuMemcpyHtoD(b.device - 4, host, 16));
  a.Add("h2d to null", cuMemcpyHtoD(0, host, 16));
  a.Add("h2d from null", cuMemcpyHtoD(b.device, nullptr, 16));
  a.Add("h2d to nothing", cuMemcpyHtoD(b.device, host, 0));
  a.Add("h2d to null, nothing", cuMemcpyHtoD(0, nullptr, 0));
  a.Add("h2d to nowhere, nothing", cuMemcpyHtoD(kNowhere, host, 0));
  a.Add("h2d to nowhere", cuMemcpyHtoD(kNowhere, host, 16));
  a.Add("h2d to freed", cuMemcpyHtoD(gone, host, 16));
  a.Add("d2h from null", cuMemcpyDtoH(host, 0, 16));
  a.Add("d2h to null", cuMemcpyDtoH(nullptr, b.device, 16));
  a.Add("d2h past the end", cuMemcpyDtoH(host, b.device + 4095, 2));
  a.Add("d2h from nowhere", cuMemcpyDtoH(host, kNowhere, 2));
  a.Add("d2d past the end", cuMemcpyDtoD(b.device, b.managed + 4000, 97));
  a.Add("d2d overlapping", cuMemcpyDtoD(b.device, b.device + 1, 97));
  a.Add("async past the end", cuMemcpyHtoDAsync(b.device + 4090, host, 16, b.stream));
  a.Add("async d2h past the end", cuMemcpyDtoHAsync(host, b.device + 4090, 16, b.stream));
  a.Add("unified past the end", cuMemcpy(b.device, b.device + 4090, 16));
  a.Add("unified from null", cuMemcpy(b.device, 0, 16));
  const auto all = b.All();
  // The stream and the default stream do not wait for each other, and both use the same memory.
  const auto in_turn = [] { cuCtxSynchronize(); };
  for (const auto& [name, pointer] : all) {
    if (name == "nowhere") continue;
    a.Add("h2d to " + name, cuMemcpyHtoD(pointer, host, 16));
    a.Add("h2d from " + name, cuMemcpyHtoD(b.device, reinterpret_cast<void*>(pointer), 16));
    a.Add("d2h from " + name, cuMemcpyDtoH(host, pointer, 16));
    a.Add("d2h to " + name, cuMemcpyDtoH(reinterpret_cast<void*>(pointer), b.device, 16));
    a.Add("d2d from " + name, cuMemcpyDtoD(b.device, pointer, 16));
    a.Add("d2d to " + name, cuMemcpyDtoD(pointer, b.device, 16));
    a.Add("unified to " + name, cuMemcpy(pointer, b.device, 16));
    a.Add("unified from " + name, cuMemcpy(b.device, pointer, 16));
    in_turn();
    a.Add("async h2d to " + name, cuMemcpyHtoDAsync(pointer, host, 16, b.stream));
    a.Add("async d2h from " + name, cuMemcpyDtoHAsync(host, pointer, 16, b.stream));
    in_turn();
    a.Add("h2d past the end of " + name,
          name == "pageable" ? CUDA_SUCCESS
                             : cuMemcpyHtoD(b.device, reinterpret_cast<void*>(pointer + 4090), 16));
    a.Add("memset of " + name, cuMemsetD8(pointer, 0, 16));
    in_turn();
    a.Add("memset async of " + name, cuMemsetD8Async(pointer, 0, 16, b.stream));
    in_turn();
  }
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  a.Add("peer", cuMemcpyPeer(b.device, context, b.managed, context, 16));
  a.Add("peer past the end", cuMemcpyPeer(b.device + 4090, context, b.managed, context, 16));
  a.Add("peer null context", cuMemcpyPeer(b.device, nullptr, b.managed, context, 16));
  cuCtxSynchronize();
}

inline void AskSets(Answers& a) {
  Blocks b;
  a.Add("set8 past the end", cuMemsetD8(b.device + 4090, 1, 16));
  a.Add("set8 nothing", cuMemsetD8(b.device, 1, 0));
  a.Add("set8 null nothing", cuMemsetD8(0, 1, 0));
  a.Add("set8 null", cuMemsetD8(0, 1, 1));
  a.Add("set16 odd", cuMemsetD16(b.device + 1, 1, 4));
  a.Add("set32 odd", cuMemsetD32(b.device + 2, 1, 4));
  a.Add("set32 past the end", cuMemsetD32(b.device, 1, 1025));
  a.Add("set2d8", cuMemsetD2D8(b.device, 64, 1, 60, 4));
  a.Add("set2d8 whole", cuMemsetD2D8(b.device, 64, 1, 64, 64));
  a.Add("set2d8 last row short", cuMemsetD2D8(b.device + 32, 64, 1, 32, 64));
  a.Add("set2d8 past the end", cuMemsetD2D8(b.device + 33, 64, 1, 32, 64));
  a.Add("set2d8 pitch below width", cuMemsetD2D8(b.device, 32, 1, 60, 4));
  a.Add("set2d8 pitch 0", cuMemsetD2D8(b.device, 0, 1, 60, 4));
  a.Add("set2d8 pitch 0, one row", cuMemsetD2D8(b.device, 0, 1, 60, 1));
  a.Add("set2d8 no width", cuMemsetD2D8(b.device, 64, 1, 0, 4));
  a.Add("set2d8 no height", cuMemsetD2D8(b.device, 64, 1, 4, 0));
  a.Add("set2d16 pitch odd", cuMemsetD2D16(b.device, 63, 1, 4, 4));
  a.Add("set2d16 address odd", cuMemsetD2D16(b.device + 1, 64, 1, 4, 4));
  a.Add("set2d32 pitch 62", cuMemsetD2D32(b.device, 62, 1, 4, 4));
  cuCtxSynchronize();  // the stream does not wait for the default stream
  a.Add("set2d32 async", cuMemsetD2D32Async(b.device, 64, 1, 4, 4, b.stream));
  cuCtxSynchronize();
}

}  // namespace memory_questions
