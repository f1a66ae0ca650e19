#include "runtime/thread_pool.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/fault.h"

namespace ptx2cpu::rt {

namespace {

constexpr int kSpins = 2000;  // about 20 us of looking before a worker parks

unsigned WantedThreads() {
  if (const char* text = std::getenv("PTX2CPU_THREADS")) {
    const long count = std::strtol(text, nullptr, 10);
    if (count >= 1 && count <= 4096) return static_cast<unsigned>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

ThreadPool& ThreadPool::Get() {
  static ThreadPool pool(WantedThreads());
  return pool;
}

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { WorkerMain(worker); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<Arena> ThreadPool::TakeArena() {
  {
    std::lock_guard lock(mutex_);
    if (!arenas_.empty()) {
      auto arena = std::move(arenas_.back());
      arenas_.pop_back();
      return arena;
    }
  }
  return std::make_unique<Arena>();
}

void ThreadPool::ReturnArena(std::unique_ptr<Arena> arena) {
  std::lock_guard lock(mutex_);
  arenas_.push_back(std::move(arena));
}

void ThreadPool::Run(const std::shared_ptr<Job>& job, unsigned max_workers) {
  job->max_workers_ = max_workers == 0 ? size() : std::min(max_workers, size());
  job->joined_ = 1;
  std::unique_ptr<Arena> arena = TakeArena();
  job->Work(0, *arena);
  ReturnArena(std::move(arena));
  {
    std::lock_guard lock(mutex_);
    std::erase(jobs_, job);
  }
  // Workers that joined may still be inside their last chunk; blocks are long, so wait without burning a core.
  for (unsigned running = job->running_.load(); running != 0; running = job->running_.load()) job->running_.wait(running);
}

void ThreadPool::RequestHelp(const std::shared_ptr<Job>& job) {
  if (threads_.empty() || job->max_workers_ <= 1) return;
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  epoch_.fetch_add(1);
  epoch_.notify_all();
}

std::shared_ptr<Job> ThreadPool::FindJob() {
  std::lock_guard lock(mutex_);
  for (const auto& job : jobs_) {
    if (job->Exhausted()) continue;
    if (job->joined_.load() >= job->max_workers_) continue;
    job->joined_.fetch_add(1);
    job->running_.fetch_add(1);  // under the lock: Run removes the job under it before it waits
    return job;
  }
  return nullptr;
}

void ThreadPool::WorkerMain(unsigned worker) {
  PrepareThreadForFaults();
  for (;;) {
    const uint32_t seen = epoch_.load();
    if (stopping_) return;
    if (std::shared_ptr<Job> job = FindJob()) {
      std::unique_ptr<Arena> arena = TakeArena();
      job->Work(worker, *arena);
      ReturnArena(std::move(arena));
      job->joined_.fetch_sub(1);
      if (job->running_.fetch_sub(1) == 1) job->running_.notify_all();
      continue;
    }
    int spins = 0;
    while (epoch_.load(std::memory_order_acquire) == seen && spins < kSpins) {
      Pause();
      ++spins;
    }
    epoch_.wait(seen);
  }
}

}  // namespace ptx2cpu::rt
