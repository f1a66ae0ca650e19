// The queue of a stream and running what is in it. Waiting for streams: wait.cpp.
//
// A stream is idle, ready (in the executor's list), running (claimed by one thread) or blocked (by another
// stream, a host function or a poll). Who runs it owns batch_, used_, frames_ and external_done_; they pass
// from thread to thread with the executor's lock.
#include "runtime/stream/stream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "runtime/launch/later_code.h"
#include "runtime/stream/event.h"
#include "runtime/stream/executor.h"
#include "runtime/stream/stream_group.h"
#include "runtime/stream/turns.h"
#include "runtime/timeline/timeline.h"

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

// The name of an operation's bar in a timeline; empty: not worth a bar.
struct BarName {
  std::string operator()(const KernelWork& work) const { return work.kernel->name; }
  std::string operator()(const CopyWork& work) const {
    return "copy of " + std::to_string(work.width * work.height * work.depth) + " bytes";
  }
  std::string operator()(const FillWork& work) const {
    return "fill of " + std::to_string(work.width * work.value_bytes * work.height) + " bytes";
  }
  // What takes no time of its own, or has bars for its parts. The host thread makes those of its functions.
  template <OneOf<std::monostate, HostWork, CallWork, PollWork, RecordWork, WaitWork, GateWork,
                  LaunchWaitWork, LaunchRecordWork, BranchesWork, ConditionalWork, SequenceWork>
                T>
  std::string operator()(const T&) const {
    return {};
  }
};

}  // namespace

Stream::Stream(StreamGroup& group, StreamKind kind, int priority)
    : group_(&group), errors_(group.errors()), kind_(kind), priority_(priority), id_(NextId()) {}

Stream::~Stream() { Drop(used_), Drop(free_); }

void Stream::Drop(Operation* list) {
  while (list != nullptr) delete std::exchange(list, list->next);
}

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
  Operation* operation = free_;
  if (operation == nullptr) {
    lock_.unlock();
    operation = new Operation;
    lock_.lock();
  } else {
    free_ = operation->next;
    --free_count_;
  }
  operation->work = std::move(work);
  operation->next = nullptr;
  (tail_ != nullptr ? tail_->next : head_) = operation;
  tail_ = operation;
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
  Operation* surplus = nullptr;
  std::shared_ptr<Stream> self;
  bool more = true;
  {
    std::lock_guard lock(lock_);
    if (used_ != nullptr) {
      used_tail_->next = free_;
      free_ = std::exchange(used_, nullptr);
      free_count_ += std::exchange(used_count_, 0);
    }
    batch_ = std::exchange(head_, nullptr);
    tail_ = nullptr;
    if (batch_ == nullptr) {
      if (free_count_ > kKeptOperations) surplus = std::exchange(free_, nullptr), free_count_ = 0;
      state_.store(State::kIdle, std::memory_order_relaxed);
      self = std::move(self_);
      more = false;
    }
  }
  Drop(surplus);
  return more;
}

void Stream::Run(RunContext& context, uint64_t number) {
  Executor& executor = Executor::Get();
  int64_t end_of_slice = 0;
  int operations = 0;
  for (;;) {
    if (batch_ == nullptr && !TakeQueued()) return;
    bool leave = completed_.load(std::memory_order_relaxed) >= number ||
                 (ThreadPool::OnWorker() && executor.stopping());
    if (number == ~uint64_t{0} && executor.HasReady()) {
      const int64_t now = Now();
      if (end_of_slice == 0) end_of_slice = now + kSliceNanoseconds;
      leave |= now > end_of_slice || ++operations > kOperationsPerSlice;
    }
    if (leave) {
      state_.store(State::kReady, std::memory_order_relaxed);
      return executor.MakeReady(*this);
    }
    if (Perform(context, batch_->work, 0) == Outcome::kBlocked) return;
    Complete();
  }
}

void Stream::Complete() {
  Operation* operation = batch_;
  batch_ = operation->next;
  operation->work = std::monostate{};  // what it held is freed before it is visibly done
  operation->next = used_;
  if (used_ == nullptr) used_tail_ = operation;
  used_ = operation;
  ++used_count_;
  const uint64_t number = completed_.load(std::memory_order_relaxed) + 1;
  completed_.store(number);
  if (number >= notice_.load()) Notify();
}

Stream::Outcome Stream::Perform(RunContext& context, const Work& work, size_t depth) {
  if (!timeline::Wanted()) return PerformUnseen(context, work, depth);
  const uint64_t begin = timeline::Now();
  const std::string name = std::visit(BarName{}, work);  // before: the stream may be elsewhere afterwards
  const uint64_t id = id_;
  const Outcome outcome = PerformUnseen(context, work, depth);
  if (outcome == Outcome::kDone && !name.empty()) timeline::AddWork(id, name, begin, timeline::Now());
  return outcome;
}

// What each kind of work does; a kind without a function here does not compile. After a fault kernels, copies
// and fills are left out, and what has to be done in any case is done.
struct Stream::Performance {
  Stream& stream;
  RunContext& context;
  const size_t depth;
  const bool failed = stream.errors_->failed();

  Outcome Done(std::optional<LaunchError> error = {}) const {
    if (error) stream.errors_->Fail(std::move(*error));
    return Outcome::kDone;
  }
  // Of the launch of a graph that is the operation at the front.
  const LaunchData& launch() const { return *std::get<SequenceWork>(stream.batch_->work).launch; }

  Outcome operator()(const std::monostate&) const { return Outcome::kDone; }
  Outcome operator()(const KernelWork& kernel) const {
    if (failed) return Outcome::kDone;
    LaunchOptions options;
    options.cooperative = kernel.cooperative;
    options.services = kernel.services;
    const LaunchCode code =
        kernel.latest == nullptr ? LaunchCode{kernel.kernel, kernel.later} : kernel.latest(kernel);
    options.later = code.later;
    const auto turn = TakeTurn();
    const int64_t begin = code.later == nullptr ? 0 : Now();
    const auto launch = [&] {
      return LaunchOn(*code.kernel, kernel.shape, kernel.params.data(), options, context.worker,
                      context.arena);
    };
    std::optional<LaunchError> error =
        kernel.witness == nullptr ? launch() : kernel.witness->Around(kernel, launch);
    if (code.later != nullptr) code.later->AddTime(Now() - begin);
    if (error && kernel.report) kernel.report(kernel, *error);
    return Done(std::move(error));
  }
  Outcome operator()(const CopyWork& copy) const {
    const auto turn = TakeTurn();
    return failed ? Done() : Done(RunCopy(copy, context));
  }
  Outcome operator()(const FillWork& fill) const {
    const auto turn = TakeTurn();
    return failed ? Done() : Done(RunFill(fill, context));
  }
  Outcome operator()(const HostWork& host) const {
    return failed && !host.always ? Outcome::kDone : stream.AwaitHost(host);
  }
  Outcome operator()(const CallWork& call) const {
    if (!failed || call.always) call.run();
    return Outcome::kDone;
  }
  Outcome operator()(const PollWork& poll) const { return failed ? Outcome::kDone : stream.AwaitPoll(poll); }
  Outcome operator()(const RecordWork& record) const {
    if (record.event->latest_record.load() == record.record) record.event->nanoseconds.store(Now());
    return Outcome::kDone;
  }
  Outcome operator()(const WaitWork& wait) const { return stream.AwaitTicket(wait); }
  Outcome operator()(const GateWork& gate) const { return stream.AwaitGate(gate); }
  Outcome operator()(const LaunchWaitWork& wait) const {
    return stream.AwaitTicket(launch().waits[wait.slot]);
  }
  Outcome operator()(const LaunchRecordWork& record) const {
    record.event->nanoseconds.store(Now());
    launch().gates[record.slot]->Open();
    return Outcome::kDone;
  }
  Outcome operator()(const BranchesWork& branches) const {
    return stream.PerformBranches(context, *branches.branches, depth);
  }
  Outcome operator()(const ConditionalWork& conditional) const {
    return stream.PerformConditional(context, conditional, depth);
  }
  Outcome operator()(const SequenceWork& sequence) const {
    return stream.PerformSteps(context, *sequence.steps, depth);
  }
};

Stream::Outcome Stream::PerformUnseen(RunContext& context, const Work& work, size_t depth) {
  try {
    return std::visit(Performance{*this, context, depth}, work);
  } catch (...) {
    const Failure failure = CurrentFailure();
    const auto kind = failure.kind == Failure::Kind::kInternal ? LaunchError::Kind::kInternal
                                                               : LaunchError::Kind::kResources;
    if (errors_->Fail({kind, failure.text})) std::fprintf(stderr, "ptx2cpu: %s\n", failure.text.c_str());
    return Outcome::kDone;
  }
}

}  // namespace ptx2cpu::rt
