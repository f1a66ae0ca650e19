// The requests of one grid's threads to the device runtime: child grids, copies and fills. They are done
// after the blocks of the grid have ended, requests to the tail stream after all others; only then is the
// grid complete.
//
// All streams of a grid are one stream here, in the order of the grid's blocks and, within a block, of time.
// This order satisfies all orders that streams and events of a block require.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/abi/abi.h"
#include "runtime/launch/device_kernels.h"
#include "runtime/launch/launch.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

struct ChildLaunch {
  std::shared_ptr<KernelFinder> finder;
  const ptx2cpu_kernel* kernel = nullptr;
  LaunchShape shape;
  std::unique_ptr<std::byte[]> memory;  // of the parameters
  std::byte* parameters = nullptr;      // on 64 bytes
  size_t parameter_bytes = 0;
};

struct ChildOperation {
  enum class Kind : uint8_t { kLaunch, kCopy, kFill } kind = Kind::kLaunch;
  bool tail = false;
  uint64_t block = 0;
  std::unique_ptr<ChildLaunch> launch = {};
  // Copies and fills of rows.
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  uint64_t width = 0, height = 1, to_pitch = 0, from_pitch = 0;
  uint8_t value = 0;
};

class ChildQueue {
 public:
  // A launch whose parameters are being written; the buffer names it until it is launched.
  std::byte* Prepare(std::unique_ptr<ChildLaunch> launch, size_t parameter_bytes);
  // Null: no such buffer waits.
  std::unique_ptr<ChildLaunch> TakePrepared(const void* buffer);
  // Whether these bytes are parameters that are being written.
  bool Holds(uint64_t address, uint64_t bytes);
  void Add(ChildOperation operation);
  // Takes the operations of one block, or of all blocks, in order.
  std::vector<ChildOperation> TakeOf(uint64_t block);
  std::vector<ChildOperation> TakeAll();
  bool empty() const { return added_.load(std::memory_order_acquire) == 0; }

  // cudaGetLastError of the device; one for all threads of the grid.
  std::atomic<uint32_t> last_error{0};
  std::atomic<uint64_t> next_handle{16};  // of streams and events; the lowest numbers have meanings
  uint32_t depth = 0;                     // grids above this one

 private:
  SpinLock lock_;
  std::atomic<uint64_t> added_{0};
  std::vector<std::unique_ptr<ChildLaunch>> prepared_;
  std::vector<ChildOperation> operations_;
};

}  // namespace ptx2cpu::rt
