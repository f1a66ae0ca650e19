#include "runtime/cuda/libraries/nccl/group.h"

#include <algorithm>
#include <latch>
#include <utility>
#include <vector>

#include "driver_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::nccl {

using namespace cuda;

namespace {

struct Addition {
  const char* name;
  std::shared_ptr<Communicator> communicator;
  Operation operation;
  CUstream stream;
};

struct Group {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;
  std::vector<Addition> additions;
  std::vector<std::function<ncclResult_t()>> together;
};

Group& OwnGroup() {
  thread_local Group group;
  return group;
}

// Makes the communicator's context the thread's.
class InContext {
 public:
  explicit InContext(CUcontext context) : entered_(driver::cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~InContext() {
    CUcontext left;
    if (entered_) driver::cuCtxPopCurrent_v2(&left);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const bool entered_;
};

// What one stream begins and waits for.
struct Share {
  CUcontext context;
  CUstream stream;
  std::vector<std::shared_ptr<Batch>> batches;
  uint64_t times = 0;  // that the stream has come here; a graph's do so again and again
};

Share& ShareOf(std::vector<std::shared_ptr<Share>>& shares, CUcontext context, CUstream stream) {
  const auto found = std::ranges::find_if(
      shares, [&](const auto& share) { return share->context == context && share->stream == stream; });
  if (found != shares.end()) return **found;
  return *shares.emplace_back(std::make_shared<Share>(Share{context, stream, {}}));
}

std::vector<std::shared_ptr<Share>> SharesOf(const std::vector<Addition>& additions) {
  std::vector<std::shared_ptr<Batch>> batches;
  std::vector<std::shared_ptr<Share>> shares;
  for (const Addition& addition : additions) {
    auto batch = std::ranges::find(batches, addition.communicator, &Batch::communicator);
    if (batch == batches.end()) {
      batch = batches.insert(batches.end(), std::make_shared<Batch>());
      (*batch)->communicator = addition.communicator;
      (*batch)->name = addition.name;
      (*batch)->streams = 0;
    }
    const Kind kind = addition.operation.kind;
    auto& list = kind == Kind::kSend || kind == Kind::kReceive ? (*batch)->messages : (*batch)->collectives;
    list.push_back(addition.operation);
    Share& share = ShareOf(shares, addition.communicator->context(), addition.stream);
    if (std::ranges::find(share.batches, *batch) != share.batches.end()) continue;
    share.batches.push_back(*batch);
    ++(*batch)->streams;
  }
  return shares;
}

CUresult Submit(const std::shared_ptr<Share>& share) {
  const InContext scope(share->context);
  return libraries::SubmitAwaited(
      share->stream,
      [share](rt::ErrorState& errors, uint64_t stream) {
        ++share->times;
        for (const std::shared_ptr<Batch>& batch : share->batches)
          batch->communicator->Come(batch, errors, stream, errors.failed());
      },
      [share] {
        return std::ranges::all_of(share->batches,
                                   [&](const auto& batch) { return batch->ended.load() >= share->times; });
      });
}

bool IsCaptured(const Share& share) {
  const InContext scope(share.context);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver::cuStreamIsCapturing(share.stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

ncclResult_t HandOver(const std::vector<Addition>& additions) {
  const auto shares = SharesOf(additions);
  for (const auto& share : shares) {
    const bool captured = IsCaptured(*share);
    for (const auto& batch : share->batches) {
      if (!captured && batch->ticket == 0) batch->ticket = batch->communicator->TakeTicket();
    }
  }
  ncclResult_t result = ncclSuccess;
  for (const auto& share : shares) {
    if (Submit(share) == CUDA_SUCCESS) continue;
    result = ncclUnhandledCudaError;
    for (const auto& batch : share->batches) batch->communicator->Abort();  // its turn never comes
  }
  return result;
}

// Each on a thread of its own, since each waits for the others.
ncclResult_t DoTogether(const std::vector<std::function<ncclResult_t()>>& together) {
  if (together.size() == 1) return together[0]();
  std::vector<ncclResult_t> results(together.size(), ncclSystemError);
  std::latch left(static_cast<std::ptrdiff_t>(together.size()));
  for (size_t i = 0; i < together.size(); ++i) {
    const bool started = rt::StartThread([&, i] {
      results[i] = together[i]();
      left.count_down();
    });
    if (!started) left.count_down();
  }
  left.wait();
  const auto failed =
      std::ranges::find_if(results, [](ncclResult_t result) { return result != ncclSuccess; });
  return failed == results.end() ? ncclSuccess : *failed;
}

}  // namespace

void StartGroup() { ++OwnGroup().depth; }

ncclResult_t EndGroup() {
  Group& group = OwnGroup();
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth != 0) return ncclSuccess;
  const Group done = std::exchange(group, {});
  if (done.failure != ncclSuccess) return done.failure;
  if (!done.together.empty()) {
    if (const ncclResult_t result = DoTogether(done.together)) return result;
  }
  return HandOver(done.additions);
}

ncclResult_t Add(const char* name, const std::shared_ptr<Communicator>& communicator,
                 const Operation& operation, CUstream stream) {
  Group& group = OwnGroup();
  if (group.depth == 0) return HandOver({{name, communicator, operation, stream}});
  group.additions.push_back({name, communicator, operation, stream});
  return ncclSuccess;
}

ncclResult_t AddTogether(std::function<ncclResult_t()> make) {
  Group& group = OwnGroup();
  if (group.depth == 0) return make();
  group.together.push_back(std::move(make));
  return ncclSuccess;
}

ncclResult_t Note(ncclResult_t result) {
  Group& group = OwnGroup();
  if (group.depth != 0 && group.failure == ncclSuccess) group.failure = result;
  return result;
}

}  // namespace ptx2cpu::nccl
