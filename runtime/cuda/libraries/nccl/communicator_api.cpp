// Communicators: made, split, ended.
#include <algorithm>
#include <utility>
#include <vector>

#include "driver_api.h"
#include "nccl_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/nccl/bootstrap.h"
#include "runtime/cuda/libraries/nccl/group.h"
#include "runtime/cuda/libraries/nccl/memory_exchange.h"
#include "runtime/cuda/libraries/nccl/status.h"

namespace ptx2cpu::nccl {

namespace {

// The context of the caller, on whichever thread the work is done.
ncclResult_t InContextOfCaller(std::function<ncclResult_t()> make) {
  if (libraries::Begin() != CUDA_SUCCESS) return Note(ncclUnhandledCudaError);
  CUcontext context = nullptr;
  if (driver::cuCtxGetCurrent(&context) != CUDA_SUCCESS) return Note(ncclUnhandledCudaError);
  return AddTogether([context, make = std::move(make)] {
    CUcontext left;
    if (driver::cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return ncclUnhandledCudaError;
    const ncclResult_t result = make();
    driver::cuCtxPopCurrent_v2(&left);
    return result;
  });
}

ncclResult_t Made(std::unique_ptr<Exchange> exchange, int rank, ncclComm_t* comm) {
  std::shared_ptr<Communicator> communicator;
  const ncclResult_t result = Communicator::Make(std::move(exchange), rank, communicator);
  if (result == ncclSuccess) *comm = new ncclComm{std::move(communicator)};
  return result;
}

ncclResult_t InitRank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank) {
  if (comm == nullptr || ranks < 1 || ranks > Region::kMaxRanks || rank < 0 || rank >= ranks)
    return Note(Fail(ncclInvalidArgument, "ncclCommInitRank",
                     "rank " + std::to_string(rank) + " of " + std::to_string(ranks)));
  return InContextOfCaller([=] {
    std::unique_ptr<Exchange> exchange;
    const ncclResult_t result = Meet(id, ranks, rank, exchange);
    return result == ncclSuccess ? Made(std::move(exchange), rank, comm) : result;
  });
}

bool ValidConfig(const ncclConfig_t* config) {
  return config == nullptr || config->magic == kNcclConfigMagic;
}

// The ranks of one color, by key and then by their rank before.
std::vector<int> RanksOfColor(const std::vector<Card>& cards, int color) {
  std::vector<int> members;
  for (size_t i = 0; i < cards.size(); ++i) {
    if (cards[i].color == color) members.push_back(static_cast<int>(i));
  }
  std::ranges::sort(members, {},
                    [&](int rank) { return std::pair(cards[static_cast<size_t>(rank)].key, rank); });
  return members;
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return uniqueId == nullptr ? ncclInvalidArgument : MakeUniqueId(*uniqueId);
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return InitRank(comm, nranks, commId, rank);
}
// Communicators are made before it returns, also where `blocking` is 0.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  if (!ValidConfig(config)) return Note(ncclInvalidArgument);
  return InitRank(comm, nranks, commId, rank);
}
// More ids only spread the work of large starts.
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  if (!ValidConfig(config) || commIds == nullptr || nId < 1) return Note(ncclInvalidArgument);
  return InitRank(newcomm, nranks, commIds[0], myrank);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  int devices = 0;
  if (comm == nullptr || ndev < 1 || ndev > Region::kMaxRanks) return ncclInvalidArgument;
  if (libraries::Begin() != CUDA_SUCCESS || driver::cuDeviceGetCount(&devices) != CUDA_SUCCESS)
    return ncclUnhandledCudaError;
  std::vector<int> list;
  for (int i = 0; i < ndev; ++i) {
    list.push_back(devlist == nullptr ? i : devlist[i]);
    if (list.back() < 0 || list.back() >= devices)
      return Fail(ncclInvalidArgument, "ncclCommInitAll",
                  "device " + std::to_string(list.back()) + " of " + std::to_string(devices) +
                      " (exec --devices N makes more)");
    if (std::ranges::count(list, list.back()) != 1) return ncclInvalidUsage;
  }
  const int file = Region::MakeFile(ndev);
  const std::shared_ptr<Region> region = file < 0 ? nullptr : Region::Map(file, ndev);
  if (region == nullptr) return ncclSystemError;
  StartGroup();
  for (int i = 0; i < ndev; ++i) {
    AddTogether([=] {
      CUcontext context = nullptr, left;
      if (driver::cuDevicePrimaryCtxRetain(&context, list[static_cast<size_t>(i)]) != CUDA_SUCCESS ||
          driver::cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) {
        return ncclUnhandledCudaError;
      }
      const ncclResult_t result = Made(std::make_unique<MemoryExchange>(region, i), i, comm + i);
      driver::cuCtxPopCurrent_v2(&left);
      return result;
    });
  }
  return EndGroup();
}

// The first rank of each color makes an id, at which the others of its color meet.
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  if (comm == nullptr || newcomm == nullptr || !ValidConfig(config)) return Note(ncclInvalidArgument);
  return InContextOfCaller([=, communicator = comm->communicator] {
    std::vector<int> members;
    ncclUniqueId id{};
    ncclResult_t made = ncclSuccess;
    const int rank = communicator->rank();
    const auto agree = [&](Exchange& exchange) {
      std::vector<Card> cards;
      Card own{color, key};
      if (const Outcome outcome = exchange.Pass(own, cards); outcome != Outcome::kDone) return outcome;
      members = RanksOfColor(cards, color);
      const bool first = color != NCCL_SPLIT_NOCOLOR && members[0] == rank;
      if (first) made = MakeUniqueId(own.part);
      if (const Outcome outcome = exchange.Pass(own, cards); outcome != Outcome::kDone) return outcome;
      id = cards[static_cast<size_t>(members[0])].part;
      return Outcome::kDone;
    };
    if (const ncclResult_t result = communicator->Wait("ncclCommSplit", agree)) return result;
    *newcomm = nullptr;
    if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
    if (made != ncclSuccess) return made;
    const auto own = static_cast<int>(std::ranges::find(members, rank) - members.begin());
    std::unique_ptr<Exchange> exchange;
    const ncclResult_t result = Meet(id, static_cast<int>(members.size()), own, exchange);
    return result == ncclSuccess ? Made(std::move(exchange), own, newcomm) : result;
  });
}

// The calls before it are done when ncclCommDestroy returns; there is nothing else to flush.
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  comm->communicator->Finish();
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  comm->communicator->Abort();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  if (comm == nullptr || asyncError == nullptr) return ncclInvalidArgument;
  *asyncError = comm->communicator->error();
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  if (comm == nullptr || count == nullptr) return ncclInvalidArgument;
  *count = comm->communicator->ranks();
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  if (comm == nullptr || device == nullptr) return ncclInvalidArgument;
  *device = comm->communicator->device();
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  if (comm == nullptr || rank == nullptr) return ncclInvalidArgument;
  *rank = comm->communicator->rank();
  return ncclSuccess;
}

}  // namespace ptx2cpu::nccl
