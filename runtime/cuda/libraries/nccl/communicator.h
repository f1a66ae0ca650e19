// One rank of a communicator: a thread that does what streams hand to it, in the order of the program's
// calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/nccl/exchange.h"
#include "runtime/stream/error_state.h"

namespace ptx2cpu::nccl {

class Communicator;

// What one group hands to one communicator. Streams that it came from begin it together, and wait for it.
struct Batch {
  std::shared_ptr<Communicator> communicator;
  const char* name = nullptr;          // of its first function
  std::vector<Operation> collectives;  // in order, before the messages
  std::vector<Operation> messages;
  std::function<Outcome(Exchange&)> call;  // in place of both: what the host waits for
  int streams = 1;
  uint64_t ticket = 0;             // its place in the communicator's order; 0: captured, when it comes
  std::atomic<uint64_t> ended{0};  // how often it has
  // Under the communicator's lock.
  int come = 0;                         // streams that have reached it this time
  bool dropped = false;                 // a stream has failed: nothing is to be done
  std::vector<rt::ErrorState*> errors;  // of these streams
  uint64_t stream = 0;                  // for timelines
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  // Waits until all ranks have joined (Exchange::Join). SystemError: no thread.
  static cuda::ncclResult_t Make(std::unique_ptr<Exchange> exchange, int rank,
                                 std::shared_ptr<Communicator>& made);

  int rank() const { return rank_; }
  int ranks() const { return exchange_->ranks(); }
  cuda::CUcontext context() const { return context_; }
  int device() const { return device_; }
  cuda::ncclResult_t error() const { return error_.load(); }

  // The next place in the order of calls. Each one that is given must come.
  uint64_t TakeTicket();
  // A stream of the batch has reached it. `failed`: the stream has, and the batch is not done.
  void Come(const std::shared_ptr<Batch>& batch, rt::ErrorState& errors, uint64_t stream, bool failed);
  // Does `call` on the rank's thread, after what was queued before, and waits for it.
  cuda::ncclResult_t Wait(const char* name, std::function<Outcome(Exchange&)> call);
  // Waits for all that has a ticket. The thread ends then.
  void Finish();
  void Abort();

  // Reductions of the program's own.
  struct Factor {
    cuda::ncclDataType_t type;
    uint64_t value;
    const void* at;  // on the device; null: `value` is it
  };
  cuda::ncclRedOp_t AddFactor(const Factor& factor);
  std::optional<Factor> FactorOf(cuda::ncclRedOp_t op);
  bool RemoveFactor(cuda::ncclRedOp_t op);

 private:
  Communicator(std::unique_ptr<Exchange> exchange, int rank);
  void Main();
  std::shared_ptr<Batch> Next();
  void Run(Batch& batch);
  Outcome Perform(Batch& batch);
  void Report(Batch& batch, cuda::ncclResult_t result, rt::LaunchError error);

  const std::unique_ptr<Exchange> exchange_;
  const int rank_;
  cuda::CUcontext context_ = nullptr;
  int device_ = 0;
  std::atomic<cuda::ncclResult_t> error_{cuda::ncclSuccess};
  std::atomic<bool> aborted_{false};  // by this rank's program

  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  enum class State : uint8_t { kStarting, kRunning, kRefused, kEnding, kEnded };
  State state_ = State::kStarting;
  uint64_t last_ticket_ = 0, done_tickets_ = 0;
  std::map<uint64_t, std::shared_ptr<Batch>> ready_;
  std::deque<std::shared_ptr<Batch>> captured_;
  std::vector<std::optional<Factor>> factors_;
};

}  // namespace ptx2cpu::nccl

// What a program holds.
struct ptx2cpu::cuda::ncclComm {
  std::shared_ptr<ptx2cpu::nccl::Communicator> communicator;
};
