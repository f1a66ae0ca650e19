// Streams: operations in order, asynchronously, on the pool's workers.
//
// An operation has a number in its stream, from 1. Streams wait for each other by tickets, "that stream, that
// number", and a ticket always names an operation that is already queued, so waits cannot form a cycle. Any
// thread may use any stream. A thread that waits for a stream runs the stream's work itself while no worker
// has taken it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/stream/completion.h"
#include "runtime/stream/error_state.h"
#include "runtime/stream/front_operation.h"
#include "runtime/stream/operation_list.h"
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
  // Made by StreamGroup::NewStream. A stream without remaining owners still performs its queued operations.
  Stream(StreamGroup& group, StreamKind kind, int priority);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues the work and returns its number. Blocks only when some thousands of operations are queued; it then
  // runs them itself where it can. The group must live.
  uint64_t Submit(Work work);
  // Later work of this stream waits for the ticket.
  void WaitFor(const Ticket& ticket);

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t completed() const { return completion_.number(); }
  bool Idle() const { return completed() >= submitted(); }
  // Everything queued so far.
  Ticket Last() { return At(submitted()); }
  Ticket At(uint64_t number) { return {shared_from_this(), number}; }
  // Waits for all queued operations. The legacy stream also waits for those of blocking streams.
  void Synchronize();
  void SynchronizeTo(uint64_t number);

  StreamKind kind() const { return kind_; }
  int priority() const { return priority_; }  // lower runs first, as in CUDA: 0 is the least
  uint64_t id() const { return id_; }         // unique in the process, from 1
  ErrorState& errors() const { return *errors_; }

 private:
  friend class Completion;
  friend class Executor;
  friend class FrontOperation;
  friend class Gate;
  friend class StreamGroup;

  enum class State : uint8_t { kIdle, kReady, kRunning, kBlocked };
  // Blocked by the ticket `on`; at a gate, by the launch `by` that opens it.
  struct Blocked {
    Ticket on, by;
  };
  // State that the group and the executor keep about it.
  struct Listed {
    std::atomic<bool> busy{false}, blocking{false};  // in the group's lists
    std::atomic<uint64_t> legacy_waited{0};          // number of the legacy stream last waited for
  };
  struct ReadyLink {
    Stream* next = nullptr;
    Stream* previous = nullptr;
    bool linked = false;
  };

  uint64_t Append(Work work);
  void KeepBounded();

  // For the thread that has claimed the stream. Runs operations up to `number`; releases the stream before it
  // returns.
  void Run(RunContext& context, uint64_t number);
  bool TakeQueued();
  void Complete();
  void Unblock();

  void HelpUntil(RunContext& context, uint64_t number, int depth);
  Blocked WhatBlocks();

  // Written by threads that submit.
  alignas(64) SpinLock lock_;  // the queue, free operations, blocked_, state changes from and to kIdle
  OperationList queued_, free_;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<State> state_{State::kIdle};
  std::shared_ptr<Stream> self_;  // while not idle
  Blocked blocked_;
  Listed listed_;

  // Written by the thread that runs the stream.
  alignas(64) Completion completion_;
  OperationList batch_;  // taken from the queue, in order
  OperationList used_;   // done, to be given back
  FrontOperation front_{*this};

  ReadyLink ready_;  // the executor's ready list, under its lock

  StreamGroup* const group_;
  const std::shared_ptr<ErrorState> errors_;
  const StreamKind kind_;
  const int priority_;
  const uint64_t id_;
};

// A gate is closed until a launch opens it.
class Gate {
 public:
  void Open();

 private:
  friend class FrontOperation;
  SpinLock lock_;  // both
  bool open_ = false;
  std::vector<std::shared_ptr<Stream>> held_;
};

inline bool Ticket::Done() const { return stream == nullptr || stream->completed() >= number; }
inline void Ticket::Synchronize() const {
  if (!Done()) stream->SynchronizeTo(number);
}

}  // namespace ptx2cpu::rt
