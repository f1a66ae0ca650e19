// Graph launches: sequences, conditions, and parallel branches. A stream that passes to another thread in the
// middle of one continues at the place in its frames.
#include "runtime/device/condition.h"
#include "runtime/stream/executor.h"
#include "runtime/stream/front_operation.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::rt {

namespace {

// The body that a value selects, from 1; 0: none.
size_t BodyOf(const ConditionalWork& conditional) {
  const uint32_t value = conditional.condition->value();
  size_t body = 0;
  switch (conditional.kind) {
    case ConditionalWork::Kind::kIf:
      body = value != 0 ? 1 : 2;
      break;
    case ConditionalWork::Kind::kWhile:
      body = value != 0 ? 1 : 0;
      break;
    case ConditionalWork::Kind::kSwitch:
      body = size_t{value} + 1;
      break;
  }
  return body <= conditional.bodies.size() ? body : 0;
}

}  // namespace

const std::shared_ptr<const LaunchData>& FrontOperation::launch() const {
  return std::get<SequenceWork>(stream_.batch_.first()->work).launch;
}

Outcome FrontOperation::PerformSteps(RunContext& context, const Steps& steps, size_t depth) {
  if (frames_.size() <= depth) frames_.resize(depth + 1);
  for (; frames_[depth].place < steps.size(); ++frames_[depth].place) {
    if (Perform(context, steps[frames_[depth].place], depth + 1) == Outcome::kBlocked)
      return Outcome::kBlocked;
  }
  frames_[depth].place = 0;
  return Outcome::kDone;
}

// A loop may continue without bound; other ready work runs in between.
bool FrontOperation::LetOthersRun() {
  Executor& executor = Executor::Get();
  if (!executor.HasReady() && !(ThreadPool::OnWorker() && executor.stopping())) return false;
  stream_.state_.store(Stream::State::kReady, std::memory_order_relaxed);
  executor.MakeReady(stream_);
  return true;
}

// The place is the body that is running, and one more after each iteration of a loop.
Outcome FrontOperation::PerformConditional(RunContext& context, const ConditionalWork& conditional,
                                           size_t depth) {
  constexpr size_t kAfterTurn = ~size_t{0};
  if (frames_.size() <= depth) frames_.resize(depth + 1);
  for (;;) {
    size_t body = frames_[depth].place;
    if (body == 0 || body == kAfterTurn)
      body = frames_[depth].place = stream_.errors().failed() ? 0 : BodyOf(conditional);
    if (body == 0) return Outcome::kDone;
    if (PerformSteps(context, *conditional.bodies[body - 1], depth + 1) == Outcome::kBlocked)
      return Outcome::kBlocked;
    if (conditional.kind != ConditionalWork::Kind::kWhile) break;
    frames_[depth].place = kAfterTurn;
    if (LetOthersRun()) return Outcome::kBlocked;
  }
  frames_[depth].place = 0;
  return Outcome::kDone;
}

// Nothing else submits to the lanes, and what they do does not wait for this operation, so it can wait for
// them.
void FrontOperation::StartBranches(const Branches& branches, size_t depth) {
  std::vector<std::shared_ptr<Stream>>& lanes = frames_[depth].lanes;
  while (lanes.size() < branches.lanes)
    lanes.push_back(std::make_shared<Stream>(*stream_.group_, StreamKind::kNonBlocking, stream_.priority()));
  std::vector<WaitWork> ends;
  ends.reserve(branches.parts.size());
  for (const Branches::Part& part : branches.parts) {
    const std::shared_ptr<Stream>& lane = lanes[part.lane];
    for (const uint32_t before : part.after) {
      const WaitWork& end = ends[before];
      if (end.stream->completed() < end.number) lane->Append(end);
    }
    const uint64_t number = lane->Append(SequenceWork{part.steps, launch()});
    ends.push_back({lane, number});
  }
}

// Places: 0 before the lanes are started, 1 while the stream does its own part, then which lane it waits for.
Outcome FrontOperation::PerformBranches(RunContext& context, const Branches& branches, size_t depth) {
  constexpr size_t kFirstLane = 2;
  if (frames_.size() <= depth) frames_.resize(depth + 1);
  if (frames_[depth].place == 0) {
    StartBranches(branches, depth);
    frames_[depth].place = 1;
  }
  if (frames_[depth].place == 1) {
    if (branches.own != nullptr && PerformSteps(context, *branches.own, depth + 1) == Outcome::kBlocked)
      return Outcome::kBlocked;
    frames_[depth].place = kFirstLane;
  }
  for (; frames_[depth].place < kFirstLane + branches.lanes; ++frames_[depth].place) {
    const std::shared_ptr<Stream> lane = frames_[depth].lanes[frames_[depth].place - kFirstLane];
    if (AwaitTicket({lane, lane->submitted()}) == Outcome::kBlocked) return Outcome::kBlocked;
  }
  frames_[depth].place = 0;
  return Outcome::kDone;
}

}  // namespace ptx2cpu::rt
