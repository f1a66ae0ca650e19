// Device memory that processes share: allocations of this process that others may open, and those of others
// that it has opened.
//
// An allocation becomes a mapping of a file without a name when it is first exported; its contents are
// copied. Allocations that were never exported stay private memory, which is cheaper to make. Small ones
// share slabs, so all of a slab is shared then, as all of a GPU's allocation granule is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/export_server.h"
#include "runtime/cuda/driver/memory/allocations.h"

namespace ptx2cpu::driver {

// The contents of a CUipcMemHandle.
struct SharedPlace {
  static constexpr uint32_t kMagic = 0x50325831;
  uint32_t magic = kMagic;
  int32_t device = 0;
  ExportedName name = {};
  uint64_t file_bytes = 0;
  uint64_t offset = 0, bytes = 0;  // of the allocation in the file
};

class SharedMemory {
 public:
  static SharedMemory& Get();

  // `range` is from the heap, and no work that uses it is queued. OPERATING_SYSTEM, OUT_OF_MEMORY.
  cuda::CUresult Export(const Range& range, SharedPlace& place);
  // Called before memory returns to the heap: an exported range becomes private again.
  void Withdraw(const Range& range);

  // Opens memory that another process has exported; it may be opened several times. INVALID_VALUE: not a
  // place; INVALID_HANDLE: that process has ended or has freed it.
  cuda::CUresult Open(const SharedPlace& place, const void* context, cuda::CUdeviceptr* address);
  // Whether it is memory that Open returned.
  bool Opened(const Range& range) const;
  // Work that uses it must have ended. It is unmapped when it has been closed as often as it was opened.
  cuda::CUresult Close(const Range& range);

 private:
  struct Exported {
    Descriptor file;
    ExportedName name;
    size_t bytes;
  };
  struct Imported {
    std::byte* base = nullptr;
    size_t bytes = 0;
    std::map<uintptr_t, int> uses;  // by address, how often it is open
  };
  bool Share(std::byte* begin, size_t bytes, Exported& exported);

  mutable std::mutex mutex_;
  std::map<std::byte*, Exported> exported_;  // by their first page
  std::atomic<size_t> exports_{0};
  std::map<ExportedName, Imported> imported_;
};

}  // namespace ptx2cpu::driver
