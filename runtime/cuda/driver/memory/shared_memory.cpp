#include "runtime/cuda/driver/memory/shared_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::driver {

using namespace cuda;

SharedMemory& SharedMemory::Get() {
  static auto* all = new SharedMemory;  // programs free memory in destructors
  return *all;
}

// The pages keep their address and content.
bool SharedMemory::Share(std::byte* begin, size_t bytes, Exported& exported) {
  rt::ThreadPool::Get().launches().ShareMemory();
  exported.file = Descriptor(memfd_create("ptx2cpu-shared", MFD_CLOEXEC));
  exported.bytes = bytes;
  if (!exported.file || ftruncate(exported.file.number(), static_cast<off_t>(bytes)) != 0) return false;
  void* const copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, exported.file.number(), 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, begin, bytes);
  munmap(copy, bytes);
  if (!ExportServer::Get().Add(exported.file.number(), exported.name)) return false;
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, exported.file.number(), 0) !=
      MAP_FAILED) {
    return true;
  }
  ExportServer::Get().Remove(exported.name);
  return false;
}

CUresult SharedMemory::Export(const Range& range, SharedPlace& place) {
  const MemoryHeap::Pages pages = MemoryHeap::Get().PagesOf(reinterpret_cast<void*>(range.base), range.size);
  const std::lock_guard lock(mutex_);
  auto found = exported_.find(pages.begin);
  if (found == exported_.end()) {
    Exported fresh;
    if (!Share(pages.begin, pages.bytes, fresh)) return CUDA_ERROR_OPERATING_SYSTEM;
    found = exported_.emplace(pages.begin, std::move(fresh)).first;
    exports_.store(exported_.size());
  }
  place.device = range.device;
  place.name = found->second.name;
  place.file_bytes = found->second.bytes;
  place.offset = range.base - reinterpret_cast<uintptr_t>(pages.begin);
  place.bytes = range.size;
  return CUDA_SUCCESS;
}

void SharedMemory::Withdraw(const Range& range) {
  if (exports_.load() == 0) return;
  const MemoryHeap::Pages pages = MemoryHeap::Get().PagesOf(reinterpret_cast<void*>(range.base), range.size);
  if (pages.shared) return;  // a slab has other allocations in it
  const std::lock_guard lock(mutex_);
  const auto found = exported_.find(pages.begin);
  if (found == exported_.end()) return;
  ExportServer::Get().Remove(found->second.name);
  // Other processes that have it open keep what is in it now.
  constexpr int kFresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(pages.begin, pages.bytes, PROT_READ | PROT_WRITE, kFresh, -1, 0) == MAP_FAILED) return;
  exported_.erase(found);
  exports_.store(exported_.size());
}

CUresult SharedMemory::Open(const SharedPlace& place, const void* context, CUdeviceptr* address) {
  if (place.magic != SharedPlace::kMagic || place.bytes == 0 || place.offset > place.file_bytes ||
      place.bytes > place.file_bytes - place.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(mutex_);
  auto found = imported_.find(place.name);
  if (found == imported_.end()) {
    const Descriptor file = ExportServer::Fetch(place.name);
    struct stat about = {};
    if (!file || fstat(file.number(), &about) != 0 ||
        static_cast<uint64_t>(about.st_size) != place.file_bytes)
      return CUDA_ERROR_INVALID_HANDLE;
    void* const base = mmap(nullptr, place.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    rt::ThreadPool::Get().launches().ShareMemory();
    found =
        imported_.emplace(place.name, Imported{static_cast<std::byte*>(base), place.file_bytes, {}}).first;
  }
  Imported& imported = found->second;
  const uintptr_t at = reinterpret_cast<uintptr_t>(imported.base) + place.offset;
  if (imported.uses[at]++ == 0) {
    Range range;
    range.base = at, range.size = place.bytes, range.kind = RangeKind::kDevice;
    range.device = place.device, range.context = context, range.owner = &imported;
    Allocations::Get().Insert(range);
  }
  *address = at;
  return CUDA_SUCCESS;
}

bool SharedMemory::Opened(const Range& range) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(imported_, [&](const auto& entry) { return &entry.second == range.owner; });
}

CUresult SharedMemory::Close(const Range& range) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(imported_, [&](const auto& entry) { return &entry.second == range.owner; });
  if (found == imported_.end()) return CUDA_ERROR_INVALID_VALUE;
  Imported& imported = found->second;
  const auto use = imported.uses.find(range.base);
  if (use == imported.uses.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--use->second > 0) return CUDA_SUCCESS;
  imported.uses.erase(use);
  Allocations::Get().Remove(range.base, [&](const Range& there) { return there.owner == &imported; });
  if (!imported.uses.empty()) return CUDA_SUCCESS;
  munmap(imported.base, imported.bytes);
  imported_.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
