// What all ways to run a grid share: the block context, the first error, the text of a fault.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/launch.h"
#include "runtime/launch/launch_state.h"
#include "runtime/scheduler/block_scheduler.h"
#include "runtime/worker/arena.h"
#include "runtime/worker/fault.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::rt {

// One launch in flight. The shape has been checked.
class LaunchJob : public Job, public std::enable_shared_from_this<LaunchJob> {
 public:
  LaunchJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
            const LaunchOptions& options);

  const ptx2cpu_kernel& kernel() const { return kernel_; }
  // With the cluster that the kernel requires, and the axes of its code (swapped_axes.h).
  const LaunchShape& shape() const { return shape_; }
  ptx2cpu_launch& launch() { return launch_; }
  const std::byte* parameters() const { return params_; }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  std::optional<LaunchError>& error() { return error_; }
  // Set by the owner while the job runs.
  void set_running(RunningLaunches::Scope* running) { running_ = running; }
  // One worker's share of the grid, as a bar of its track where a timeline is wanted.
  void Work(unsigned worker, Arena& arena) final;
  // The first error stays.
  void Fail(LaunchError error);
  void Break(const Failure& failure) override;

  // Everything except the block's place in the grid; allocates. `joined`: blocks of a row of the grid that it
  // is (runtime/abi/joined_blocks.h). False: no memory.
  // `code`: other code of the kernel, which needs other memory and may have other axes; null: the job's.
  bool FillBlock(ptx2cpu_block& block, BlockMemory& memory, ThreadIds& ids, unsigned worker,
                 uint32_t joined = 1, const ptx2cpu_kernel* code = nullptr);
  LaunchError NoMemory() const;
  // `lanes`: one of them met the fault, for faults of the hardware, which do not name their thread.
  LaunchError Fault(FaultRecord record, const ptx2cpu_block& block, const BlockMemory& memory,
                    WarpLanes lanes) const;
  // "kernel 'k', block (0,0,0), thread (0,0,0), PTX line 1: ": thread ~0 and line 0 are left out.
  std::string WhereText(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line) const;
  // Notes a block whose code has axes other than the kernel's, until it is removed.
  void AddTurned(const ptx2cpu_block& block);
  void ForgetTurned(const ptx2cpu_block& block);

 protected:
  RunningLaunches::Scope* running_launch() { return running_; }
  // Runs blocks until none is left for this worker. False: there was none.
  virtual bool RunBlocks(unsigned worker, Arena& arena) = 0;

 private:
  uint32_t NumberOfThread(const ptx2cpu_block& block, uint32_t thread) const;
  bool HasAxesExchanged(const ptx2cpu_block& block) const;
  // An extent or a place of the block with the program's axes.
  Dim3 OfProgram(const ptx2cpu_block& block, Dim3 extent) const;

  const ptx2cpu_kernel& kernel_;
  const LaunchShape shape_;
  const std::byte* params_;
  const bool cooperative_;
  RunningLaunches::Scope* running_ = nullptr;
  ptx2cpu_launch launch_;
  alignas(64) uint8_t grid_workspace_[PTX2CPU_GRID_WORKSPACE_BYTES] = {};  // of a cooperative launch
  alignas(64) std::atomic<bool> failed_{false};
  std::mutex error_mutex_;
  std::optional<LaunchError> error_;
  mutable std::mutex turned_mutex_;
  std::vector<const ptx2cpu_block*> turned_;
};

// The numbers of threads and warps.
void SetExtent(ptx2cpu_block& block, const Dim3& ntid);
// The lanes that exist, before any has exited.
void InitialiseLiveMasks(ptx2cpu_block& block);
// Marks all of the block's tensor memory as free. Only for kernels that have it.
void ClearTensorAllocator(ptx2cpu_block& block);
// Memory that a resident block takes, in whole pages, with guard pages.
uint64_t ResidentBytes(const ptx2cpu_kernel& kernel, const LaunchShape& shape);

// Runs blocks to their end, one after the other on each worker: kernels with run_block.
std::shared_ptr<LaunchJob> MakePlainJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                        const std::byte* params, const LaunchOptions& options);
// Keeps blocks resident that wait for others: resumable kernels and clusters.
std::shared_ptr<LaunchJob> MakeResidentJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                           const std::byte* params, const LaunchOptions& options);

}  // namespace ptx2cpu::rt
