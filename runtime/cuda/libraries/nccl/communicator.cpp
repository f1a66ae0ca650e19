#include "runtime/cuda/libraries/nccl/communicator.h"

#include <csetjmp>
#include <cstdio>

#include "driver_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/nccl/status.h"
#include "runtime/timeline/timeline.h"
#include "runtime/worker/failure.h"
#include "runtime/worker/fault.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::nccl {

using namespace cuda;

Communicator::Communicator(std::unique_ptr<Exchange> exchange, int rank)
    : exchange_(std::move(exchange)), rank_(rank) {}

ncclResult_t Communicator::Make(std::unique_ptr<Exchange> exchange, int rank,
                                std::shared_ptr<Communicator>& made) {
  const std::shared_ptr<Communicator> fresh(new Communicator(std::move(exchange), rank));
  CUdevice device = 0;
  if (driver::cuCtxGetCurrent(&fresh->context_) != CUDA_SUCCESS ||
      driver::cuCtxGetDevice(&device) != CUDA_SUCCESS) {
    return ncclUnhandledCudaError;
  }
  fresh->device_ = device;
  if (!rt::StartThread([fresh] { fresh->Main(); })) return ncclSystemError;
  std::unique_lock lock(fresh->mutex_);
  fresh->changed_.wait(lock, [&] { return fresh->state_ != State::kStarting; });
  if (fresh->state_ != State::kRunning) return fresh->error();
  made = fresh;
  return ncclSuccess;
}

void Communicator::Main() {
  rt::PrepareThreadForFaults();
  error_ = exchange_->Join();
  const bool started = error_ == ncclSuccess;
  {
    const std::lock_guard lock(mutex_);
    state_ = started ? State::kRunning : State::kRefused;
    changed_.notify_all();
  }
  if (!started) return;
  while (const std::shared_ptr<Batch> batch = Next()) {
    Run(*batch);
    const std::lock_guard lock(mutex_);
    if (batch->ticket != 0) ++done_tickets_;
    batch->ended.fetch_add(1);
    changed_.notify_all();
  }
  exchange_->Leave();
  const std::lock_guard lock(mutex_);
  state_ = State::kEnded;
  for (const auto& [ticket, batch] : ready_) batch->ended.fetch_add(1);
  for (const auto& batch : captured_) batch->ended.fetch_add(1);
  ready_.clear(), captured_.clear();
  changed_.notify_all();
}

// The next work; null: the communicator ends.
std::shared_ptr<Batch> Communicator::Next() {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Batch> next;
  changed_.wait(lock, [&] {
    if (const auto found = ready_.find(done_tickets_ + 1); found != ready_.end()) {
      next = std::move(found->second);
      ready_.erase(found);
    } else if (!captured_.empty()) {
      next = std::move(captured_.front());
      captured_.pop_front();
    }
    return next != nullptr || (state_ == State::kEnding && (aborted_ || done_tickets_ == last_ticket_));
  });
  return next;
}

uint64_t Communicator::TakeTicket() {
  const std::lock_guard lock(mutex_);
  return ++last_ticket_;
}

void Communicator::Come(const std::shared_ptr<Batch>& batch, rt::ErrorState& errors, uint64_t stream,
                        bool failed) {
  const std::lock_guard lock(mutex_);
  if (aborted_) {  // the stream continues without it
    batch->ended.fetch_add(1);
    return;
  }
  if (batch->come == 0) batch->errors.clear(), batch->dropped = false;
  batch->errors.push_back(&errors);
  batch->stream = stream;
  batch->dropped |= failed;
  if (++batch->come < batch->streams) return;
  batch->come = 0;
  if (batch->ticket != 0) {
    ready_.emplace(batch->ticket, batch);
  } else {
    captured_.push_back(batch);
  }
  changed_.notify_all();
}

ncclResult_t Communicator::Wait(const char* name, std::function<Outcome(Exchange&)> call) {
  const auto batch = std::make_shared<Batch>();
  batch->communicator = shared_from_this();
  batch->name = name, batch->call = std::move(call), batch->ticket = TakeTicket();
  rt::ErrorState errors;
  Come(batch, errors, 0, false);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return batch->ended.load() != 0; });
  return aborted_ ? ncclInvalidUsage : error();
}

void Communicator::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_tickets_ == last_ticket_ || state_ != State::kRunning; });
  if (state_ == State::kRunning) state_ = State::kEnding;
  changed_.notify_all();
  changed_.wait(lock, [&] { return state_ == State::kEnded; });
}

void Communicator::Abort() {
  aborted_ = true;
  exchange_->Abort();
  const std::lock_guard lock(mutex_);
  if (state_ == State::kRunning) state_ = State::kEnding;
  changed_.notify_all();
}

Outcome Communicator::Perform(Batch& batch) {
  if (batch.call) return batch.call(*exchange_);
  for (const Operation& operation : batch.collectives) {
    if (const Outcome outcome = exchange_->Collective(operation); outcome != Outcome::kDone) return outcome;
  }
  return exchange_->Messages(batch.messages);
}

// An error of the communicator, and of the contexts whose streams wait for the batch: what they would read
// next is not there. Not after ncclCommAbort, which programs call to continue without this communicator.
void Communicator::Report(Batch& batch, ncclResult_t result, rt::LaunchError error) {
  exchange_->Abort();
  if (aborted_) return;
  error_ = result;
  Fail(result, batch.name, error.message);
  for (rt::ErrorState* errors : batch.errors) errors->Fail(error);
}

void Communicator::Run(Batch& batch) {
  if (batch.dropped || error_ != ncclSuccess || aborted_)
    return Report(batch, error_ == ncclSuccess ? ncclUnhandledCudaError : error_.load(),
                  {rt::LaunchError::Kind::kResources, "not done after an earlier error"});
  const uint64_t begin = rt::timeline::Wanted() ? rt::timeline::Now() : 0;
  rt::LandingPoint landing;
  const rt::LandingScope scope(landing);
  if (sigsetjmp(landing.jump, 0) != 0) {
    rt::UnblockFaultSignals();
    return Report(batch, ncclUnhandledCudaError, libraries::FaultOf(batch.name, landing.record));
  }
  try {
    const Outcome outcome = Perform(batch);
    if (outcome == Outcome::kGone)
      return Report(batch, ncclRemoteError,
                    {rt::LaunchError::Kind::kResources,
                     "rank " + std::to_string(rank_) + " waits for a rank that has ended or failed"});
    if (outcome == Outcome::kMismatch)
      return Report(
          batch, ncclInvalidUsage,
          {rt::LaunchError::Kind::kResources, "the ranks' calls differ in function, type or count"});
  } catch (...) {
    return Report(batch, ncclSystemError, {rt::LaunchError::Kind::kResources, rt::CurrentFailure().text});
  }
  if (begin != 0) rt::timeline::AddWork(batch.stream, batch.name, begin, rt::timeline::Now());
}

ncclRedOp_t Communicator::AddFactor(const Factor& factor) {
  const std::lock_guard lock(mutex_);
  size_t place = 0;
  while (place < factors_.size() && factors_[place]) ++place;
  if (place == factors_.size()) factors_.emplace_back();
  factors_[place] = factor;
  return static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(place));
}

std::optional<Communicator::Factor> Communicator::FactorOf(ncclRedOp_t op) {
  const std::lock_guard lock(mutex_);
  const int place = op - ncclNumOps;
  if (place < 0 || static_cast<size_t>(place) >= factors_.size()) return std::nullopt;
  return factors_[static_cast<size_t>(place)];
}

bool Communicator::RemoveFactor(ncclRedOp_t op) {
  const std::lock_guard lock(mutex_);
  const int place = op - ncclNumOps;
  if (place < 0 || static_cast<size_t>(place) >= factors_.size()) return false;
  const bool there = factors_[static_cast<size_t>(place)].has_value();
  factors_[static_cast<size_t>(place)].reset();
  return there;
}

}  // namespace ptx2cpu::nccl
