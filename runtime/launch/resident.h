// The blocks of one cluster (usually a single block) that are resident on one worker: they suspend whenever
// none of them can continue, and are resumed later. All of their state is in their memory; no stack is kept.
#pragma once

#include <memory>
#include <vector>

#include "runtime/launch/launch_job.h"
#include "runtime/scheduler/block_scheduler.h"

namespace ptx2cpu::rt {

// The block whose code runs on a worker now, for the report of a fault.
struct RunningBlock {
  LandingPoint* landing = nullptr;  // names the block too, for debuggers (runtime/worker/current_block.h)
  const ptx2cpu_block* block = nullptr;
  const BlockMemory* memory = nullptr;
  const BlockScheduler* scheduler = nullptr;  // of a kernel that resumes
};

class Resident {
 public:
  // Takes memory out of the arena, or new one. False: there is none.
  bool Prepare(LaunchJob& job, Arena& arena, unsigned worker);
  void ReturnMemory(Arena& arena);
  // Begins cluster number `index`; blocks are numbered x first.
  void Start(LaunchJob& job, uint64_t index);
  // Runs until all blocks are done, one has faulted, or none makes progress on its own.
  Verdict Run(LaunchJob& job, RunningBlock& running);
  bool progressed() const { return progressed_; }
  LaunchError Fault(const LaunchJob& job) const;

 private:
  struct Block {
    ptx2cpu_block context;
    std::unique_ptr<BlockMemory> memory;
    BlockScheduler scheduler;
    bool done = false;
  };
  struct Pass {
    bool waits = false, can_run = false, moved = false, all_done = true;
  };

  bool RunEach(LaunchJob& job, RunningBlock& running, Pass& pass);
  bool PassClusterBarrier();
  bool CompleteShortBarriers();
  void Deadlock();

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<uint8_t*> shared_;  // windows by rank
  const Block* faulted_ = nullptr;
  bool progressed_ = false;
};

}  // namespace ptx2cpu::rt
