// The queue of a stream, and running its operations. wait.cpp has waiting for streams.
//
// A stream is idle, ready (in the executor's list), running (claimed by one thread) or blocked (by another
// stream, a host function or a poll). The thread that runs it owns batch_, used_ and front_; they pass from
// thread to thread under the executor's lock.
#include "runtime/stream/stream.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "runtime/stream/executor.h"
#include "runtime/stream/stream_group.h"

namespace ptx2cpu::rt {

namespace {

constexpr uint64_t kMaxQueued = 1024;
constexpr size_t kKeptOperations = 256;        // of an idle stream
constexpr int64_t kSliceNanoseconds = 200000;  // a stream's turn while others are ready
constexpr int kOperationsPerSlice = 64;

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t NextId() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Stream::Stream(StreamGroup& group, StreamKind kind, int priority)
    : group_(&group), errors_(group.errors()), kind_(kind), priority_(priority), id_(NextId()) {}

uint64_t Stream::Submit(Work work) {
  if (submitted() - completed() >= kMaxQueued) KeepBounded();
  group_->Order(*this);
  const uint64_t number = Append(std::move(work));
  group_->List(*this);
  return number;
}

void Stream::Synchronize() {
  if (kind_ == StreamKind::kLegacy) group_->Order(*this);
  SynchronizeTo(submitted());
}

void Stream::WaitFor(const Ticket& ticket) {
  if (ticket.Done() || ticket.stream.get() == this) return;
  Submit(WaitWork{ticket.stream, ticket.number});
}

// A worker never waits here: the stream could be waiting for it.
void Stream::KeepBounded() {
  if (!ThreadPool::OnWorker()) SynchronizeTo(submitted() - kMaxQueued / 2);
}

uint64_t Stream::Append(Work work) {
  lock_.lock();
  Operation* operation = nullptr;
  if (free_.first() == nullptr) {
    lock_.unlock();
    operation = new Operation;
    lock_.lock();
  } else {
    operation = free_.PopFront();
  }
  operation->work = std::move(work);
  queued_.PushBack(operation);
  const uint64_t number = submitted_.load(std::memory_order_relaxed) + 1;
  submitted_.store(number);
  const bool wake = state_.load(std::memory_order_relaxed) == State::kIdle;
  if (wake) {
    state_.store(State::kReady, std::memory_order_relaxed);
    self_ = shared_from_this();
  }
  lock_.unlock();
  if (wake) Executor::Get().MakeReady(*this);
  return number;
}

// Frees what is done and takes what is queued. False: nothing is; then the stream is idle and may be
// gone.
bool Stream::TakeQueued() {
  std::shared_ptr<Stream> self;  // goes last
  OperationList surplus;
  std::lock_guard lock(lock_);
  free_.TakeInFront(used_);
  batch_ = std::move(queued_);
  if (batch_.first() != nullptr) return true;
  if (free_.count() > kKeptOperations) surplus = std::move(free_);
  state_.store(State::kIdle, std::memory_order_relaxed);
  self = std::move(self_);
  return false;
}

void Stream::Run(RunContext& context, uint64_t number) {
  Executor& executor = Executor::Get();
  int64_t end_of_slice = 0;
  int operations = 0;
  for (;;) {
    if (batch_.first() == nullptr && !TakeQueued()) return;
    bool leave = completed() >= number || (ThreadPool::OnWorker() && executor.stopping());
    if (number == ~uint64_t{0} && executor.HasReady()) {
      const int64_t now = Now();
      if (end_of_slice == 0) end_of_slice = now + kSliceNanoseconds;
      leave |= now > end_of_slice || ++operations > kOperationsPerSlice;
    }
    if (leave) {
      state_.store(State::kReady, std::memory_order_relaxed);
      return executor.MakeReady(*this);
    }
    if (front_.Perform(context, batch_.first()->work, 0) == Outcome::kBlocked) return;
    Complete();
  }
}

void Stream::Complete() {
  Operation* operation = batch_.PopFront();
  operation->work = std::monostate{};  // what it held is freed before it is visibly done
  used_.PushFront(operation);
  completion_.Advance();
}

}  // namespace ptx2cpu::rt
