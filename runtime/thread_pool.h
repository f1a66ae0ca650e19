// The process's worker threads. A job is a range of indices claimed in order, a chunk at a time, by one atomic add.
//
// The thread that starts a job works on it first and calls for help only when the job proves long enough to be worth
// a wake-up; so a small grid never leaves its thread. Workers spin briefly for the next job, then park.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/arena.h"

namespace ptx2cpu::rt {

// What a worker does with a job: called once per participating worker, with an arena of its own.
class Job {
 public:
  virtual ~Job() = default;
  // Claims chunks until none is left. `worker` is 0 for the caller, 1.. for pool threads.
  virtual void Work(unsigned worker, Arena& arena) = 0;
  virtual bool Exhausted() const = 0;

 private:
  friend class ThreadPool;
  std::atomic<unsigned> running_{0};  // participants inside Work
  unsigned max_workers_ = 0;
  std::atomic<unsigned> joined_{0};
};

class ThreadPool {
 public:
  // The one pool; its size is PTX2CPU_THREADS or the number of processors, fixed at first use.
  static ThreadPool& Get();
  ~ThreadPool();

  // Threads that can work on one job, the caller included.
  unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
  // Runs the job to its end on the calling thread. The job may call RequestHelp from within Work.
  void Run(const std::shared_ptr<Job>& job, unsigned max_workers);
  // Lets idle workers join a running job. Cheap when they are all busy; called at most once per job.
  void RequestHelp(const std::shared_ptr<Job>& job);

  std::unique_ptr<Arena> TakeArena();
  void ReturnArena(std::unique_ptr<Arena> arena);

 private:
  explicit ThreadPool(unsigned threads);
  void WorkerMain(unsigned worker);
  std::shared_ptr<Job> FindJob();

  std::vector<std::thread> threads_;
  std::mutex mutex_;                        // jobs_ and arenas_
  std::vector<std::shared_ptr<Job>> jobs_;  // in flight and open for help, oldest first
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::atomic<uint32_t> epoch_{0};          // bumped when a job appears or the pool stops
  std::atomic<bool> stopping_{false};
};

}  // namespace ptx2cpu::rt
