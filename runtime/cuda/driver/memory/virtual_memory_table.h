// The state of cuMemAddressReserve, cuMemCreate and cuMemMap: one table of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::driver {

inline constexpr size_t kVirtualGrain = 2 << 20;  // what GPUs have; programs compute with it

// Memory of cuMemCreate: a file without a name, so that it can be mapped at several places and shared.
struct PhysicalMemory {
  int file = -1;
  size_t bytes = 0;
  cuda::CUmemAllocationProp properties = {};
  bool counted = false;  // against the machine's memory; not when it came from another process
  PhysicalMemory() = default;
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  ~PhysicalMemory();
};

struct Mapping {
  size_t bytes = 0;
  std::shared_ptr<PhysicalMemory> memory;
  cuda::CUmemGenericAllocationHandle handle = 0;
  std::map<int, cuda::CUmemAccess_flags> access;  // by device; -1: the host
};

// Everything under one lock: these functions are rare, and system calls each.
class VirtualMemory {
 public:
  static VirtualMemory& Get();

  cuda::CUresult Reserve(size_t bytes, size_t alignment, cuda::CUdeviceptr wanted, cuda::CUdeviceptr* made);
  cuda::CUresult FreeReservation(cuda::CUdeviceptr base, size_t bytes);
  cuda::CUresult Create(size_t bytes, const cuda::CUmemAllocationProp& properties,
                        cuda::CUmemGenericAllocationHandle* made);
  cuda::CUresult Release(cuda::CUmemGenericAllocationHandle handle);
  cuda::CUresult Map(cuda::CUdeviceptr at, size_t bytes, cuda::CUmemGenericAllocationHandle handle);
  cuda::CUresult Unmap(cuda::CUdeviceptr at, size_t bytes);
  cuda::CUresult SetAccess(cuda::CUdeviceptr at, size_t bytes, const cuda::CUmemAccessDesc* wanted,
                           size_t count);
  cuda::CUresult GetAccess(cuda::CUdeviceptr at, const cuda::CUmemLocation& location,
                           unsigned long long* flags);
  cuda::CUresult Retain(uintptr_t address, cuda::CUmemGenericAllocationHandle* handle);
  cuda::CUresult Export(cuda::CUmemGenericAllocationHandle handle, int* file);
  cuda::CUresult Import(int file, cuda::CUmemGenericAllocationHandle* made);
  cuda::CUresult Properties(cuda::CUmemGenericAllocationHandle handle, cuda::CUmemAllocationProp* properties);

  bool Find(uintptr_t address, uintptr_t* base, size_t* size);
  int Access(uintptr_t address, int device);

 private:
  struct Handle {
    std::shared_ptr<PhysicalMemory> memory;
    int uses = 1;
  };
  using Mappings = std::map<uintptr_t, Mapping>;

  Mappings::iterator MappingAt(uintptr_t address);
  bool InReservation(uintptr_t begin, size_t bytes);
  cuda::CUmemGenericAllocationHandle AddHandle(std::shared_ptr<PhysicalMemory> memory);
  bool Protect(Mappings::value_type& mapping);

  std::mutex mutex_;
  std::map<uintptr_t, size_t> reservations_;
  Mappings mappings_;
  std::unordered_map<cuda::CUmemGenericAllocationHandle, Handle> handles_;
  cuda::CUmemGenericAllocationHandle next_handle_ = 0x1000;
};

}  // namespace ptx2cpu::driver
