// Stream-ordered memory pools: a device's own and those that programs make.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/pool_blocks.h"
#include "runtime/cuda/driver/memory/pool_imports.h"

namespace ptx2cpu::driver {

class StreamObject;

class MemoryPool {
 public:
  using Handle = cuda::CUmemoryPool;
  static constexpr HandleKind kKind = HandleKind::kMemoryPool;

  explicit MemoryPool(const cuda::CUmemPoolProps& properties);
  // A pool of another process: nothing can be allocated from it.
  MemoryPool(const cuda::CUmemPoolProps& properties, Descriptor file);

  const cuda::CUmemPoolProps& properties() const { return properties_; }
  bool managed() const { return properties_.allocType == cuda::CU_MEM_ALLOCATION_TYPE_MANAGED; }
  PoolBlocks& blocks() { return blocks_; }
  // The imports of a pool of another process; null for other pools.
  PoolImports* imports() { return imports_.get(); }
  // The file that processes share; -1: none.
  int file() const { return imports_ != nullptr ? imports_->file() : blocks_.file(); }

  std::atomic<cuda::cuuint64_t> release_threshold{0};
  std::atomic<int> follow_events{1}, opportunistic{1}, internal_dependencies{1};
  std::atomic<size_t> outstanding{0};  // allocations

  // The access of a device to the pool's memory. It is only kept and reported; all devices here can access
  // everything.
  cuda::CUmemAccess_flags Access(int device) const;
  void SetAccess(int device, cuda::CUmemAccess_flags flags);

 private:
  const cuda::CUmemPoolProps properties_;
  PoolBlocks blocks_;
  const std::unique_ptr<PoolImports> imports_;
  mutable std::mutex mutex_;                       // access_
  std::map<int, cuda::CUmemAccess_flags> access_;  // by device; where nothing was set: the pool's own device
};

// Allocates from a pool for a stream that is not captured, and adds the range to Allocations. `stream` null:
// for use at once.
cuda::CUresult AllocateFromPool(MemoryPool& pool, size_t bytes, StreamObject* stream,
                                cuda::CUdeviceptr* made);
// Memory of a graph's allocation node: these are the flags of its range.
inline constexpr unsigned kGraphMemory = 1;
bool IsGraphMemory(const Range& range);
// Memory of cuMemAllocManaged, __managed__ variables and managed pools.
bool IsManaged(const Range& range);
// Frees memory whose range Allocations no longer lists; others may use it when `freed` is done.
void FreePoolMemory(const Range& range, rt::Ticket freed);
// The pool that cuMemAllocAsync takes from on this device.
MemoryPool& CurrentPool(int device);

// Called after a wait for a stream, an event or a context: pools free the memory that they hold beyond their
// release threshold. Costs nothing while no pool holds more. Less than 64 MiB is kept in any case: a program
// that allocates, frees and waits in a loop, with the default threshold of 0, would pay for fresh pages each
// time.
void TrimPoolsAfterWait();
// Lets all pools free memory that is not in use.
void ReleaseIdlePools();

}  // namespace ptx2cpu::driver
