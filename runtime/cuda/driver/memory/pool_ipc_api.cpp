// Pools that processes share: the file of a pool, and addresses in it.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/memory/pool_table.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::driver {

namespace {

// What a CUmemPoolPtrExportData holds.
struct PoolPlace {
  static constexpr uint64_t kMagic = 0x50325831504f4f4c;
  uint64_t magic = kMagic;
  uint64_t file = 0;  // the number of the pool's file
  uint64_t offset = 0, bytes = 0;
};

uint64_t NumberOf(int file) {
  struct stat about = {};
  return fstat(file, &about) == 0 ? about.st_ino : 0;
}

}  // namespace

CUresult cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* const found = From<MemoryPool>(pool);
  if (handle_out == nullptr || found == nullptr || flags != 0 || found->imports() != nullptr ||
      handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      found->properties().handleTypes != handleType) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  rt::ThreadPool::Get().launches().ShareMemory();
  const int copy = fcntl(found->file(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(handle_out) = copy;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool_out, void* handle,
                                            CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  if (pool_out == nullptr || flags != 0 || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  // The pointer holds the descriptor itself.
  Descriptor file(fcntl(static_cast<int>(reinterpret_cast<intptr_t>(handle)), F_DUPFD_CLOEXEC, 0));
  if (!file) return CUDA_ERROR_INVALID_VALUE;
  rt::ThreadPool::Get().launches().ShareMemory();
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = handleType;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  auto made = std::make_shared<MemoryPool>(properties, std::move(file));
  *pool_out = HandleOf(made.get());
  PoolTable::Get().Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  if (const CUresult error = CheckInitialised()) return error;
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(ptr));
  if (shareData_out == nullptr || !range || range->kind != RangeKind::kPool || IsGraphMemory(*range))
    return CUDA_ERROR_INVALID_VALUE;
  auto* const pool = static_cast<MemoryPool*>(range->owner);
  if (pool->imports() != nullptr || pool->file() < 0) return CUDA_ERROR_INVALID_VALUE;
  PoolPlace place;
  place.file = NumberOf(pool->file());
  place.offset = pool->blocks().OffsetOf(reinterpret_cast<const std::byte*>(range->base));
  place.bytes = range->size;
  *shareData_out = {};
  std::memcpy(shareData_out, &place, sizeof place);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData* shareData) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* const found = From<MemoryPool>(pool);
  if (ptr_out == nullptr || found == nullptr || shareData == nullptr || found->imports() == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  PoolPlace place;
  std::memcpy(&place, shareData, sizeof place);
  if (place.magic != PoolPlace::kMagic || place.bytes == 0 || place.file != NumberOf(found->file()))
    return CUDA_ERROR_INVALID_VALUE;
  std::byte* const block = found->imports()->Map(place.offset, place.bytes);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  found->outstanding.fetch_add(1);
  Range range;
  range.base = reinterpret_cast<uintptr_t>(block), range.size = place.bytes, range.owner = found;
  range.kind = RangeKind::kPool, range.device = found->properties().location.id;
  Allocations::Get().Insert(range);
  *ptr_out = range.base;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
