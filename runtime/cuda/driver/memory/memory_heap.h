// The source of device, pinned and managed memory: separate from the program's own heap, so that a wrong
// store of a kernel does not break the host program's malloc.
//
// From 64 KiB up an allocation has a mapping of its own: an access far from it, and any access after the
// free, is a fault that names kernel and thread. Smaller ones share slabs; they cost no system call. Around
// both kinds the program may access as many bytes as on a GPU, which maps 2 MiB at a time: programs read an
// element before or after their array and ignore it. With PTX2CPU_CHECK_BOUNDS=1 an allocation of its own
// ends (up to alignment) at a guard page instead, and slabs have nothing around them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/cuda/driver/context/memory_limits.h"

namespace ptx2cpu::driver {

class MemoryHeap {
 public:
  // Texture alignment is 512 on GPUs; programs may use any allocation as linear texture memory.
  static constexpr size_t kAlignment = 512;
  static constexpr size_t kOwnMapping = 64 * 1024;

  static MemoryHeap& Get();
  // How many bytes around a block can be accessed.
  enum class Bounds : uint8_t { kGranule, kStrict };
  static Bounds BoundsWanted();
  explicit MemoryHeap(MemoryLimits& limits, Bounds bounds = BoundsWanted())
      : limits_(limits), bounds_(bounds) {}
  ~MemoryHeap();
  MemoryHeap(const MemoryHeap&) = delete;
  MemoryHeap& operator=(const MemoryHeap&) = delete;

  // `alignment`: a power of two, at most a page. Contents are undefined. Null where memory runs out, or for
  // no bytes.
  void* Allocate(size_t bytes, size_t alignment = kAlignment);
  // Frees memory; bytes and alignment are those of its allocation.
  void Free(void* memory, size_t bytes, size_t alignment = kAlignment);
  // Whether the address is in memory that small allocations share, in use or not. Larger ones are not
  // accessible when free.
  bool Shares(const void* address);
  // The complete pages of an allocation; for a small one those of its slab, which holds other allocations.
  struct Pages {
    std::byte* begin;
    size_t bytes;
    bool shared;
  };
  Pages PagesOf(void* memory, size_t bytes);
  // Returns mappings that are kept for the next allocation to the system.
  void Trim();

 private:
  static constexpr size_t kClasses = 28;
  // Mappings kept after a free spare the next allocation of the same size its page faults.
  static constexpr size_t kMaxKept = 256ull << 20;
  // A process may have some 65,000 mappings, and a guarded block is two. From here on blocks have no guard
  // page, and neighbours are one mapping to the system.
  static constexpr size_t kMaxGuarded = 16384;

  // A block of its own: the accessible bytes of its mapping, and where in them it begins.
  struct Place {
    size_t mapped, before;
  };
  Place PlaceOf(size_t bytes, size_t alignment) const;
  static size_t ClassOf(size_t bytes);
  static size_t BytesOfClass(size_t size_class);
  void* FromSlab(size_t bytes);
  void* OwnMapping(size_t bytes, size_t alignment);
  void* TakeKept(size_t pages_bytes);
  void DropKept(size_t until);
  void Unmap(void* mapping, size_t bytes);

  MemoryLimits& limits_;
  const Bounds bounds_;
  std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> free_;  // per size class
  std::set<const std::byte*> slabs_;
  std::multimap<size_t, void*> kept_;  // freed mappings, inaccessible, by bytes without guard
  size_t kept_bytes_ = 0;
  std::atomic<size_t> mappings_{0};  // of their own, kept ones too
};

}  // namespace ptx2cpu::driver
