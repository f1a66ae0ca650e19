#include "runtime/cuda/libraries/nccl/bootstrap.h"

#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/cuda/libraries/nccl/meeting.h"
#include "runtime/cuda/libraries/nccl/memory_exchange.h"
#include "runtime/cuda/libraries/nccl/net_exchange.h"
#include "runtime/cuda/libraries/nccl/status.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::nccl {

using namespace cuda;

namespace {

constexpr std::string_view kPrefix = "ptx2cpu-nccl-";
constexpr char kAt = '@';             // between the name and the address in an id
constexpr int kGreetingSeconds = 10;  // a stranger's silence

ncclResult_t FailToJoin(ncclResult_t result, int rank, const std::string& reason) {
  return Fail(result, "ncclCommInitRank", "rank " + std::to_string(rank) + " " + reason);
}

// An id's parts. The address is empty where the process had none.
struct Parts {
  std::string name, address;
  explicit Parts(const ncclUniqueId& id) {
    const std::string text(id.internal, strnlen(id.internal, sizeof id.internal));
    name = text.substr(0, text.find(kAt));
    if (name.size() < text.size()) address = text.substr(name.size() + 1);
  }
  bool ours() const { return name.starts_with(kPrefix) && name.size() < kNameBytes; }
};

bool MemoryIsWanted() {
  const char* const text = std::getenv("NCCL_SHM_DISABLE");
  return text == nullptr || std::string_view(text) != "1";
}

Descriptor ConnectToHost(const Parts& id) {
  Descriptor made = MemoryIsWanted() ? driver::ConnectTo(id.name) : Descriptor();
  if (made) return made;
  const auto address = AddressOf(id.address);
  return address ? ConnectTo(*address) : Descriptor();
}

// Connects a rank to all others, when all have come.
class Joining {
 public:
  Joining(const Descriptor& host, const std::string& name, int ranks, int rank)
      : host_(host), name_(name), ranks_(ranks), rank_(rank), peers_(static_cast<size_t>(ranks)) {}

  ncclResult_t Connect() {
    auto own = OwnAddress();
    if (own) listening_ = ListenOn(*own);
    if (!listening_)
      return FailToJoin(ncclSystemError, rank_,
                        "has no address for other machines: no interface is up that NCCL_SOCKET_IFNAME and "
                        "NCCL_SOCKET_FAMILY allow");
    Place place{};
    std::snprintf(place.address, sizeof place.address, "%s", TextOf(*own).c_str());
    std::vector<Place> places(peers_.size());
    if (!SendAll(host_, &place, sizeof place) ||
        !ReceiveAll(host_, places.data(), places.size() * sizeof place))
      return Gone();
    for (int i = 0; i < rank_; ++i) {
      if (const ncclResult_t result = ConnectToPeer(i, places[static_cast<size_t>(i)])) return result;
    }
    for (int left = ranks_ - 1 - rank_; left > 0;) {
      if (!AwaitPeer()) return Gone();
      if (Greeted()) --left;
    }
    char byte = 0;
    return SendAll(host_, &byte, 1) && ReceiveAll(host_, &byte, 1) ? ncclSuccess : Gone();
  }
  std::vector<Descriptor> Take() { return std::move(peers_); }

 private:
  ncclResult_t Gone() const { return FailToJoin(ncclRemoteError, rank_, "waits for a rank that has ended"); }

  ncclResult_t ConnectToPeer(int peer, const Place& place) {
    Descriptor& made = peers_[static_cast<size_t>(peer)];
    const std::string text(place.address, strnlen(place.address, sizeof place.address));
    if (const auto address = AddressOf(text)) made = ConnectTo(*address);
    Greeting greeting{};
    std::memcpy(greeting.name, name_.data(), name_.size());
    greeting.rank = rank_;
    if (made && SendAll(made, &greeting, sizeof greeting)) return ncclSuccess;
    return FailToJoin(ncclSystemError, rank_, "does not reach rank " + std::to_string(peer) + " at " + text);
  }

  // False: the host has no more to wait for.
  bool AwaitPeer() const {
    pollfd places[] = {{listening_.number(), POLLIN, 0}, {host_.number(), POLLIN, 0}};
    while (places[0].revents == 0) {
      if (poll(places, 2, -1) < 0) continue;
      if (places[1].revents != 0) return false;
    }
    return true;
  }

  // Whether it is a rank that was missing.
  bool Greeted() {
    Descriptor peer = AcceptPeer(listening_);
    Greeting greeting;
    if (!peer) return false;
    LimitWaiting(peer, kGreetingSeconds);
    if (!ReceiveAll(peer, &greeting, sizeof greeting)) return false;
    LimitWaiting(peer, 0);
    if (name_ != std::string(greeting.name, strnlen(greeting.name, kNameBytes))) return false;
    if (greeting.rank <= rank_ || greeting.rank >= ranks_ || peers_[static_cast<size_t>(greeting.rank)])
      return false;
    peers_[static_cast<size_t>(greeting.rank)] = std::move(peer);
    return true;
  }

  const Descriptor& host_;
  const std::string name_;
  const int ranks_, rank_;
  Descriptor listening_;
  std::vector<Descriptor> peers_;
};

}  // namespace

ncclResult_t MakeUniqueId(ncclUniqueId& id) {
  uint64_t random[2] = {};
  if (!driver::FillRandom(random, sizeof random)) return ncclSystemError;
  char name[kNameBytes];
  std::snprintf(name, sizeof name, "%s%016llx%016llx", kPrefix.data(),
                static_cast<unsigned long long>(random[0]), static_cast<unsigned long long>(random[1]));
  struct Sockets {
    Descriptor local, network;
  };
  const auto sockets = std::make_shared<Sockets>();
  sockets->local = driver::ListenAt(name);
  // Without an address, or where the system refuses, ranks of this machine meet all the same.
  auto address = OwnAddress();
  if (address) sockets->network = ListenOn(*address);
  const std::string text = std::string(name) + (sockets->network ? kAt + TextOf(*address) : "");
  if (!sockets->local || text.size() >= sizeof id.internal) return ncclSystemError;
  const bool hosted = rt::StartThread(
      [sockets, made = std::string(name)] { HostMeeting(made, sockets->local, sockets->network); });
  if (!hosted) return ncclSystemError;
  std::memset(id.internal, 0, sizeof id.internal);
  std::memcpy(id.internal, text.data(), text.size());
  return ncclSuccess;
}

ncclResult_t Meet(const ncclUniqueId& id, int ranks, int rank, std::unique_ptr<Exchange>& exchange) {
  const Parts parts(id);
  if (!parts.ours()) return ncclInvalidArgument;
  const Descriptor host = ConnectToHost(parts);
  Hello hello{.name = {}, .ranks = ranks, .rank = rank};
  std::memcpy(hello.name, parts.name.data(), parts.name.size());
  Answer answer;
  Descriptor file;
  if (!host || !driver::SendWithFile(host, &hello, sizeof hello) ||
      !driver::ReceiveWithFile(host, &answer, sizeof answer, file)) {
    return FailToJoin(
        ncclSystemError, rank,
        "does not reach the process that called ncclGetUniqueId" +
            (parts.address.empty() ? " (it has no address for other machines)" : " at " + parts.address) +
            ": it has ended, or all " + std::to_string(ranks) + " ranks had come");
  }
  if (answer == Answer::kOtherCount) return ncclInvalidArgument;
  if (answer == Answer::kTaken) return FailToJoin(ncclInvalidUsage, rank, "exists already");
  if (answer == Answer::kGone) return FailToJoin(ncclRemoteError, rank, "waits for a rank that has ended");
  if (answer == Answer::kMemory) {
    const auto region = file ? Region::Map(file.Take(), ranks) : nullptr;
    if (region == nullptr) return ncclSystemError;
    exchange = std::make_unique<MemoryExchange>(region, rank);
    return ncclSuccess;
  }
  Joining joining(host, parts.name, ranks, rank);
  if (const ncclResult_t result = joining.Connect()) return result;
  exchange = std::make_unique<NetExchange>(rank, joining.Take());
  return ncclSuccess;
}

}  // namespace ptx2cpu::nccl
