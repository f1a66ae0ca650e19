// Performs each kind of work. graph.cpp has graphs, wait.cpp has waiting.
#include "runtime/stream/front_operation.h"

#include <chrono>
#include <cstdio>
#include <string>

#include "runtime/launch/later_code.h"
#include "runtime/stream/event.h"
#include "runtime/stream/executor.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/turns.h"
#include "runtime/timeline/timeline.h"

namespace ptx2cpu::rt {

namespace {

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
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

Outcome FrontOperation::Perform(RunContext& context, const Work& work, size_t depth) {
  if (!timeline::Wanted()) return PerformUnseen(context, work, depth);
  const uint64_t begin = timeline::Now();
  const std::string name = std::visit(BarName{}, work);  // before: the stream may be elsewhere afterwards
  const uint64_t id = stream_.id_;
  const Outcome outcome = PerformUnseen(context, work, depth);
  if (outcome == Outcome::kDone && !name.empty()) timeline::AddWork(id, name, begin, timeline::Now());
  return outcome;
}

// What each kind of work does; a kind without a function here does not compile. After a fault kernels, copies
// and fills are left out, and what has to be done in any case is done.
struct FrontOperation::Performance {
  FrontOperation& front;
  RunContext& context;
  const size_t depth;
  ErrorState& errors = front.stream_.errors();
  const bool failed = errors.failed();

  Outcome Done(std::optional<LaunchError> error = {}) const {
    if (error) errors.Fail(std::move(*error));
    return Outcome::kDone;
  }
  // The data of the graph launch that is the operation at the front.
  const LaunchData& launch() const { return *front.launch(); }

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
    return failed && !host.always ? Outcome::kDone : front.AwaitHost(host);
  }
  Outcome operator()(const CallWork& call) const {
    if (!failed || call.always) call.run();
    return Outcome::kDone;
  }
  Outcome operator()(const PollWork& poll) const { return failed ? Outcome::kDone : front.AwaitPoll(poll); }
  Outcome operator()(const RecordWork& record) const {
    if (record.event->latest_record.load() == record.record) record.event->nanoseconds.store(Now());
    return Outcome::kDone;
  }
  Outcome operator()(const WaitWork& wait) const { return front.AwaitTicket(wait); }
  Outcome operator()(const GateWork& gate) const { return front.AwaitGate(gate); }
  Outcome operator()(const LaunchWaitWork& wait) const {
    return front.AwaitTicket(launch().waits[wait.slot]);
  }
  Outcome operator()(const LaunchRecordWork& record) const {
    record.event->nanoseconds.store(Now());
    launch().gates[record.slot]->Open();
    return Outcome::kDone;
  }
  Outcome operator()(const BranchesWork& branches) const {
    return front.PerformBranches(context, *branches.branches, depth);
  }
  Outcome operator()(const ConditionalWork& conditional) const {
    return front.PerformConditional(context, conditional, depth);
  }
  Outcome operator()(const SequenceWork& sequence) const {
    return front.PerformSteps(context, *sequence.steps, depth);
  }
};

Outcome FrontOperation::PerformUnseen(RunContext& context, const Work& work, size_t depth) {
  try {
    return std::visit(Performance{*this, context, depth}, work);
  } catch (...) {
    const Failure failure = CurrentFailure();
    const auto kind = failure.kind == Failure::Kind::kInternal ? LaunchError::Kind::kInternal
                                                               : LaunchError::Kind::kResources;
    if (stream_.errors().Fail({kind, failure.text}))
      std::fprintf(stderr, "ptx2cpu: %s\n", failure.text.c_str());
    return Outcome::kDone;
  }
}

}  // namespace ptx2cpu::rt
