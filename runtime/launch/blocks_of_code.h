// Blocks of a plain launch that run code other than the launch's, in memory of their own: that code may need
// other slots, and may have other axes (runtime/abi/swapped_axes.h). Internal to this folder.
#pragma once

#include <memory>
#include <optional>

#include "runtime/launch/launch_job.h"
#include "runtime/worker/deferred_atomics.h"

namespace ptx2cpu::rt {

// The blocks that one worker runs with one code.
class BlocksOfCode {
 public:
  BlocksOfCode(LaunchJob& job, unsigned worker) : job_(job), worker_(worker) {}
  ~BlocksOfCode();
  BlocksOfCode(const BlocksOfCode&) = delete;
  BlocksOfCode& operator=(const BlocksOfCode&) = delete;

  // Runs blocks of the grid, by their numbers in the order of the launch's code. `landing` names the current
  // block meanwhile. False: no memory.
  bool Run(const ptx2cpu_kernel& code, uint64_t first, uint64_t count, LandingPoint& landing);
  // Writes the atomics that wait in the worker to memory, which may fault. Without this call they are
  // dropped, as after a fault.
  void Finish(LandingPoint& landing);
  bool any() const { return place_ != nullptr; }
  // Null: the block is none of these.
  const BlockMemory* MemoryOf(const ptx2cpu_block& block) const {
    return place_ != nullptr && &place_->block == &block ? &place_->memory : nullptr;
  }

 private:
  struct Place {
    BlockMemory memory;
    ThreadIds ids;
    ptx2cpu_block block;
    std::optional<DeferredAtomics> deferred;
  };
  bool MakePlace(const ptx2cpu_kernel& code);

  LaunchJob& job_;
  const unsigned worker_;
  bool turned_ = false;  // its axes are not those of the launch's code
  std::unique_ptr<Place> place_;
};

}  // namespace ptx2cpu::rt
