#include "runtime/worker/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "runtime/worker/fault.h"
#include "runtime/worker/futex.h"
#include "runtime/worker/processors.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

namespace {

constexpr int kSpins = 1000;  // 10 to 40 us of looking before a worker parks
constexpr uint64_t kPollNanoseconds = 50000;
constexpr auto kExitPatience = std::chrono::milliseconds(200);

// Where the last thread was that called for help. The system often wakes a thread on the processor of the one
// that wakes it, where it would wait for that one's work to end.
std::atomic<int> asking_processor{-1};

// Groups of sleeping workers. A job whose owner counts as worker 0 has no use for the thread of that number:
// woken in place of another, it would go back to sleep, and the owner would work alone.
constexpr uint32_t kWorkerZero = 1, kOtherWorkers = 2;

// A pointer, so that no static destructor ends the pool, because threads may still run when static objects
// are destroyed.
std::atomic<ThreadPool*> the_pool = nullptr;
std::mutex& PoolMutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

thread_local unsigned current_worker = ~0u;

unsigned WantedThreads() {
  if (const char* text = std::getenv("PTX2CPU_THREADS")) {
    const long count = std::strtol(text, nullptr, 10);
    if (count >= 1 && count <= 4096) return static_cast<unsigned>(count);
  }
  return UsableProcessors();
}

// Looking for work is of no use when it takes the processor from the one who would bring it.
bool MaySpin() {
  static const bool may = UsableProcessors() > 1;
  return may;
}

}  // namespace

ThreadPool& ThreadPool::Get() {
  if (ThreadPool* pool = the_pool.load(std::memory_order_acquire)) return *pool;
  std::lock_guard lock(PoolMutex());
  if (ThreadPool* pool = the_pool.load(std::memory_order_acquire)) return *pool;
  static ThreadPool* last = nullptr;
  if (last == nullptr) {
    pthread_atfork([] { PoolMutex().lock(); }, [] { PoolMutex().unlock(); },
                   [] {
                     ForgetAfterFork();
                     PoolMutex().unlock();
                   });
    std::atexit(StopAtExit);
  }
  auto* pool = new ThreadPool(WantedThreads());
  pool->parent_ = last;
  last = pool;
  the_pool.store(pool, std::memory_order_release);
  return *pool;
}

// The child has none of the threads, and locks may be held for ever: the parent's pool is left as it is.
void ThreadPool::ForgetAfterFork() {
  the_pool.store(nullptr, std::memory_order_relaxed);
  current_worker = ~0u;
}

void ThreadPool::StopAtExit() {
  ThreadPool* pool = the_pool.load(std::memory_order_acquire);
  if (pool == nullptr) return;
  pool->stopping_ = true;
  pool->Wake(pool->size_ + 1, kAnySleeper);
  const auto give_up = std::chrono::steady_clock::now() + kExitPatience;
  while (pool->alive_.load() != 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

ThreadPool::ThreadPool(unsigned size) {
  while (size_ < size && StartWorker(size_)) ++size_;
}

// False: the system provides no thread.
bool ThreadPool::StartWorker(unsigned worker) {
  alive_.fetch_add(1);
  if (StartThread([this, worker] { WorkerMain(worker); })) return true;
  alive_.fetch_sub(1);
  return false;
}

// A caller that waits works on its jobs as number 0; asynchronous work needs a thread of that number too, or
// at least one of another number.
void ThreadPool::Serve(WorkSource& source) {
  source_.store(&source);
  if (StartWorker(0) || size_ > 1) return;
  source_.store(nullptr);
  throw std::system_error(EAGAIN, std::generic_category(), "no thread can be made for asynchronous work");
}

void ThreadPool::WorkOn(Job& job, unsigned worker, Arena& arena) {
  try {
    job.Work(worker, arena);
  } catch (...) {
    job.Break(CurrentFailure());
  }
}

bool ThreadPool::OnWorker() { return current_worker != ~0u; }
unsigned ThreadPool::CurrentWorker() { return OnWorker() ? current_worker : 0; }

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
  std::unique_ptr<Arena> arena = TakeArena();
  Run(job, max_workers, CurrentWorker(), *arena);
  ReturnArena(std::move(arena));
}

void ThreadPool::Run(const std::shared_ptr<Job>& job, unsigned max_workers, unsigned worker, Arena& arena) {
  job->max_workers_ = max_workers == 0 ? size() : std::min(max_workers, size());
  job->owner_is_zero_ = worker == 0;
  job->joined_.store(1, std::memory_order_relaxed);
  WorkOn(*job, worker, arena);
  if (!job->help_requested()) return;
  {
    std::lock_guard lock(mutex_);
    std::erase(jobs_, job);
  }
  // Workers that joined may still be inside their last chunk. Most chunks end sooner than a sleeping thread
  // is woken; blocks may be long, so wait without burning a core after that.
  for (int spins = 0; MaySpin() && spins < kSpins && job->running_.load() != 0; ++spins) Pause();
  for (unsigned running = job->running_.load(); running != 0; running = job->running_.load())
    job->running_.wait(running);
}

void ThreadPool::RequestHelp(const std::shared_ptr<Job>& job) {
  if (job->max_workers_ <= 1 || job->help_requested_.exchange(true)) return;
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  jobs_epoch_.fetch_add(1);
  asking_processor.store(CurrentProcessor(), std::memory_order_relaxed);
  Wake(job->max_workers_ - 1, job->owner_is_zero_ ? kOtherWorkers : kAnySleeper);
}

bool ThreadPool::OtherWorkWaits() const {
  const WorkSource* source = source_.load(std::memory_order_acquire);
  return source != nullptr && source->HasReady() && !stopping();
}

// A thread that publishes work calls this afterwards. A worker that spins or is about to park checks once
// more after it has announced it (Idle), so either it sees the work or it is seen here.
void ThreadPool::Notify() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (spinning_.load(std::memory_order_relaxed) != 0) return;
  Wake(1, kAnySleeper);
}

void ThreadPool::Wake(unsigned count, uint32_t groups) {
  if (parked_.load() == 0) return;
  wake_word_.fetch_add(1);
  FutexWake(wake_word_, static_cast<int>(count), groups);
}

std::shared_ptr<Job> ThreadPool::FindJob(unsigned worker) {
  std::lock_guard lock(mutex_);
  for (const auto& job : jobs_) {
    if (job->Exhausted() || (worker == 0 && job->owner_is_zero_)) continue;
    if (job->joined_.load() >= job->max_workers_) continue;
    job->joined_.fetch_add(1);
    job->running_.fetch_add(1);  // under the lock: Run removes the job under it before it waits
    return job;
  }
  return nullptr;
}

bool ThreadPool::HelpJob(unsigned worker, Arena& arena) {
  const std::shared_ptr<Job> job = FindJob(worker);
  if (job == nullptr) return false;
  WorkOn(*job, worker, arena);
  job->joined_.fetch_sub(1);
  if (job->running_.fetch_sub(1) == 1) job->running_.notify_all();
  return true;
}

bool ThreadPool::HasWork(uint32_t seen_jobs) const {
  if (stopping_.load() || jobs_epoch_.load() != seen_jobs) return true;
  const WorkSource* source = source_.load(std::memory_order_acquire);
  return source != nullptr && source->HasReady();
}

void ThreadPool::Idle(uint32_t seen_jobs, unsigned worker) {
  uint32_t nobody = 0;
  if (MaySpin() && spinning_.compare_exchange_strong(nobody, 1)) {
    for (int spins = 0; spins < kSpins && !HasWork(seen_jobs); ++spins) Pause();
    spinning_.store(0);
    if (HasWork(seen_jobs)) return;
  }
  parked_.fetch_add(1);
  const uint32_t word = wake_word_.load();
  if (!HasWork(seen_jobs)) {
    const WorkSource* source = source_.load(std::memory_order_acquire);
    FutexWait(wake_word_, word, source != nullptr && source->Polling() ? kPollNanoseconds : 0,
              worker == 0 ? kWorkerZero : kOtherWorkers);
    if (jobs_epoch_.load() != seen_jobs) LeaveProcessor(asking_processor.load(std::memory_order_relaxed));
  }
  parked_.fetch_sub(1);
}

void ThreadPool::WorkerMain(unsigned worker) {
  current_worker = worker;
  PrepareThreadForFaults();
  const std::unique_ptr<Arena> arena = TakeArena();
  while (!stopping()) {
    const uint32_t seen_jobs = jobs_epoch_.load();
    WorkSource* source = source_.load(std::memory_order_acquire);
    if (source != nullptr && source->RunReady(worker, *arena)) continue;
    if (HelpJob(worker, *arena)) continue;
    Idle(seen_jobs, worker);
  }
  alive_.fetch_sub(1);
}

}  // namespace ptx2cpu::rt
