// Runs one block of a resumable kernel: decides which lanes of which warp continue, and calls the kernel's
// step for them.
//
// The rules are those of the IR interpreter's thread scheduler (ir/interpret/schedule.cpp), on complete lane
// masks:
// clang-format off
//   collective        all live lanes of the membermask wait at points of one class with the same mask
//   converged forms   the lanes at the lowest point, when no lane of the warp can run (or the others only spin)
//   named barrier     a warp is counted, as 32 threads, when all its live lanes wait at it
// clang-format on
// No threads, no locks, no allocation while it runs: a block belongs to one worker. Steps may leave Run by a
// jump to the worker's landing point; the scheduler must then be started anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/abi/abi.h"
#include "runtime/scheduler/random_order.h"

namespace ptx2cpu::rt {

enum class Verdict : uint8_t {
  kDone,             // all threads have exited
  kStalled,          // threads can run, but in the last rounds they only yielded
  kTurnOver,         // a long turn is over
  kWaitsForCluster,  // no thread can run before those of other blocks have arrived at the cluster's barrier
  kFaulted           // see fault()
};

// A fault that the scheduler found. `thread` is ~0 when it concerns the whole block.
struct SchedulerFault {
  uint32_t kind = 0;  // ptx2cpu_fault_kind
  uint32_t thread = ~0u, ptx_line = 0;
  std::string text;
};

// Lanes of one warp. Mask 0: not known.
struct WarpLanes {
  uint32_t warp = 0, mask = 0;
};

class BlockScheduler {
 public:
  // All threads of the block at the kernel's start. `kernel` and `block` must outlive the run; the block's
  // live masks name the threads that exist. `order`: warps and lanes take their turns in another order that
  // CUDA allows; null: in the order of numbers.
  void Start(const ptx2cpu_kernel& kernel, ptx2cpu_block& block, std::optional<uint64_t> order = {});
  // Continues from where the last call returned.
  Verdict Run();
  // Whether the last Run did more than let threads spin.
  bool progressed() const { return progressed_; }
  const SchedulerFault& fault() const { return fault_; }
  // After a jump has left Run: the lanes of the step that ran, without those that have exited in it.
  WarpLanes LanesOfStep() const { return {step_.warp, step_.mask & block_->live[step_.warp]}; }

  // -- what a cluster needs; threads that have exited count as arrived --
  bool AllArrivedAtCluster() const;
  void PassCluster();
  // Completes counted barriers whose missing warps have ended; called when no thread can run. False: there
  // was none.
  bool CompleteShortBarriers();
  Verdict Deadlock();
  // Live lanes that the cluster's barrier still lacks: ", block (1,0,0) warp 0 lanes 0x..."; "" when there
  // are none.
  std::string MissingAtCluster() const;
  // The end of a deadlock report: about other blocks of the cluster.
  void AddToReport(const std::string& text) { fault_.text += text; }

 private:
  // Lane masks. Each live lane is in exactly one of ready, collective, converged, barrier, cluster.
  struct Warp {
    uint32_t live;
    uint32_t ready;            // continues after its point
    uint32_t collective;       // waits for the members of its mask
    uint32_t converged;        // waits to converge
    uint32_t barrier;          // waits at a named barrier ...
    uint32_t arriving;         // ... and will not stay there (bar.arrive)
    uint32_t counted;          // ... and was counted with its warp, at barrier_id
    uint32_t cluster;          // waits for the cluster
    uint32_t cluster_arrived;  // has arrived in the cluster barrier's present phase
    uint32_t cluster_passed;   // that phase is complete, but the lane has not reached its wait yet
    uint32_t barrier_id;
    uint32_t
        turns_without_stop;  // how long lanes that wait to converge have waited for siblings that only yield
  };
  struct Barrier {
    uint32_t expected;  // threads; 0: all live threads of the block
    uint32_t arrived;   // threads, in whole warps
    uint32_t warps;     // bit per warp that has arrived
    bool in_use;
  };

  const ptx2cpu_point& PointOf(uint32_t thread) const { return kernel_->points[block_->points[thread]]; }
  uint32_t& Word(uint32_t number, uint32_t thread) const {
    return block_->words[number * PTX2CPU_MAX_THREADS_PER_BLOCK + thread];
  }
  Verdict RunBlock();
  uint32_t Step(uint32_t w, uint32_t entry, uint32_t lanes);
  void Release(uint32_t w, uint32_t lanes);
  void Exit(uint32_t w, uint32_t lanes);
  uint32_t NextWarp(uint32_t& rest, uint32_t ready);
  void TakeTurn(uint32_t w);
  uint32_t File(uint32_t w, uint32_t lanes);
  uint32_t FileAt(uint32_t w, uint32_t number, uint32_t lanes);
  uint32_t Settle(uint32_t w, bool stopped);
  Verdict NothingRuns();

  // collectives (block_scheduler.cpp)
  uint32_t LanesOfClass(uint32_t w, uint32_t lanes, uint32_t collective) const;
  uint32_t CompleteGroups(uint32_t w);
  uint32_t CompleteOutsideMask(uint32_t w, uint32_t lanes);
  uint32_t Converge(uint32_t w);

  // named and cluster barriers (barriers.cpp)
  void Arrive(uint32_t w);
  bool MayArrive(uint32_t w);
  bool IsComplete(const Barrier& barrier) const;
  void SettleBarriers();
  void CompleteNamed(uint32_t id);
  bool CountPredicates(uint32_t id, uint32_t* kind, uint32_t* threads, uint32_t* holds);
  uint32_t ArriveAtCluster(uint32_t w, uint32_t lanes);
  uint32_t WaitForCluster(uint32_t w, uint32_t lanes);

  // faults and reports (report.cpp)
  void Fail(uint32_t kind, uint32_t thread, std::string text);
  std::string Describe(uint32_t point) const;
  std::string DescribeWait(uint32_t thread) const;

  const ptx2cpu_kernel* kernel_ = nullptr;
  ptx2cpu_block* block_ = nullptr;
  Warp warps_[kMaxWarps];
  Barrier barriers_[kNamedBarriers];
  uint32_t live_warps_ = 0, ready_warps_ = 0;  // bit per warp
  uint32_t cluster_warps_ = 0;                 // warps with lanes that wait for the cluster
  uint32_t barriers_in_use_ = 0;               // bit per named barrier
  bool moved_ = false;                         // this round did more than yield
  bool progressed_ = false;
  SchedulerFault fault_;
  WarpLanes step_;  // the last one that began
  std::optional<RandomOrder> order_;
};

}  // namespace ptx2cpu::rt
