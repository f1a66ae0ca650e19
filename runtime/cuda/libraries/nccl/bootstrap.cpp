#include "runtime/cuda/libraries/nccl/bootstrap.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/worker/processors.h"

namespace ptx2cpu::nccl {

using namespace cuda;

namespace {

constexpr std::string_view kPrefix = "ptx2cpu-nccl-";

struct Request {
  int32_t ranks, rank;
};
enum class Answer : int32_t { kWelcome, kOtherCount };

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

// A name of the abstract space: no file, and gone with the last descriptor.
socklen_t AddressOf(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// The answer, with the region's file where it is a welcome.
bool SendAnswer(int socket, Answer answer, int file) {
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  if (answer == Answer::kWelcome) {
    message.msg_control = control, message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof answer);
}

bool ReceiveAnswer(int socket, Answer& answer, int& file) {
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof answer)) return false;
  file = -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return true;
}

// Serves the ranks of one communicator, and ends when all have come.
void Serve(int listening) {
  const Descriptor socket(listening);
  int ranks = 0, welcome = 0, number = -1;
  while (ranks == 0 || welcome < ranks) {
    const Descriptor peer(accept4(socket.number(), nullptr, nullptr, SOCK_CLOEXEC));
    Request request{};
    if (peer.number() < 0) break;
    if (recv(peer.number(), &request, sizeof request, MSG_WAITALL) != sizeof request) continue;
    if (ranks == 0) {
      ranks = request.ranks;
      number = Region::MakeFile(ranks);
      if (number < 0) break;
    }
    const Answer answer = request.ranks == ranks ? Answer::kWelcome : Answer::kOtherCount;
    if (SendAnswer(peer.number(), answer, number) && answer == Answer::kWelcome) ++welcome;
  }
  if (number >= 0) close(number);
}

}  // namespace

uint64_t ProcessNumber() {
  static const uint64_t random = [] {
    uint64_t made = 0;
    if (getrandom(&made, sizeof made, 0) != sizeof made) made = static_cast<uint64_t>(getppid());
    return made;
  }();
  return random + static_cast<uint64_t>(getpid()) * 0x9e3779b97f4a7c15;  // a forked child is another one
}

ncclResult_t MakeUniqueId(ncclUniqueId& id) {
  uint64_t random[2] = {};
  if (getrandom(random, sizeof random, 0) != sizeof random) return ncclSystemError;
  char name[sizeof id.internal] = {};
  std::snprintf(name, sizeof name, "%s%016llx%016llx", kPrefix.data(),
                static_cast<unsigned long long>(random[0]), static_cast<unsigned long long>(random[1]));
  sockaddr_un address;
  const socklen_t length = AddressOf(name, address);
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ready =
      listening >= 0 && bind(listening, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
      listen(listening, Region::kMaxRanks) == 0 && rt::StartThread([listening] { Serve(listening); });
  if (!ready) {
    if (listening >= 0) close(listening);
    return ncclSystemError;
  }
  std::memcpy(id.internal, name, sizeof id.internal);
  return ncclSuccess;
}

ncclResult_t Meet(const ncclUniqueId& id, int ranks, int rank, std::shared_ptr<Region>& region) {
  const std::string name(id.internal, strnlen(id.internal, sizeof id.internal));
  sockaddr_un address;
  if (!name.starts_with(kPrefix) || name.size() >= sizeof address.sun_path) return ncclInvalidArgument;
  const socklen_t length = AddressOf(name, address);
  const Descriptor peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Request request{ranks, rank};
  Answer answer;
  int file = -1;
  const bool heard = peer.number() >= 0 &&
                     connect(peer.number(), reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                     send(peer.number(), &request, sizeof request, MSG_NOSIGNAL) == sizeof request &&
                     ReceiveAnswer(peer.number(), answer, file);
  if (!heard) {
    std::fprintf(
        stderr,
        "ptx2cpu: ncclCommInitRank: rank %d does not reach the process that called ncclGetUniqueId: it "
        "has ended, all %d ranks had come, or it runs on another machine, which is not supported\n",
        rank, ranks);
    return ncclSystemError;
  }
  if (answer != Answer::kWelcome || file < 0) return ncclInvalidArgument;
  region = Region::Map(file, ranks);
  return region == nullptr ? ncclSystemError : ncclSuccess;
}

}  // namespace ptx2cpu::nccl
