#include "runtime/worker/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "runtime/worker/fault.h"
#include "runtime/worker/processors.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

namespace {

using namespace std::chrono_literals;

// kLook is the time for which a worker looks for work before it sleeps. One worker looks, and each worker
// whose last work came within kReturn of the work before.
constexpr auto kLook = 30us, kReturn = 300us;
// The time for which the owner of a job polls for its end: the chunks that others have claimed take about
// half as long, and a sleeping thread takes as long to wake, or longer on a processor that has halted.
constexpr auto kEnd = 100us;
constexpr int kPausesBetweenLooks = 8;
constexpr uint64_t kPollNanoseconds = 50000;
constexpr unsigned kCalls = 4;  // by each that was called: the others of the tree below it
constexpr uint32_t kTickets = 1u << 30;
constexpr auto kExitPatience = std::chrono::milliseconds(200);

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
  for (unsigned n = 0; n < pool->size_; ++n) pool->boxes_[n].Call(CallBox::kLook, -1);
  const auto give_up = Clock::now() + kExitPatience;
  while (pool->alive_.load() != 0 && Clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

ThreadPool::ThreadPool(unsigned size)
    : may_look_(size > 1 && size <= UsableProcessors()), boxes_(std::make_unique<CallBox[]>(size)) {
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
  job->owner_ = worker;
  WorkOn(*job, worker, arena);
  if (job->place_ != ~0u) ClosePlace(*job);
}

// False: too many jobs are open for help; their workers are busy anyhow.
bool ThreadPool::OpenPlace(Job& job, unsigned helpers) {
  for (uint32_t n = 0; n < kPlaces; ++n) {
    Place& place = places_[n];
    if (place.taken.load(std::memory_order_relaxed) || place.taken.exchange(true)) continue;
    seats_[n].store(0, std::memory_order_relaxed);
    place.owner.store(job.owner_, std::memory_order_relaxed);
    place.helpers.store(helpers, std::memory_order_relaxed);
    const uint32_t ticket = place.ticket.load(std::memory_order_relaxed);
    place.ticket.store((ticket + kPlaces) % kTickets / kPlaces * kPlaces + n, std::memory_order_relaxed);
    job.place_ = n;
    place.job.store(&job);
    return true;
  }
  return false;
}

bool ThreadPool::IsVisited(uint32_t place) const {
  bool visited = false;
  for (unsigned n = 0; n < size_; ++n) visited |= boxes_[n].visits(place);
  return visited;
}

// Workers that joined may still be inside their last chunk. Most chunks end sooner than a sleeping thread is
// woken; blocks may be long, so the owner waits without burning a core after that.
void ThreadPool::ClosePlace(Job& job) {
  Place& place = places_[job.place_];
  place.job.store(nullptr);
  seats_[job.place_].store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Clock::time_point end = Clock::now() + kEnd;
  bool visited = IsVisited(job.place_);
  for (; visited && may_look_ && Clock::now() < end; visited = IsVisited(job.place_)) Pause();
  if (visited) {
    place.owner_sleeps.store(true);
    for (;;) {
      const uint32_t departures = place.departures.load();
      if (!IsVisited(job.place_)) break;
      FutexWait(place.departures, departures);
    }
    place.owner_sleeps.store(false);
  }
  place.taken.store(false);
}

// False: the worker of this position is busy; another may take its seat.
bool ThreadPool::CallFor(const Place& place, uint32_t ticket, unsigned position, int processor) {
  const unsigned worker = (place.owner.load(std::memory_order_relaxed) + position) % size_;
  if (boxes_[worker].Call(CallBox::kJob + ticket, processor)) return true;
  seats_[ticket % kPlaces].fetch_add(1);
  return false;
}

// Workers are called as a tree: the one at a position calls those below it, or its replacement does.
void ThreadPool::CallTree(const Place& place, uint32_t ticket, unsigned position, int processor) {
  const unsigned helpers = place.helpers.load(std::memory_order_relaxed);
  for (unsigned n = 1; n <= kCalls; ++n) {
    const unsigned below = kCalls * position + n;
    if (below > helpers) return;
    if (!CallFor(place, ticket, below, processor)) CallTree(place, ticket, below, processor);
  }
}

// A worker that was called, before it does anything else.
void ThreadPool::PassOn(uint32_t ticket, unsigned worker) {
  const Place& place = places_[ticket % kPlaces];
  const unsigned owner = place.owner.load(std::memory_order_relaxed);
  if (place.job.load() == nullptr || place.ticket.load(std::memory_order_relaxed) != ticket) return;
  CallTree(place, ticket, (worker + size_ - owner % size_) % size_, CurrentProcessor());
}

bool ThreadPool::HelpIsNear() const {
  return may_look_ && Clock::now() - last_request_.load(std::memory_order_relaxed) < kReturn;
}

// A worker that becomes idle either is seen here or sees its seat (Idle).
void ThreadPool::RequestHelp(Job& job, unsigned helpers) {
  helpers = std::min(helpers, job.max_workers_ - 1);
  unsigned before = job.helpers_.load(std::memory_order_relaxed);
  do {
    if (helpers <= before) return;
  } while (!job.helpers_.compare_exchange_weak(before, helpers));
  if (before == 0 && !OpenPlace(job, helpers)) return;
  if (job.place_ == ~0u) return;
  const Place& place = places_[job.place_];
  const uint32_t ticket = place.ticket.load(std::memory_order_relaxed);
  const int processor = CurrentProcessor();
  last_request_.store(Clock::now(), std::memory_order_relaxed);
  if (before == 0) return CallTree(place, ticket, 0, processor);
  for (unsigned position = before + 1; position <= helpers; ++position)
    CallFor(place, ticket, position, processor);
}

bool ThreadPool::HasReady() const {
  const WorkSource* source = source_.load(std::memory_order_acquire);
  return source != nullptr && source->HasReady() && !stopping();
}

bool ThreadPool::MustPoll() const {
  const WorkSource* source = source_.load(std::memory_order_acquire);
  return source != nullptr && source->Polling();
}

bool ThreadPool::OtherWorkWaits() const { return HasReady(); }

// A thread that publishes work calls this afterwards. A worker that watches the source, or has announced that
// it is idle, looks once more after that (Idle), so either it sees the work or it is seen here.
void ThreadPool::Notify() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (watched_.load()) return;
  for (unsigned n = 0; n < size_; ++n) {
    if (boxes_[n].Call(CallBox::kLook, CurrentProcessor())) return;
  }
}

// False: there was nothing to help with.
bool ThreadPool::Help(uint32_t ticket, unsigned worker, Arena& arena) {
  Place& place = places_[ticket % kPlaces];
  CallBox& box = boxes_[worker];
  box.Visit(ticket % kPlaces);
  Job* job = place.job.load();
  const bool joins = job != nullptr && place.ticket.load(std::memory_order_relaxed) == ticket &&
                     worker != job->owner_ && !job->Exhausted();
  if (joins) WorkOn(*job, worker, arena);
  box.Leave();
  if (place.owner_sleeps.load()) {
    place.departures.fetch_add(1);
    FutexWake(place.departures, 1);
  }
  return joins;
}

// The call that a busy worker missed; 0: there is none.
uint32_t ThreadPool::TakeSeat() {
  for (uint32_t n = 0; n < kPlaces; ++n) {
    int seats = seats_[n].load();
    while (seats > 0) {
      const uint32_t ticket = places_[n].ticket.load();
      if (seats_[n].compare_exchange_weak(seats, seats - 1)) return CallBox::kJob + ticket;
    }
  }
  return 0;
}

// One of the workers that look for work watches the source. False: another one does.
bool ThreadPool::TakeWatch() {
  return may_look_ && !watched_.load(std::memory_order_relaxed) && !watched_.exchange(true);
}

// True: the time is over, or the source must be polled, between which the worker sleeps. False: the worker is
// called, or something is ready.
bool ThreadPool::Look(const CallBox& box, bool& watches, Clock::time_point end) {
  for (int n = 1; !box.called() && !stopping(); ++n) {
    if (!watches) watches = TakeWatch();
    if (watches && (HasReady() || MustPoll())) return !HasReady();
    Pause();
    if (n % kPausesBetweenLooks == 0 && Clock::now() > end) return true;
  }
  return false;
}

// Waits for work; the worker has been without work since `since`. Returns the reason of the call; 0: it
// should look for work.
uint32_t ThreadPool::Idle(unsigned worker, Clock::time_point since, bool patient) {
  CallBox& box = boxes_[worker];
  const Clock::time_point now = Clock::now();
  const bool stays = patient && may_look_ && now < since + kReturn;
  bool watches = TakeWatch(), parks = false;
  const bool looks = watches || stays;
  box.Open(looks);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const uint32_t seat = TakeSeat();
  if (seat == 0 && !HasReady() && !stopping() &&
      (!looks || Look(box, watches, stays ? since + kReturn : now + kLook))) {
    parks = !looks || box.Park();
    if (watches) watched_.store(false);
    watches = false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (parks && !HasReady() && !stopping()) box.Sleep(MustPoll() ? kPollNanoseconds : 0);
  }
  if (watches) watched_.store(false);
  const uint32_t call = box.Close();
  if (call >= CallBox::kJob) {
    if (parks) LeaveProcessor(box.caller_processor());
    PassOn(call - CallBox::kJob, worker);
  }
  return seat != 0 ? seat : call;
}

void ThreadPool::WorkerMain(unsigned worker) {
  current_worker = worker;
  PrepareWorkerForFaults();
  const std::unique_ptr<Arena> arena = TakeArena();
  Clock::time_point idle_since = Clock::now();
  bool patient = false;
  for (uint32_t call = 0; !stopping(); call = HasReady() ? 0 : Idle(worker, idle_since, patient)) {
    const Clock::time_point found = Clock::now();
    WorkSource* source = source_.load(std::memory_order_acquire);
    const bool worked = (source != nullptr && source->RunReady(worker, *arena)) ||
                        (call >= CallBox::kJob && Help(call - CallBox::kJob, worker, *arena));
    // This also holds where it came too late: then it should not have slept.
    if (!worked && call == 0) continue;
    patient = found - idle_since < kReturn;
    idle_since = Clock::now();
  }
  alive_.fetch_sub(1);
}

}  // namespace ptx2cpu::rt
