// Managed memory is plain memory here: every processor uses it where it is. Advice and prefetches are
// checked, kept and reported again.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/memory_advice.h"
#include "runtime/cuda/driver/memory/memory_probe.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

namespace {

// GPUs widen ranges to pages; small allocations that share a page have advice of their own here.
struct Bytes {
  uintptr_t begin = 0, end = 0;
};

Bytes BytesOf(CUdeviceptr pointer, size_t count) {
  return {static_cast<uintptr_t>(pointer), static_cast<uintptr_t>(pointer) + count};
}

bool InManaged(CUdeviceptr pointer, size_t count) {
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(pointer));
  return range && IsManaged(*range) && range->Holds(static_cast<uintptr_t>(pointer), count);
}

// Managed memory, or memory of the program's own.
CUresult CheckRange(CUdeviceptr pointer, size_t count) {
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (InManaged(pointer, count)) return CUDA_SUCCESS;
  const auto found = Allocations::Get().Look(static_cast<uintptr_t>(pointer));
  const bool unknown = !found.range && count <= found.end - static_cast<uintptr_t>(pointer);
  return unknown && Readable(reinterpret_cast<const void*>(pointer), count) ? CUDA_SUCCESS
                                                                            : CUDA_ERROR_INVALID_VALUE;
}

// A place for memory. `missing`: the error for a device that does not exist.
CUresult CheckPlace(const CUmemLocation& location, CUresult missing) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return Devices::Get().Find(location.id) == nullptr ? missing : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// How locations were named before CUDA 12.2.
CUmemLocation LocationOf(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

int DeviceOf(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id;
    case CU_MEM_LOCATION_TYPE_INVALID:
      return CU_DEVICE_INVALID;
    default:
      return CU_DEVICE_CPU;
  }
}

CUresult Advise(CUdeviceptr pointer, size_t count, CUmem_advise advice, CUmemLocation location) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = CheckRange(pointer, count)) return error;
  std::function<void(Advice&)> change;
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      change = [&](Advice& a) { a.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY; };
      break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      if (const CUresult error = CheckPlace(location, CUDA_ERROR_INVALID_VALUE)) return error;
      change = [&](Advice& a) { a.preferred = location; };
      break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      change = [&](Advice& a) { a.preferred = {CU_MEM_LOCATION_TYPE_INVALID, 0}; };
      break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      if (location.type != CU_MEM_LOCATION_TYPE_DEVICE && location.type != CU_MEM_LOCATION_TYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
      if (const CUresult error = CheckPlace(location, CUDA_ERROR_INVALID_VALUE)) return error;
      change = [&](Advice& a) {
        if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY) {
          a.accessed_by.insert(DeviceOf(location));
        } else {
          a.accessed_by.erase(DeviceOf(location));
        }
      };
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const Bytes bytes = BytesOf(pointer, count);
  if (InManaged(pointer, count)) AdviceMap::Get().Change(bytes.begin, bytes.end, change);
  return CUDA_SUCCESS;
}

CUresult CheckPrefetch(CUdeviceptr pointer, size_t count, const CUmemLocation& location) {
  if (const CUresult error = CheckRange(pointer, count)) return error;
  return CheckPlace(location, CUDA_ERROR_INVALID_DEVICE);
}

void NotePrefetch(CUdeviceptr pointer, size_t count, const CUmemLocation& location) {
  if (!InManaged(pointer, count)) return;
  const Bytes bytes = BytesOf(pointer, count);
  AdviceMap::Get().Change(bytes.begin, bytes.end, [&](Advice& advice) { advice.prefetched = location; });
}

CUresult Prefetch(CUdeviceptr pointer, size_t count, const CUmemLocation& location, unsigned flags,
                  CUstream handle) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = CheckPrefetch(pointer, count, location)) return error;
  NotePrefetch(pointer, count, location);
  return CUDA_SUCCESS;
}

// One location for all pieces, or none.
CUmemLocation Agreed(const Bytes& bytes, CUmemLocation Advice::* which) {
  std::optional<CUmemLocation> agreed;
  bool differ = false;
  AdviceMap::Get().Look(bytes.begin, bytes.end, [&](const Advice& advice) {
    const CUmemLocation& here = advice.*which;
    if (agreed && (agreed->type != here.type || agreed->id != here.id)) differ = true;
    agreed = here;
  });
  return differ || !agreed ? CUmemLocation{CU_MEM_LOCATION_TYPE_INVALID, 0} : *agreed;
}

// The processors that are named for all pieces: devices in order, then the host; the rest of the list is
// filled.
std::vector<int> AccessedBy(const Bytes& bytes, size_t count) {
  std::optional<std::set<int>> all;
  AdviceMap::Get().Look(bytes.begin, bytes.end, [&](const Advice& advice) {
    if (!all) all = advice.accessed_by;
    std::erase_if(*all, [&](int device) { return !advice.accessed_by.contains(device); });
  });
  std::vector<int> list;
  if (all) {
    for (const int device : *all) {
      if (device != CU_DEVICE_CPU) list.push_back(device);
    }
    if (all->contains(CU_DEVICE_CPU)) list.push_back(CU_DEVICE_CPU);
  }
  list.resize(count, CU_DEVICE_INVALID);
  return list;
}

CUresult RangeAttribute(void* data, size_t size, CUmem_range_attribute attribute, const Bytes& bytes) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::vector<int> list = AccessedBy(bytes, size / sizeof(int));
    std::memcpy(data, list.data(), size);
    return CUDA_SUCCESS;
  }
  if (size != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  int value = 1;
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      AdviceMap::Get().Look(bytes.begin, bytes.end,
                            [&](const Advice& advice) { value &= advice.read_mostly ? 1 : 0; });
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      value = DeviceOf(Agreed(bytes, &Advice::preferred));
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      value = Agreed(bytes, &Advice::preferred).type;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      value = Agreed(bytes, &Advice::preferred).id;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      value = DeviceOf(Agreed(bytes, &Advice::prefetched));
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      value = Agreed(bytes, &Advice::prefetched).type;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      value = Agreed(bytes, &Advice::prefetched).id;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// Batches: the null stream is refused.
CUresult CheckBatch(CUdeviceptr* pointers, size_t* sizes, size_t count, unsigned long long flags,
                    CUstream handle) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  if (stream->role() == StreamObject::Role::kLegacy || pointers == nullptr || sizes == nullptr ||
      count == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    if (const CUresult error = CheckRange(pointers[i], sizes[i])) return error;
  }
  return CUDA_SUCCESS;
}

CUresult PrefetchBatch(CUdeviceptr* pointers, size_t* sizes, size_t count, CUmemLocation* locations,
                       size_t* first, size_t location_count, unsigned long long flags, CUstream stream) {
  if (const CUresult error = CheckBatch(pointers, sizes, count, flags, stream)) return error;
  if (locations == nullptr || first == nullptr || location_count == 0 || location_count > count ||
      first[0] != 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t k = 0; k < location_count; ++k) {
    if ((k > 0 && first[k] <= first[k - 1]) || first[k] >= count) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = CheckPlace(locations[k], CUDA_ERROR_INVALID_DEVICE)) return error;
  }
  for (size_t i = 0, k = 0; i < count; ++i) {
    if (k + 1 < location_count && first[k + 1] == i) ++k;
    NotePrefetch(pointers[i], sizes[i], locations[k]);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  return Advise(devPtr, count, advice, LocationOf(device));
}
CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location) {
  return Advise(devPtr, count, advice, location);
}
CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) {
  return Prefetch(devPtr, count, LocationOf(dstDevice), 0, hStream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                               CUstream hStream) {
  return Prefetch(devPtr, count, location, flags, hStream);
}

CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (count == 0 || !InManaged(devPtr, count)) return CUDA_ERROR_INVALID_VALUE;
  return RangeAttribute(data, dataSize, attribute, BytesOf(devPtr, count));
}

CUresult cuMemRangeGetAttributes(void** data, size_t* dataSizes, CUmem_range_attribute* attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (data == nullptr || dataSizes == nullptr || attributes == nullptr || numAttributes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (count == 0 || !InManaged(devPtr, count)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < numAttributes; ++i) {
    if (const CUresult error = RangeAttribute(data[i], dataSizes[i], attributes[i], BytesOf(devPtr, count)))
      return error;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs,
                                 size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                 CUstream hStream) {
  return PrefetchBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream);
}
// What is discarded may be read as anything until it is written again: as what it was, for one.
CUresult cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, unsigned long long flags,
                                CUstream hStream) {
  return CheckBatch(dptrs, sizes, count, flags, hStream);
}
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                           CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                           size_t numPrefetchLocs, unsigned long long flags,
                                           CUstream hStream) {
  return PrefetchBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream);
}

}  // namespace ptx2cpu::driver
