#include "runtime/stream/executor.h"

#include <algorithm>

#include "runtime/timeline/timeline.h"
#include "runtime/worker/futex.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

// Like the pool, it is never destroyed; there is one for each pool, so a forked child has its own.
Executor& Executor::Get() {
  static std::atomic<Executor*> the_executor = nullptr;
  static std::mutex& mutex = *new std::mutex;
  ThreadPool& pool = ThreadPool::Get();
  Executor* executor = the_executor.load(std::memory_order_acquire);
  if (executor != nullptr && &executor->pool_ == &pool) return *executor;
  std::lock_guard lock(mutex);
  executor = the_executor.load(std::memory_order_acquire);
  if (executor != nullptr && &executor->pool_ == &pool) return *executor;
  executor = new Executor(pool);
  the_executor.store(executor, std::memory_order_release);
  return *executor;
}

Executor::Executor(ThreadPool& pool) : pool_(pool) { pool_.Serve(*this); }

int Executor::LevelOf(const Stream& stream) { return std::clamp(-stream.priority(), 0, kLevels - 1); }

void Executor::MakeReady(Stream& stream) {
  const int level = LevelOf(stream);
  {
    std::lock_guard lock(ready_lock_);
    stream.ready_.next = nullptr;
    stream.ready_.previous = last_[level];
    (last_[level] != nullptr ? last_[level]->ready_.next : first_[level]) = &stream;
    last_[level] = &stream;
    stream.ready_.linked = true;
    ready_count_.fetch_add(1);
  }
  pool_.Notify();
}

void Executor::Unlink(Stream& stream, int level) {
  (stream.ready_.previous != nullptr ? stream.ready_.previous->ready_.next : first_[level]) =
      stream.ready_.next;
  (stream.ready_.next != nullptr ? stream.ready_.next->ready_.previous : last_[level]) =
      stream.ready_.previous;
  stream.ready_.linked = false;
  stream.state_.store(Stream::State::kRunning, std::memory_order_relaxed);
  ready_count_.fetch_sub(1);
}

Stream* Executor::TakeReady() {
  if (ready_count_.load() == 0) return nullptr;
  std::lock_guard lock(ready_lock_);
  for (int level = kLevels - 1; level >= 0; --level) {
    Stream* stream = first_[level];
    if (stream == nullptr) continue;
    Unlink(*stream, level);
    return stream;
  }
  return nullptr;
}

bool Executor::TryClaim(Stream& stream) {
  std::lock_guard lock(ready_lock_);
  if (!stream.ready_.linked) return false;
  Unlink(stream, LevelOf(stream));
  return true;
}

bool Executor::RunReady(unsigned worker, Arena& arena) {
  if (poll_count_.load(std::memory_order_relaxed) != 0) PollAll();
  Stream* stream = TakeReady();
  if (stream == nullptr) return false;
  if (HasReady()) pool_.Notify();
  RunContext context{worker, arena};
  stream->Run(context, ~uint64_t{0});
  return true;
}

bool Executor::HasHostThread() {
  std::lock_guard lock(host_mutex_);
  if (!host_started_) host_started_ = StartThread([this] { HostMain(); });
  return host_started_;
}

void Executor::CallHost(Stream& stream, const HostWork& work) {
  {
    std::lock_guard lock(host_mutex_);
    host_calls_.push_back({&stream, work});
  }
  host_word_.fetch_add(1);
  FutexWake(host_word_, 1);
}

void Executor::HostMain() {
  for (;;) {
    const uint32_t word = host_word_.load();
    std::unique_lock lock(host_mutex_);
    if (host_calls_.empty()) {
      lock.unlock();
      FutexWait(host_word_, word);
      continue;
    }
    const HostCall call = host_calls_.front();
    host_calls_.pop_front();
    lock.unlock();
    const uint64_t begin = timeline::Wanted() ? timeline::Now() : 0;
    call.work.function(call.work.data);
    if (begin != 0) timeline::AddWork(call.stream->id(), "host function", begin, timeline::Now());
    call.stream->front_.EndWait();
    call.stream->Unblock();
  }
}

void Executor::Poll(Stream& stream) {
  {
    std::lock_guard lock(poll_lock_);
    polling_.push_back(&stream);
    poll_count_.fetch_add(1);
  }
  pool_.Notify();
}

void Executor::PollAll() {
  std::vector<Stream*> ready;
  {
    std::lock_guard lock(poll_lock_);
    std::erase_if(polling_, [&](Stream* stream) {
      if (!stream->errors().failed() && !stream->front_.poll().ready()) return false;
      ready.push_back(stream);
      return true;
    });
    poll_count_.fetch_sub(static_cast<uint32_t>(ready.size()));
  }
  for (Stream* stream : ready) {
    stream->front_.EndWait();
    stream->Unblock();
  }
}

}  // namespace ptx2cpu::rt
