// The process's worker threads. They run what is ready in streams, and help with jobs: a job is a range of
// indices claimed in order, a chunk at a time, by one atomic add.
//
// The thread that starts a job works on it first and wakes others only when the job proves long enough to
// be worth a wake-up; so a small grid never leaves its thread. One worker at a time looks for work
// for a short while, the others are parked.
//
// The pool is never destroyed: at exit its workers are requested to end, and are abandoned when they do not
// within a short time. A child made by fork starts a pool of its own when it needs one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/worker/arena.h"
#include "runtime/worker/failure.h"

namespace ptx2cpu::rt {

// What a worker does with a job: called once per participating worker, with an arena of its own.
class Job {
 public:
  virtual ~Job() = default;
  // Claims chunks until none is left. `worker` is below the pool's size, and no two participants share one.
  virtual void Work(unsigned worker, Arena& arena) = 0;
  virtual bool Exhausted() const = 0;
  // Work threw: the job ends with an error that reports it.
  virtual void Break(const Failure& failure) = 0;
  bool help_requested() const { return help_requested_.load(std::memory_order_relaxed); }

 private:
  friend class ThreadPool;
  std::atomic<unsigned> running_{0};  // participants inside Work, the owner not counted
  unsigned max_workers_ = 0;
  bool owner_is_zero_ = false;  // worker number 0 is taken
  std::atomic<unsigned> joined_{0};
  std::atomic<bool> help_requested_{false};
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
  // Makes idle workers join a running job. Cheap when they are all busy; has an effect once per job.
  void RequestHelp(const std::shared_ptr<Job>& job);
  // True when a worker that only helps had better leave: other work is ready.
  bool OtherWorkWaits() const;

  // From now on workers run what the source has. Once per pool. Throws std::system_error where there is no
  // worker.
  void Serve(WorkSource& source);
  // Something became ready at the source.
  void Notify();
  // At exit: workers end, nothing is picked up any more.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // Is the calling thread one of the pool's; its number, 0 for others.
  static bool OnWorker();
  static unsigned CurrentWorker();

  std::unique_ptr<Arena> TakeArena();
  void ReturnArena(std::unique_ptr<Arena> arena);

 private:
  explicit ThreadPool(unsigned size);
  static void StopAtExit();
  static void ForgetAfterFork();
  bool StartWorker(unsigned worker);
  static void WorkOn(Job& job, unsigned worker, Arena& arena);
  void WorkerMain(unsigned worker);
  bool HelpJob(unsigned worker, Arena& arena);
  std::shared_ptr<Job> FindJob(unsigned worker);
  bool HasWork(uint32_t seen_jobs) const;
  void Idle(uint32_t seen_jobs, unsigned worker);
  void Wake(unsigned count, uint32_t groups);

  unsigned size_ = 1;
  std::atomic<WorkSource*> source_{nullptr};
  std::mutex mutex_;                        // jobs_ and arenas_
  std::vector<std::shared_ptr<Job>> jobs_;  // in flight and open for help, oldest first
  std::vector<std::unique_ptr<Arena>> arenas_;
  alignas(64) std::atomic<uint32_t> jobs_epoch_{0};  // counts calls for help
  std::atomic<uint32_t> spinning_{0}, parked_{0};    // workers that look for work, that sleep
  std::atomic<uint32_t> wake_word_{0};
  std::atomic<uint32_t> alive_{0};
  std::atomic<bool> stopping_{false};
  ThreadPool* parent_ = nullptr;  // of the process that this one was forked from
};

}  // namespace ptx2cpu::rt
