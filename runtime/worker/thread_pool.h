// The process's worker threads. They run what is ready in streams, and help with jobs: a job is a range of
// indices claimed in order, a chunk at a time, by one atomic add.
//
// The thread that starts a job works on it first and calls others only when the job proves long enough to be
// worth it, and as many as the work is worth: a small grid never leaves its thread. Workers with the next
// numbers are called first, so that consecutive launches have the same workers and find their data in the
// same caches. A worker that runs out of work looks for more before it sleeps: longer where new work came
// soon the last time. The owner and woken workers wake sleeping ones, as a tree.
//
// The pool is never destroyed: at exit its workers are requested to end, and are abandoned when they do not
// within a short time. A child made by fork starts a pool of its own when it needs one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/worker/arena.h"
#include "runtime/worker/call_box.h"
#include "runtime/worker/failure.h"
#include "runtime/worker/running_launches.h"

namespace ptx2cpu::rt {

// What a worker does with a job: called once per participating worker, with an arena of its own.
class Job {
 public:
  virtual ~Job() = default;
  // Claims chunks until none is left. `worker` is below the pool's size, and no two participants share one.
  virtual void Work(unsigned worker, Arena& arena) = 0;
  virtual bool Exhausted() const = 0;
  // Called when Work has thrown: the job ends with an error that reports it.
  virtual void Break(const Failure& failure) = 0;
  bool help_requested() const { return helpers_.load(std::memory_order_relaxed) != 0; }

 private:
  friend class ThreadPool;
  unsigned max_workers_ = 0;
  unsigned owner_ = 0;                // number of the worker that runs it
  uint32_t place_ = ~0u;              // where others find it; ~0: nowhere
  std::atomic<unsigned> helpers_{0};  // requested
  std::atomic<unsigned> joined_{0};   // at work now
};

// Where workers find work of their own.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  // Runs something that is ready; false: there was nothing.
  virtual bool RunReady(unsigned worker, Arena& arena) = 0;
  virtual bool HasReady() const = 0;
  // There is something that must be polled until it is ready.
  virtual bool Polling() const = 0;
};

class ThreadPool {
 public:
  // The one pool; its size is PTX2CPU_THREADS or the number of usable processors (processors.h), fixed at
  // first use; less if the system does not provide as many threads.
  static ThreadPool& Get();

  // Threads that can work on one job, the caller included.
  unsigned size() const { return size_; }
  // Runs the job to its end on the calling thread. The job may call RequestHelp from within Work.
  void Run(const std::shared_ptr<Job>& job, unsigned max_workers);
  // The same for a thread that has an arena.
  void Run(const std::shared_ptr<Job>& job, unsigned max_workers, unsigned worker, Arena& arena);
  // Calls idle workers to a running job, `helpers` in all; those that are missing may join once they have
  // nothing else. From the owner's Work; a later request counts only what it exceeds the earlier ones by.
  void RequestHelp(Job& job, unsigned helpers = ~0u);
  // Workers were called so recently that they still look for work: help arrives within a few microseconds. A
  // hint.
  bool HelpIsNear() const;
  // True when a worker that only helps should leave, because other work is ready.
  bool OtherWorkWaits() const;

  // From now on workers run what the source has. Once per pool. Throws std::system_error where there is no
  // worker.
  void Serve(WorkSource& source);
  // Something became ready at the source.
  void Notify();
  // True at exit: workers end and take no more work.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // Whether the calling thread is one of the pool's; its number, 0 for other threads.
  static bool OnWorker();
  static unsigned CurrentWorker();

  RunningLaunches& launches() { return launches_; }

  std::unique_ptr<Arena> TakeArena();
  void ReturnArena(std::unique_ptr<Arena> arena);

 private:
  using Clock = std::chrono::steady_clock;

  // A job that is open for help. The owner takes the job away before it waits for its visitors to leave.
  struct alignas(64) Place {
    std::atomic<bool> taken{false};
    std::atomic<Job*> job{nullptr};
    // The number of this job: calls name it, so that a late call does not count as a call to the next job.
    std::atomic<uint32_t> ticket{0};
    std::atomic<unsigned> owner{0}, helpers{0};  // those at first called, numbers owner + 1 and so on
    std::atomic<bool> owner_sleeps{false};       // until no worker visits
    std::atomic<uint32_t> departures{0};         // since then
  };
  static constexpr uint32_t kPlaces = 16;

  explicit ThreadPool(unsigned size);
  static void StopAtExit();
  static void ForgetAfterFork();
  bool StartWorker(unsigned worker);
  static void WorkOn(Job& job, unsigned worker, Arena& arena);
  void WorkerMain(unsigned worker);
  bool OpenPlace(Job& job, unsigned helpers);
  void ClosePlace(Job& job);
  bool IsVisited(uint32_t place) const;
  bool CallFor(const Place& place, uint32_t ticket, unsigned position, int processor);
  void CallTree(const Place& place, uint32_t ticket, unsigned position, int processor);
  void PassOn(uint32_t ticket, unsigned worker);
  bool Help(uint32_t ticket, unsigned worker, Arena& arena);
  uint32_t TakeSeat();
  bool HasReady() const;
  bool MustPoll() const;
  bool Look(const CallBox& box, bool& watches, Clock::time_point end);
  bool TakeWatch();
  uint32_t Idle(unsigned worker, Clock::time_point since, bool patient);

  unsigned size_ = 1;
  const bool may_look_;               // looking for work takes no processor from a thread that would bring it
  std::unique_ptr<CallBox[]> boxes_;  // one for each worker
  RunningLaunches launches_;
  std::atomic<WorkSource*> source_{nullptr};
  std::mutex mutex_;  // arenas_
  std::vector<std::unique_ptr<Arena>> arenas_;
  Place places_[kPlaces];
  alignas(
      64) std::atomic<int> seats_[kPlaces] = {};  // for workers that were busy when a job of a place called
  alignas(64) std::atomic<bool> watched_{false};  // a worker watches the source
  alignas(64) std::atomic<Clock::time_point> last_request_{};  // for help
  std::atomic<uint32_t> alive_{0};
  std::atomic<bool> stopping_{false};
  ThreadPool* parent_ = nullptr;  // of the process that this one was forked from
};

}  // namespace ptx2cpu::rt
