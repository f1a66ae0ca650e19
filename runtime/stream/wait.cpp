// Waiting for streams: streams for streams, host functions and polls, threads for streams.
#include <algorithm>

#include "runtime/stream/executor.h"
#include "runtime/stream/stream.h"
#include "runtime/worker/futex.h"

namespace ptx2cpu::rt {

namespace {

constexpr int kSpins = 1000;   // 10 to 40 us of looking before a thread that waits for a stream sleeps
constexpr int kMaxDepth = 64;  // streams that wait for streams whose work one thread takes over

}  // namespace

// In each of these, the stream may run on another thread as soon as it has been handed over: nothing of it is
// touched afterwards.

Stream::Outcome Stream::AwaitTicket(const WaitWork& wait) {
  if (wait.stream == nullptr || wait.stream->completed() >= wait.number) return Outcome::kDone;
  const std::shared_ptr<Stream> other = wait.stream;
  const uint64_t number = wait.number;
  {
    std::lock_guard lock(lock_);
    state_.store(State::kBlocked, std::memory_order_relaxed);
    blocked_on_ = {other, number};
  }
  if (other->AddWaiter({number, shared_from_this(), nullptr})) return Outcome::kBlocked;
  std::lock_guard lock(lock_);
  state_.store(State::kRunning, std::memory_order_relaxed);
  blocked_on_ = {};
  return Outcome::kDone;
}

Stream::Outcome Stream::AwaitHost(const HostWork& host) {
  if (std::exchange(external_done_, false)) return Outcome::kDone;
  Executor& executor = Executor::Get();
  if (executor.stopping() || !executor.HasHostThread()) {
    host.function(host.data);
    return Outcome::kDone;
  }
  state_.store(State::kBlocked, std::memory_order_relaxed);
  executor.CallHost(*this, host);
  return Outcome::kBlocked;
}

Stream::Outcome Stream::AwaitPoll(const PollWork& poll) {
  if (std::exchange(external_done_, false) || poll.ready()) return Outcome::kDone;
  front_poll_ = &poll;
  state_.store(State::kBlocked, std::memory_order_relaxed);
  Executor::Get().Poll(*this);
  return Outcome::kBlocked;
}

Stream::Outcome Stream::AwaitGate(const GateWork& work) {
  if (std::exchange(external_done_, false)) return Outcome::kDone;
  std::lock_guard lock(work.gate->lock_);
  if (work.gate->open_) return Outcome::kDone;
  {
    std::lock_guard own_lock(lock_);
    held_by_ = {work.launch.stream, work.launch.number};
  }
  state_.store(State::kBlocked, std::memory_order_relaxed);
  work.gate->held_.push_back(shared_from_this());
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
    stream->external_done_ = true;
    stream->Unblock();
  }
}

void Stream::Unblock() {
  {
    std::lock_guard lock(lock_);
    blocked_on_ = held_by_ = {};
    state_.store(State::kReady, std::memory_order_relaxed);
  }
  Executor::Get().MakeReady(*this);
}

// False: the number is done already.
bool Stream::AddWaiter(Waiter waiter) {
  std::lock_guard lock(lock_);
  // Announced before the last read of completed_; Complete() does these two in the other order.
  const uint64_t before = notice_.load();
  notice_.store(std::min(before, waiter.number));
  if (completed_.load() >= waiter.number) {
    notice_.store(before);
    return false;
  }
  waiters_.push_back(std::move(waiter));
  std::push_heap(waiters_.begin(), waiters_.end());
  return true;
}

void Stream::Notify() {
  std::vector<Waiter> done;
  {
    std::lock_guard lock(lock_);
    while (!waiters_.empty() && waiters_.front().number <= completed_.load()) {
      std::pop_heap(waiters_.begin(), waiters_.end());
      done.push_back(std::move(waiters_.back()));
      waiters_.pop_back();
    }
    notice_.store(waiters_.empty() ? ~uint64_t{0} : waiters_.front().number);
  }
  for (Waiter& waiter : done) {
    if (waiter.stream != nullptr) {
      waiter.stream->Unblock();
    } else {
      waiter.sleeper->store(1);
      FutexWake(*waiter.sleeper);
    }
  }
}

Ticket Stream::BlockedOn() {
  std::lock_guard lock(lock_);
  return blocked_on_;
}

Ticket Stream::HeldBy() {
  std::lock_guard lock(lock_);
  return held_by_;
}

void Stream::Sleep(uint64_t number) {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (completed() >= number) return;
    Pause();
  }
  std::atomic<uint32_t> woken = 0;
  if (!AddWaiter({number, nullptr, &woken})) return;
  while (woken.load() == 0) FutexWait(woken, 0);
}

void Stream::HelpUntil(RunContext& context, uint64_t number, int depth) {
  Executor& executor = Executor::Get();
  while (completed() < number) {
    if (executor.TryClaim(*this)) {
      Run(context, number);
      continue;
    }
    const Ticket other = BlockedOn();
    if (other.stream != nullptr && depth < kMaxDepth) {
      other.stream->HelpUntil(context, other.number, depth + 1);
      continue;
    }
    if (executor.stopping()) {
      const Ticket launch = HeldBy();
      if (launch.stream != nullptr && depth < kMaxDepth)
        launch.stream->HelpUntil(context, launch.number, depth + 1);
      executor.PollAll();
      std::this_thread::yield();
      continue;
    }
    Sleep(number);
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
