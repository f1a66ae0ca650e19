// The memory one worker needs to run blocks: shared window, local memory, slots, live masks and thread ids;
// several sets of them where blocks suspend.
//
// Each part is a mapping of its own between guard pages; the shared window and local memory end at their
// guard page, so an access past the end faults instead of touching a neighbour. Arenas are reused from launch
// to launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptx2cpu::rt {

// Bytes between two guard pages. Grows, never shrinks; contents are lost when it grows.
class GuardedBuffer {
 public:
  // `guard`: bytes that no access may reach after the buffer, in whole pages, one at least.
  explicit GuardedBuffer(size_t guard = 1);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // At least `bytes` bytes that end (rounded up to `align`, a power of two up to a page) at the upper guard
  // page. Null when the system has no memory.
  uint8_t* Ensure(size_t bytes, size_t align);
  size_t bytes() const { return usable_; }
  // Whether the address is in this buffer's guard pages.
  bool InGuard(const void* address) const;

 private:
  const size_t guard_;
  uint8_t* mapping_ = nullptr;  // a guard page, the usable bytes, the guard
  size_t usable_ = 0;
};

// The memory of one resident block.
struct BlockMemory {
  // Kernels that are launched with too little shared memory reach as far past it as a device's is large.
  GuardedBuffer shared{size_t{256} << 10};
  GuardedBuffer local;
  GuardedBuffer slots;  // in resumable kernels followed by resume points and words
  alignas(64) uint32_t live[32];

  size_t bytes() const { return shared.bytes() + local.bytes() + slots.bytes(); }
};

// Packed ids (abi.h) of all threads of a block, padded to whole warps.
struct ThreadIds {
  alignas(64) uint32_t tid[1024];
  uint32_t shape[3] = {0, 0, 0};  // of the block that `tid` was made for

  void Fill(uint32_t nx, uint32_t ny, uint32_t nz);
};

struct Arena {
  BlockMemory block;  // of the block that runs to its end
  std::vector<std::unique_ptr<BlockMemory>>
      resident;  // of blocks that are put aside; those that are not in use
  ThreadIds ids;
};

}  // namespace ptx2cpu::rt
