// What is known about an address.
#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/memory/virtual_memory.h"

namespace ptx2cpu::driver {

namespace {

template <typename T>
CUresult Put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

bool OnHost(const Range& range) { return !range.OnDevice(); }
bool HostMayUse(const Range& range) { return OnHost(range) || IsManaged(range); }

CUresult AnswerAccess(void* data, const Range& range, const Context& context) {
  int flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const int device = context.device().ordinal();
  if (range.kind == RangeKind::kPool) {
    flags = static_cast<const MemoryPool*>(range.owner)->Access(device);
  } else if (range.kind == RangeKind::kVirtual) {
    flags = VirtualAccess(range.base, device);
  }
  return Put<unsigned>(data, static_cast<unsigned>(flags));
}

// The range that the address belongs to: for mapped memory the reservation, else the allocation.
CUresult AnswerWhole(void* data, CUpointer_attribute attribute, const Range& range) {
  uintptr_t base = range.base;
  size_t size = range.size;
  if (range.kind == RangeKind::kVirtual) FindReservation(range.base, &base, &size);
  return attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ? Put<CUdeviceptr>(data, base)
                                                            : Put<size_t>(data, size);
}

CUresult AnswerAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer, const Range& range,
                         const Context& context) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Put<CUcontext>(
          data, range.context == nullptr ? nullptr : HandleOf(static_cast<const Context*>(range.context)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Put<unsigned>(data, OnHost(range) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Put<CUdeviceptr>(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return HostMayUse(range) ? Put<CUdeviceptr>(data, pointer) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Put<unsigned>(data, range.sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Put<unsigned long long>(data, range.buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Put<unsigned>(data, IsManaged(range) ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Put<int>(data, range.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return AnswerWhole(data, attribute, range);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Put<unsigned>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Put<unsigned long long>(data,
                                     range.kind == RangeKind::kVirtual ? AllowedHandleTypes(range) : 0ull);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return AnswerAccess(data, range, context);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Put<CUmemoryPool>(data, range.kind == RangeKind::kPool && !IsGraphMemory(range)
                                         ? HandleOf(static_cast<const MemoryPool*>(range.owner))
                                         : nullptr);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Put<size_t>(data, range.size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Put<CUdeviceptr>(data, range.base);
    // No device memory leaves the process, or is decompressed by hardware.
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Put<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:  // for a kernel module that does not exist
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

std::optional<Range> Known(CUdeviceptr pointer) {
  auto range = Allocations::Get().Find(static_cast<uintptr_t>(pointer));
  if (range && range->kind == RangeKind::kArray) range.reset();
  return range;
}

// What cuPointerGetAttributes returns for attributes without a value.
CUresult ReturnNothing(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Put<int>(data, CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:  // memory of the program's own is where it is
      return Put<CUdeviceptr>(data, pointer);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Put<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Put<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  const auto range = Known(ptr);
  if (data == nullptr || !range) return CUDA_ERROR_INVALID_VALUE;
  return AnswerAttribute(data, attribute, ptr, *range, *context);
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (numAttributes == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto range = Known(ptr);
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool no_host_pointer =
        range && attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && !HostMayUse(*range);
    const CUresult result = no_host_pointer ? Put<void*>(data[i], nullptr)
                            : range         ? AnswerAttribute(data[i], attributes[i], ptr, *range, *context)
                                            : ReturnNothing(data[i], attributes[i], ptr);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !Known(ptr))
    return CUDA_ERROR_INVALID_VALUE;
  unsigned on = 0;
  std::memcpy(&on, value, sizeof on);
  if (on != 0)
    context->streams().Synchronize();  // operations that were begun before it are done when this returns
  Allocations::Get().Update(static_cast<uintptr_t>(ptr), [&](Range& range) { range.sync_memops = on != 0; });
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
