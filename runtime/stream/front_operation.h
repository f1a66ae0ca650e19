// Performs the operation at the front of a stream and keeps its progress, so that a stream can pass to
// another thread in the middle of an operation. The thread that runs the stream owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/stream/work.h"

namespace ptx2cpu::rt {

class Stream;
struct RunContext;

// After kBlocked the stream may run elsewhere.
enum class Outcome : uint8_t { kDone, kBlocked };

class FrontOperation {
 public:
  explicit FrontOperation(Stream& stream) : stream_(stream) {}

  // `depth`: sequences, conditions and branches around the work.
  Outcome Perform(RunContext& context, const Work& work, size_t depth);
  const PollWork& poll() const { return *poll_; }
  // The event that it waited for has come. The stream is blocked; the caller unblocks it.
  void EndWait() { wait_is_over_ = true; }

 private:
  struct Performance;
  // The progress of the operation at each depth; 0 where it has not begun. Lanes are streams of this stream's
  // own that run branches, at most one set of branches at a time.
  struct Frame {
    size_t place = 0;
    std::vector<std::shared_ptr<Stream>> lanes;
  };

  Outcome PerformUnseen(RunContext& context, const Work& work, size_t depth);
  Outcome PerformSteps(RunContext& context, const Steps& steps, size_t depth);
  Outcome PerformConditional(RunContext& context, const ConditionalWork& conditional, size_t depth);
  Outcome PerformBranches(RunContext& context, const Branches& branches, size_t depth);
  void StartBranches(const Branches& branches, size_t depth);
  const std::shared_ptr<const LaunchData>& launch() const;  // of the graph that is the operation
  bool LetOthersRun();
  Outcome AwaitTicket(const WaitWork& wait);
  Outcome AwaitHost(const HostWork& host);
  Outcome AwaitPoll(const PollWork& poll);
  Outcome AwaitGate(const GateWork& work);

  Stream& stream_;
  std::vector<Frame> frames_;
  const PollWork* poll_ = nullptr;  // what it waits for while it is polled
  bool wait_is_over_ = false;  // the host function has returned, the poll returned true, the gate is open
};

}  // namespace ptx2cpu::rt
