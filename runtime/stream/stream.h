// Streams: operations in order, asynchronously, on the pool's workers.
//
// An operation has a number in its stream, from 1. Streams wait for each other by tickets, "that stream, that
// number", and a ticket always names an operation that is already queued, so waits cannot form a cycle. Any
// thread may use any stream. A thread that waits for a stream runs its work itself as long as no worker has
// taken it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/stream/error_state.h"
#include "runtime/stream/work.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

class Executor;
class Gate;
class StreamGroup;
struct RunContext;

// Done when the stream has completed operation `number`. Without a stream: done.
struct Ticket {
  std::shared_ptr<Stream> stream;
  uint64_t number = 0;

  bool Done() const;
  void Synchronize() const;
};

enum class StreamKind : uint8_t {
  kLegacy,    // the legacy default stream of its group
  kBlocking,  // in order with the legacy default stream
  kNonBlocking,
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // Made by StreamGroup::NewStream. A stream without remaining owners still does what was queued.
  Stream(StreamGroup& group, StreamKind kind, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues the work and returns its number. Blocks only when some thousands of operations are queued; it then
  // runs them itself where it can. The group must live.
  uint64_t Submit(Work work);
  // Later work of this stream waits for the ticket.
  void WaitFor(const Ticket& ticket);

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  bool Idle() const { return completed() >= submitted(); }
  // Everything queued so far.
  Ticket Last() { return At(submitted()); }
  Ticket At(uint64_t number) { return {shared_from_this(), number}; }
  // Waits for all that was queued. The legacy stream also waits for what blocking streams have queued.
  void Synchronize();
  void SynchronizeTo(uint64_t number);

  StreamKind kind() const { return kind_; }
  int priority() const { return priority_; }  // lower runs first, as in CUDA: 0 is the least
  uint64_t id() const { return id_; }         // unique in the process, from 1
  ErrorState& errors() const { return *errors_; }

 private:
  friend class Executor;
  friend class Gate;
  friend class StreamGroup;

  struct Operation {
    Work work;
    Operation* next = nullptr;
  };
  // Somebody who waits for a number: another stream or a sleeping thread.
  struct Waiter {
    uint64_t number = 0;
    std::shared_ptr<Stream> stream;
    std::atomic<uint32_t>* sleeper = nullptr;
    bool operator<(const Waiter& other) const {
      return number > other.number;
    }  // least number on top of a heap
  };
  enum class State : uint8_t { kIdle, kReady, kRunning, kBlocked };
  enum class Outcome : uint8_t { kDone, kBlocked };

  uint64_t Append(Work work);
  void KeepBounded();

  // For the thread that has claimed the stream. Runs operations up to `number`; releases the stream before it
  // returns.
  void Run(RunContext& context, uint64_t number);
  bool TakeQueued();
  static void Drop(Operation* list);
  // `depth`: sequences, conditions and branches around the work. After kBlocked the stream may run
  // elsewhere.
  Outcome Perform(RunContext& context, const Work& work, size_t depth);
  struct Performance;
  Outcome PerformUnseen(RunContext& context, const Work& work, size_t depth);
  Outcome PerformSteps(RunContext& context, const Steps& steps, size_t depth);
  Outcome PerformConditional(RunContext& context, const ConditionalWork& conditional, size_t depth);
  Outcome PerformBranches(RunContext& context, const Branches& branches, size_t depth);
  void StartBranches(const Branches& branches, size_t depth);
  bool LetOthersRun();
  Outcome AwaitTicket(const WaitWork& wait);
  Outcome AwaitHost(const HostWork& host);
  Outcome AwaitPoll(const PollWork& poll);
  Outcome AwaitGate(const GateWork& work);
  const PollWork& FrontPoll() const { return *front_poll_; }
  void Complete();
  void Unblock();

  bool AddWaiter(Waiter waiter);
  void Notify();
  void Sleep(uint64_t number);
  void HelpUntil(RunContext& context, uint64_t number, int depth);
  Ticket BlockedOn();
  Ticket HeldBy();

  // Written by those who submit.
  alignas(64)
      SpinLock lock_;  // the queue, free operations, waiters, blocked_on_, state changes from and to kIdle
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
  Operation* free_ = nullptr;
  size_t free_count_ = 0;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<State> state_{State::kIdle};
  std::shared_ptr<Stream> self_;  // while not idle
  std::vector<Waiter> waiters_;   // heap
  Ticket blocked_on_, held_by_;   // held_by_: the launch that opens the gate which is waited for
  std::atomic<bool> listed_busy_{false}, listed_blocking_{false};  // in the group's lists
  std::atomic<uint64_t> legacy_waited_{0};  // number of the legacy stream last waited for

  // Written by who runs the stream.
  alignas(64) std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> notice_{~uint64_t{0}};  // least number in waiters_
  Operation* batch_ = nullptr;                  // taken from the queue, in order
  Operation* used_ = nullptr;                   // done, to be given back
  Operation* used_tail_ = nullptr;
  size_t used_count_ = 0;
  // Where the operation at the front is, for each depth; 0 where it is not. Lanes are streams of this one's
  // own that do branches, at most once at a time.
  struct Frame {
    size_t place = 0;
    std::vector<std::shared_ptr<Stream>> lanes;
  };
  std::vector<Frame> frames_;
  const PollWork* front_poll_ = nullptr;  // what the front waits for while it is polled
  bool external_done_ = false;  // the host function at the front has returned, the poll returned true

  // The executor's ready list, under its lock.
  Stream* ready_next_ = nullptr;
  Stream* ready_previous_ = nullptr;
  bool ready_linked_ = false;

  StreamGroup* const group_;
  const std::shared_ptr<ErrorState> errors_;
  const StreamKind kind_;
  const int priority_;
  const uint64_t id_;
};

// Closed until a launch opens it.
class Gate {
 public:
  void Open();

 private:
  friend class Stream;
  SpinLock lock_;  // both
  bool open_ = false;
  std::vector<std::shared_ptr<Stream>> held_;
};

inline bool Ticket::Done() const { return stream == nullptr || stream->completed() >= number; }
inline void Ticket::Synchronize() const {
  if (!Done()) stream->SynchronizeTo(number);
}

}  // namespace ptx2cpu::rt
