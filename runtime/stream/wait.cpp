// Waiting for streams: streams for streams, host functions and polls, threads for streams.
#include <mutex>
#include <thread>

#include "runtime/stream/executor.h"
#include "runtime/stream/front_operation.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::rt {

namespace {

constexpr int kMaxDepth = 64;  // streams that wait for streams whose work one thread takes over

}  // namespace

// In each of these, the stream may run on another thread as soon as it has been handed over: nothing of it is
// touched afterwards.

Outcome FrontOperation::AwaitTicket(const WaitWork& wait) {
  if (wait.stream == nullptr || wait.stream->completed() >= wait.number) return Outcome::kDone;
  const std::shared_ptr<Stream> other = wait.stream;
  const uint64_t number = wait.number;
  {
    std::lock_guard lock(stream_.lock_);
    stream_.state_.store(Stream::State::kBlocked, std::memory_order_relaxed);
    stream_.blocked_.on = {other, number};
  }
  if (other->completion_.AddWaiter({number, stream_.shared_from_this(), nullptr})) return Outcome::kBlocked;
  std::lock_guard lock(stream_.lock_);
  stream_.state_.store(Stream::State::kRunning, std::memory_order_relaxed);
  stream_.blocked_.on = {};
  return Outcome::kDone;
}

Outcome FrontOperation::AwaitHost(const HostWork& host) {
  if (std::exchange(wait_is_over_, false)) return Outcome::kDone;
  Executor& executor = Executor::Get();
  if (executor.stopping() || !executor.HasHostThread()) {
    host.function(host.data);
    return Outcome::kDone;
  }
  stream_.state_.store(Stream::State::kBlocked, std::memory_order_relaxed);
  executor.CallHost(stream_, host);
  return Outcome::kBlocked;
}

Outcome FrontOperation::AwaitPoll(const PollWork& poll) {
  if (std::exchange(wait_is_over_, false) || poll.ready()) return Outcome::kDone;
  poll_ = &poll;
  stream_.state_.store(Stream::State::kBlocked, std::memory_order_relaxed);
  Executor::Get().Poll(stream_);
  return Outcome::kBlocked;
}

Outcome FrontOperation::AwaitGate(const GateWork& work) {
  if (std::exchange(wait_is_over_, false)) return Outcome::kDone;
  std::lock_guard lock(work.gate->lock_);
  if (work.gate->open_) return Outcome::kDone;
  {
    std::lock_guard own_lock(stream_.lock_);
    stream_.blocked_.by = {work.launch.stream, work.launch.number};
  }
  stream_.state_.store(Stream::State::kBlocked, std::memory_order_relaxed);
  work.gate->held_.push_back(stream_.shared_from_this());
  return Outcome::kBlocked;
}

void Gate::Open() {
  std::vector<std::shared_ptr<Stream>> held;
  {
    std::lock_guard lock(lock_);
    open_ = true;
    held.swap(held_);
  }
  for (const std::shared_ptr<Stream>& stream : held) {
    stream->front_.EndWait();
    stream->Unblock();
  }
}

void Stream::Unblock() {
  {
    std::lock_guard lock(lock_);
    blocked_ = {};
    state_.store(State::kReady, std::memory_order_relaxed);
  }
  Executor::Get().MakeReady(*this);
}

Stream::Blocked Stream::WhatBlocks() {
  std::lock_guard lock(lock_);
  return blocked_;
}

void Stream::HelpUntil(RunContext& context, uint64_t number, int depth) {
  Executor& executor = Executor::Get();
  while (completed() < number) {
    if (executor.TryClaim(*this)) {
      Run(context, number);
      continue;
    }
    const Ticket other = WhatBlocks().on;
    if (other.stream != nullptr && depth < kMaxDepth) {
      other.stream->HelpUntil(context, other.number, depth + 1);
      continue;
    }
    if (executor.stopping()) {
      const Ticket launch = WhatBlocks().by;
      if (launch.stream != nullptr && depth < kMaxDepth)
        launch.stream->HelpUntil(context, launch.number, depth + 1);
      executor.PollAll();
      std::this_thread::yield();
      continue;
    }
    completion_.SleepUntil(number);
  }
}

void Stream::SynchronizeTo(uint64_t number) {
  if (completed() >= number) return;
  const std::shared_ptr<Stream> keep = shared_from_this();
  ThreadPool& pool = Executor::Get().pool();
  std::unique_ptr<Arena> arena = pool.TakeArena();
  RunContext context{ThreadPool::CurrentWorker(), *arena};
  HelpUntil(context, number, 0);
  pool.ReturnArena(std::move(arena));
}

}  // namespace ptx2cpu::rt
