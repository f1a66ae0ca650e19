#include "runtime/cuda/libraries/nccl/bootstrap.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/cuda/driver/core/local_socket.h"
#include "runtime/cuda/libraries/nccl/status.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::nccl {

using namespace cuda;
using driver::AcceptFrom, driver::Descriptor, driver::ReceiveWithFile, driver::SendWithFile;

namespace {

constexpr std::string_view kPrefix = "ptx2cpu-nccl-";

struct Request {
  int32_t ranks, rank;
};
enum class Answer : int32_t { kWelcome, kOtherCount };

// Serves the ranks of one communicator, and ends when all have come.
void Serve(const Descriptor& listening) {
  int ranks = 0, welcome = 0;
  Descriptor file;
  while (ranks == 0 || welcome < ranks) {
    const Descriptor peer = AcceptFrom(listening);
    Request request{};
    Descriptor none;
    if (!peer) break;
    if (!ReceiveWithFile(peer, &request, sizeof request, none)) continue;
    if (ranks == 0) {
      ranks = request.ranks;
      file = Descriptor(Region::MakeFile(ranks));
      if (!file) break;
    }
    const Answer answer = request.ranks == ranks ? Answer::kWelcome : Answer::kOtherCount;
    const bool welcomed = answer == Answer::kWelcome;
    if (SendWithFile(peer, &answer, sizeof answer, welcomed ? file.number() : -1) && welcomed) ++welcome;
  }
}

}  // namespace

uint64_t ProcessNumber() {
  static const uint64_t random = [] {
    uint64_t made = 0;
    return driver::FillRandom(&made, sizeof made) ? made : static_cast<uint64_t>(getppid());
  }();
  return random + static_cast<uint64_t>(getpid()) * 0x9e3779b97f4a7c15;  // a forked child is another one
}

ncclResult_t MakeUniqueId(ncclUniqueId& id) {
  uint64_t random[2] = {};
  if (!driver::FillRandom(random, sizeof random)) return ncclSystemError;
  char name[sizeof id.internal] = {};
  std::snprintf(name, sizeof name, "%s%016llx%016llx", kPrefix.data(),
                static_cast<unsigned long long>(random[0]), static_cast<unsigned long long>(random[1]));
  const auto listening = std::make_shared<Descriptor>(driver::ListenAt(name));
  if (!*listening || !rt::StartThread([listening] { Serve(*listening); })) return ncclSystemError;
  std::memcpy(id.internal, name, sizeof id.internal);
  return ncclSuccess;
}

ncclResult_t Meet(const ncclUniqueId& id, int ranks, int rank, std::shared_ptr<Region>& region) {
  const std::string name(id.internal, strnlen(id.internal, sizeof id.internal));
  if (!name.starts_with(kPrefix)) return ncclInvalidArgument;
  const Descriptor peer = driver::ConnectTo(name);
  const Request request{ranks, rank};
  Answer answer;
  Descriptor file;
  if (!peer || !SendWithFile(peer, &request, sizeof request) ||
      !ReceiveWithFile(peer, &answer, sizeof answer, file)) {
    return Fail(ncclSystemError, "ncclCommInitRank",
                "rank " + std::to_string(rank) +
                    " does not reach the process that called ncclGetUniqueId: it has ended, all " +
                    std::to_string(ranks) + " ranks had come, or it runs on another machine");
  }
  if (answer != Answer::kWelcome || !file) return ncclInvalidArgument;
  region = Region::Map(file.Take(), ranks);
  return region == nullptr ? ncclSystemError : ncclSuccess;
}

}  // namespace ptx2cpu::nccl
