#include "runtime/cuda/driver/memory/virtual_memory_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cuda/driver/context/memory_limits.h"
#include "runtime/cuda/driver/memory/virtual_memory.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::driver {

using namespace cuda;

PhysicalMemory::~PhysicalMemory() {
  if (file >= 0) close(file);
  if (counted) MemoryLimits::Get().GiveBack(bytes);
}

VirtualMemory& VirtualMemory::Get() {
  static auto* all = new VirtualMemory;
  return *all;
}

VirtualMemory::Mappings::iterator VirtualMemory::MappingAt(uintptr_t address) {
  auto next = mappings_.upper_bound(address);
  if (next == mappings_.begin()) return mappings_.end();
  --next;
  return address - next->first < next->second.bytes ? next : mappings_.end();
}

bool VirtualMemory::InReservation(uintptr_t begin, size_t bytes) {
  auto next = reservations_.upper_bound(begin);
  if (next == reservations_.begin()) return false;
  --next;
  const size_t offset = begin - next->first;
  return offset <= next->second && bytes <= next->second - offset;
}

CUmemGenericAllocationHandle VirtualMemory::AddHandle(std::shared_ptr<PhysicalMemory> memory) {
  const auto handle = next_handle_++;
  handles_.emplace(handle, Handle{std::move(memory), 1});
  return handle;
}

CUresult VirtualMemory::Reserve(size_t bytes, size_t alignment, CUdeviceptr wanted, CUdeviceptr* made) {
  if (alignment < kVirtualGrain) alignment = kVirtualGrain;
  if (bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex_);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* hint = wanted % alignment == 0 ? reinterpret_cast<void*>(wanted) : nullptr;
  void* mapping = hint == nullptr ? MAP_FAILED : mmap(hint, bytes, PROT_NONE, kFlags, -1, 0);
  if (mapping != MAP_FAILED && reinterpret_cast<uintptr_t>(mapping) % alignment != 0) {
    munmap(mapping, bytes);
    mapping = MAP_FAILED;
  }
  if (mapping == MAP_FAILED) {  // more than needed, then what is left and right of it goes
    void* wide = mmap(nullptr, bytes + alignment, PROT_NONE, kFlags, -1, 0);
    if (wide == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto low = reinterpret_cast<uintptr_t>(wide);
    const uintptr_t base = (low + alignment - 1) / alignment * alignment;
    if (base != low) munmap(wide, base - low);
    if (low + alignment != base) munmap(reinterpret_cast<void*>(base + bytes), low + alignment - base);
    mapping = reinterpret_cast<void*>(base);
  }
  reservations_.emplace(reinterpret_cast<uintptr_t>(mapping), bytes);
  *made = reinterpret_cast<CUdeviceptr>(mapping);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::FreeReservation(CUdeviceptr base, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(static_cast<uintptr_t>(base));
  if (found == reservations_.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = mappings_.lower_bound(found->first);
  if (mapped != mappings_.end() && mapped->first < found->first + bytes) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(base), bytes);
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Create(size_t bytes, const CUmemAllocationProp& properties,
                               CUmemGenericAllocationHandle* made) {
  auto memory = std::make_shared<PhysicalMemory>();
  if (!MemoryLimits::Get().Take(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  memory->bytes = bytes, memory->properties = properties, memory->counted = true;
  memory->file = memfd_create("ptx2cpu", MFD_CLOEXEC);
  if (memory->file < 0 || ftruncate(memory->file, static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex_);
  *made = AddHandle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.uses == 0) handles_.erase(found);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  // Parts of an allocation cannot be mapped, as on GPUs.
  if (bytes != found->second.memory->bytes || at % kVirtualGrain != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const auto begin = static_cast<uintptr_t>(at);
  if (!InReservation(begin, bytes) || MappingAt(begin) != mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto next = mappings_.lower_bound(begin);
  if (next != mappings_.end() && next->first - begin < bytes) return CUDA_ERROR_INVALID_VALUE;
  void* mapped = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                      found->second.memory->file, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  mappings_.emplace(begin, Mapping{bytes, found->second.memory, handle, {}});
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Unmap(CUdeviceptr at, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto begin = static_cast<uintptr_t>(at);
  if (bytes == 0 || !InReservation(begin, bytes)) return CUDA_ERROR_INVALID_VALUE;
  // Complete mappings, any number of them.
  auto last = mappings_.lower_bound(begin);
  const auto first = last;
  const auto around = MappingAt(begin);
  if (around != mappings_.end() && around->first != begin) return CUDA_ERROR_INVALID_VALUE;
  for (; last != mappings_.end() && last->first < begin + bytes; ++last) {
    if (last->first + last->second.bytes > begin + bytes) return CUDA_ERROR_INVALID_VALUE;
  }
  for (auto it = first; it != last; ++it) {
    const void* hole = mmap(reinterpret_cast<void*>(it->first), it->second.bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (hole == MAP_FAILED) {  // the process has as many mappings as it may
      mappings_.erase(first, it);
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    Allocations::Get().Remove(it->first,
                              [](const Range& range) { return range.kind == RangeKind::kVirtual; });
  }
  mappings_.erase(first, last);
  return CUDA_SUCCESS;
}

// One address space serves all devices and the host: a page can be used if any of them may.
bool VirtualMemory::Protect(Mappings::value_type& mapping) {
  int protection = PROT_NONE;
  for (const auto& [device, flags] : mapping.second.access) {
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ) protection |= PROT_READ;
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) protection |= PROT_READ | PROT_WRITE;
  }
  if (mprotect(reinterpret_cast<void*>(mapping.first), mapping.second.bytes, protection) != 0) return false;
  Range range;
  range.base = mapping.first, range.size = mapping.second.bytes, range.kind = RangeKind::kVirtual;
  range.owner = mapping.second.memory.get();
  const CUmemLocation& home = mapping.second.memory->properties.location;
  range.device = home.type == CU_MEM_LOCATION_TYPE_DEVICE ? home.id : 0;
  // Known to copies as long as it may be used.
  if (protection == PROT_NONE) {
    Allocations::Get().Remove(range.base,
                              [](const Range& there) { return there.kind == RangeKind::kVirtual; });
  } else {
    Allocations::Get().Insert(range);
  }
  return true;
}

CUresult VirtualMemory::SetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc* wanted, size_t count) {
  const std::lock_guard lock(mutex_);
  const auto begin = static_cast<uintptr_t>(at);
  auto it = mappings_.find(begin);
  uintptr_t covered = begin;
  for (; it != mappings_.end() && it->first == covered && covered < begin + bytes; ++it)
    covered += it->second.bytes;
  if (bytes == 0 || covered != begin + bytes)
    return CUDA_ERROR_INVALID_VALUE;  // complete mappings without a gap
  for (auto mapping = mappings_.find(begin); mapping != it; ++mapping) {
    for (size_t i = 0; i < count; ++i) {
      mapping->second
          .access[wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE ? wanted[i].location.id : -1] =
          wanted[i].flags;
    }
    if (!Protect(*mapping)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::GetAccess(CUdeviceptr at, const CUmemLocation& location, unsigned long long* flags) {
  const std::lock_guard lock(mutex_);
  const auto mapping = MappingAt(static_cast<uintptr_t>(at));
  if (mapping == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto& access = mapping->second.access;
  const auto found = access.find(location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : -1);
  *flags = found == access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Retain(uintptr_t address, CUmemGenericAllocationHandle* handle) {
  const std::lock_guard lock(mutex_);
  const auto mapping = MappingAt(address);
  if (mapping == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto found = handles_.find(mapping->second.handle);
  if (found != handles_.end()) {
    ++found->second.uses;
  } else {
    handles_.emplace(mapping->second.handle, Handle{mapping->second.memory, 1});
  }
  *handle = mapping->second.handle;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Export(CUmemGenericAllocationHandle handle, int* file) {
  rt::ThreadPool::Get().launches().ShareMemory();
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (found->second.memory->properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  const int copy = fcntl(found->second.memory->file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *file = copy;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Import(int file, CUmemGenericAllocationHandle* made) {
  rt::ThreadPool::Get().launches().ShareMemory();
  struct stat about = {};
  if (fstat(file, &about) != 0 || about.st_size <= 0 ||
      static_cast<size_t>(about.st_size) % kVirtualGrain != 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto memory = std::make_shared<PhysicalMemory>();
  memory->bytes = static_cast<size_t>(about.st_size);
  memory->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  memory->properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  memory->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (memory->file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  const std::lock_guard lock(mutex_);
  *made = AddHandle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  *properties = found->second.memory->properties;
  return CUDA_SUCCESS;
}

bool VirtualMemory::Find(uintptr_t address, uintptr_t* base, size_t* size) {
  const std::lock_guard lock(mutex_);
  auto next = reservations_.upper_bound(address);
  if (next == reservations_.begin()) return false;
  --next;
  if (address - next->first >= next->second) return false;
  *base = next->first, *size = next->second;
  return true;
}

int VirtualMemory::Access(uintptr_t address, int device) {
  const std::lock_guard lock(mutex_);
  const auto mapping = MappingAt(address);
  if (mapping == mappings_.end()) return CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const auto found = mapping->second.access.find(device);
  return found == mapping->second.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
}

void FindReservation(uintptr_t address, uintptr_t* base, size_t* size) {
  VirtualMemory::Get().Find(address, base, size);
}
int VirtualAccess(uintptr_t address, int device) { return VirtualMemory::Get().Access(address, device); }
unsigned long long AllowedHandleTypes(const Range& range) {
  return static_cast<unsigned long long>(
      static_cast<const PhysicalMemory*>(range.owner)->properties.requestedHandleTypes);
}

}  // namespace ptx2cpu::driver
