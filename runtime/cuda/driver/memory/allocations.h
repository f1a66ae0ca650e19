// Maps addresses to ranges of the driver's memory: the kind of each, its owner, and how it was made.
//
// Copies look up each operand, so reading is the path that matters: a thread that looks up one of the
// ranges it looked up last, with no change in between, takes no lock; other reads share one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace ptx2cpu::driver {

enum class RangeKind : uint8_t {
  kDevice,      // cuMemAlloc
  kPitched,     // cuMemAllocPitch: as kDevice
  kPinned,      // cuMemAllocHost, cuMemHostAlloc
  kRegistered,  // the program's own memory, cuMemHostRegister
  kManaged,     // cuMemAllocManaged, __managed__ variables
  kArray,       // what an array keeps its elements in; never a legal operand of a linear copy
  kPool,        // cuMemAllocAsync
  kVirtual,     // mapped by cuMemMap
  kModule,      // __device__ and __constant__ variables
};

struct Range {
  uintptr_t base = 0;
  size_t size = 0;
  RangeKind kind = RangeKind::kDevice;
  bool sync_memops = false;       // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  int device = 0;                 // ordinal of the device of the context that made it
  unsigned flags = 0;             // as given to the function that made it
  uint64_t buffer_id = 0;         // unique in the process, never used again; given by Insert
  const void* context = nullptr;  // CUcontext that made it; null: none (pools)
  void* owner = nullptr;          // pool, module or physical allocation that owns it; null: the heap

  // Whether [address, address + bytes) is inside.
  bool Holds(uintptr_t address, size_t bytes) const {
    return address - base <= size && bytes <= size - (address - base);
  }
  // Memory that the manual calls device memory, not host memory.
  bool OnDevice() const { return kind != RangeKind::kPinned && kind != RangeKind::kRegistered; }
};

class Allocations {
 public:
  static Allocations& Get();

  Allocations() = default;
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  // Sets the range's buffer id. False if it overlaps an existing one.
  bool Insert(Range range);
  // The range with `address` in it.
  std::optional<Range> Find(uintptr_t address) const;
  std::optional<Range> Find(const void* address) const { return Find(reinterpret_cast<uintptr_t>(address)); }
  // The memory from `address` on: `range` where it is known, else the gap up to the next known range.
  struct Found {
    std::optional<Range> range;
    uintptr_t end = 0;  // exclusive
  };
  Found Look(uintptr_t address) const;
  // Describes an address that no range holds by the nearest range: "12 bytes after allocation 0x7f0000000200
  // of 400 bytes". Empty: it is in a range, or far from all.
  std::string Near(uintptr_t address) const;
  // Removes the range that begins at `base`, if `accept` returns true (called under the lock).
  std::optional<Range> Remove(uintptr_t base, const std::function<bool(const Range&)>& accept);
  // Changes the data of the range that holds `address`; base and size stay. False: no such range.
  bool Update(uintptr_t address, const std::function<void(Range&)>& change);
  // Removes all ranges that `accept` accepts, e.g. those that a context leaves.
  std::vector<Range> RemoveAll(const std::function<bool(const Range&)>& accept);
  // Every range, by address.
  std::vector<Range> All() const;
  size_t count() const;
  // Changes with every change of the table.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  static uint64_t FirstVersion();
  std::map<uintptr_t, Range>::const_iterator Locate(uintptr_t address) const;
  bool Overlaps(uintptr_t address, size_t bytes) const;

  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Range> ranges_;  // by base
  std::atomic<uint64_t> version_{
      FirstVersion()};  // changes with every change of ranges_; no two tables share one
  uint64_t next_buffer_id_ = 1;
};

}  // namespace ptx2cpu::driver
