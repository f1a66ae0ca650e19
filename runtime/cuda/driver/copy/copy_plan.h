// Turns the copy that a program requests into the copy that a stream performs. This is the only place that
// decides which copies are legal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

class Array;

// The program's description of one end of a copy.
struct CopyEnd {
  cuda::CUmemorytype type = cuda::CU_MEMORYTYPE_UNIFIED;
  const void* pointer = nullptr;  // not of arrays
  cuda::CUarray array = nullptr;
  size_t x = 0, y = 0, z = 0;    // bytes, rows, slices
  size_t pitch = 0, height = 0;  // bytes of a row, rows of a slice; 0: as tight as the copy allows

  static CopyEnd Host(const void* pointer) { return {cuda::CU_MEMORYTYPE_HOST, pointer}; }
  static CopyEnd Device(cuda::CUdeviceptr pointer) {
    return {cuda::CU_MEMORYTYPE_DEVICE, reinterpret_cast<const void*>(pointer)};
  }
  static CopyEnd Unified(cuda::CUdeviceptr pointer) {
    return {cuda::CU_MEMORYTYPE_UNIFIED, reinterpret_cast<const void*>(pointer)};
  }
  static CopyEnd Elements(cuda::CUarray array, size_t x) {
    return {cuda::CU_MEMORYTYPE_ARRAY, nullptr, array, x};
  }
};

// The kind of memory that an end is in; it decides whether the program waits.
enum class EndKind : uint8_t { kPageable, kPinned, kManaged, kDevice };

struct CopyPlan {
  rt::CopyWork work;
  EndKind from = EndKind::kDevice, to = EndKind::kDevice;
  bool nothing = false;      // legal, and no byte to copy
  bool sync_memops = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of either end
  int from_device = -1, to_device = -1;
};

// Width in bytes; legal or CUDA_ERROR_INVALID_VALUE.
cuda::CUresult PlanCopy(const CopyEnd& from, const CopyEnd& to, size_t width, size_t height, size_t depth,
                        CopyPlan* plan);

// The ends of the API's structures.
struct CopyRequest {
  CopyEnd from, to;
  size_t width = 0, height = 1, depth = 1;
};
CopyRequest RequestOf(const cuda::CUDA_MEMCPY2D& copy);
CopyRequest RequestOf(const cuda::CUDA_MEMCPY3D& copy);
CopyRequest RequestOf(const cuda::CUDA_MEMCPY3D_PEER& copy);
inline cuda::CUresult PlanCopy(const CopyRequest& request, CopyPlan* plan) {
  return PlanCopy(request.from, request.to, request.width, request.height, request.depth, plan);
}

struct FillPlan {
  rt::FillWork work;
  EndKind to = EndKind::kDevice;
  bool nothing = false, sync_memops = false;
};
// Width in elements of 1, 2 or 4 bytes; a single row needs no pitch.
cuda::CUresult PlanFill(cuda::CUdeviceptr to, size_t pitch, uint32_t value, unsigned value_bytes,
                        size_t width, size_t height, FillPlan* plan);

}  // namespace ptx2cpu::driver
